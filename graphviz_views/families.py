"""Which family an operator belongs to, so that every writer gives it the same colour.

The table is a hint for the eye and nothing else: an operator that is not in it is "other".
"""

from __future__ import annotations

FAMILIES: dict[str, str] = {
    "product": "linear addmm mm matmul bmm baddbmm addbmm addmv dot mv outer einsum conv1d conv2d conv3d convolution "
    "conv_transpose1d conv_transpose2d conv_transpose3d bilinear scaled_dot_product_attention embedding",
    "activation": "relu gelu silu elu selu leaky_relu sigmoid tanh softmax log_softmax softplus hardtanh dropout mish "
    "prelu glu logsigmoid",
    "norm": "layer_norm batch_norm group_norm instance_norm rms_norm native_layer_norm native_batch_norm "
    "native_group_norm normalize",
    "reduction": "sum mean var std norm max min amax amin prod logsumexp argmax argmin cross_entropy nll_loss mse_loss "
    "l1_loss smooth_l1_loss huber_loss binary_cross_entropy binary_cross_entropy_with_logits kl_div max_pool2d "
    "avg_pool2d adaptive_avg_pool2d",
    "shape": "view reshape transpose permute t expand squeeze unsqueeze flatten cat stack split chunk select slice "
    "index index_select gather narrow clone contiguous to unbind repeat pad unsafe_view",
}
"""Operators by family, blanks between them."""

_FAMILY = {op: family for family, ops in FAMILIES.items() for op in ops.split()}
_MODULES = {op.replace("_", ""): family for op, family in _FAMILY.items()}
"""The same by the names of modules ("BatchNorm2d"): without underscores, capitals and the number of dimensions."""

KINDS = ("leaf", "input", "output", "break", "guard", "kernel", "error", "call")
"""Kinds of nodes that are a family of their own."""


def family(kind: str, op: str) -> str:
    """The family of a node by its kind and operator: "product", "leaf", "break", ..., else "other"."""
    if kind in KINDS:
        return kind
    return _FAMILY.get(op) or _MODULES.get(op.lower()) or _MODULES.get(op.lower().rstrip("123d"), "other")
