# Causal masks for attention whose queries and keys differ in number.
import sys

bias = sys.modules[torch.__name__ + ".nn.attention.bias"]
F = torch.nn.functional
q, k = torch.randn(1, 1, 2, 4), torch.randn(1, 1, 4, 4)
for mask in (bias.causal_lower_right(2, 4), bias.causal_upper_left(2, 4)):
    print(mask._materialize())
    print(F.scaled_dot_product_attention(q, k, k, attn_mask=mask))
