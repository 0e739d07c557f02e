"""Attention: softmax(Q K^T / sqrt(d) + mask) V (Vaswani et al., 2017), and its form with several heads and
projections."""

from __future__ import annotations

import math
import warnings
from typing import Any

from .. import dispatch, dtypes
from ..state import state
from ..tensor import Tensor, wrap
from .activation import softmax
from .composed import composed
from .declare import c_name, operator
from .loss import FUNCTIONAL
from .matmul import linear
from .nonlinear import where
from .random import dropout


def _masked_softmax(scores: Tensor) -> Tensor:
    """Softmax over the last dimension; rows that are masked altogether become 0 instead of NaN."""
    most = scores.detach().amax(-1, keepdim=True)
    nothing = most == float("-inf")
    return where(nothing, 0.0, softmax(where(nothing, 0.0, scores), -1))


def _weights(query: Tensor, key: Tensor, mask: Tensor | None, is_causal: bool, scale: float) -> Tensor:
    """How much each query looks at each key; rows sum up to 1, or to 0 where everything is masked."""
    scores = (query * scale) @ key.transpose(-2, -1)
    if is_causal:
        mask = _causal(query.shape[-2], key.shape[-2], query)
    if mask is None:
        return softmax(scores, -1)
    if mask.dtype is dtypes.bool_:
        return _masked_softmax(where(mask, scores, float("-inf")))
    return _masked_softmax(scores + mask)


def _slopes(
    g: Tensor, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, is_causal: bool, scale: float, needs: tuple[bool, ...]
) -> tuple[Any, ...]:  # fmt: skip
    """Gradients with the weights computed anew, so that none of that size are kept."""
    g, query, key, value = (_wide(t) for t in (g, query, key, value))
    kernel = _kernel(query, key, value, mask)
    if kernel is not None and not state.grad_enabled:
        made = kernel.backward(*_arrays(g, query, key, value, mask), is_causal, scale)
        return tuple([wrap(a, query.dtype, query._storage.backend) if n else None for a, n in zip(made, needs)])
    weights = _weights(query, key, mask, is_causal, scale)
    dq = dk = None
    if needs[0] or needs[1]:
        h = g @ value.transpose(-2, -1)
        h = weights * (h - (h * weights).sum(-1, True)) * scale
        dq = h @ key if needs[0] else None
        dk = h.transpose(-2, -1) @ query if needs[1] else None
    return dq, dk, weights.transpose(-2, -1) @ g if needs[2] else None


@composed(
    "scaled_dot_product_attention", "query key value mask", "is_causal scale", backward="ScaledDotProductFlashAttentionForCpu",
    grads={("query", "key", "value"): _slopes},
)  # fmt: skip
def _attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, is_causal: bool, scale: float) -> Tensor:
    parts = (_wide(query), _wide(key), _wide(value))
    kernel = _kernel(*parts, mask)
    if kernel is not None:
        made = kernel.forward(*_arrays(*parts, mask), is_causal, scale)
        out = wrap(made, parts[0].dtype, query._storage.backend)
    else:
        out = _weights(parts[0], parts[1], mask, is_causal, scale) @ parts[2]
    return out if out.dtype is query.dtype else out.to(query.dtype)


def _kernel(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Any:
    """The device's way to attend without a matrix of weights, where it has one that is better for these tensors."""
    made = None if state.modes else getattr(query._storage.backend, "attention", None)
    if made is None or any(
        t._storage.backend is not query._storage.backend for t in (key, value, mask) if t is not None
    ):
        return None
    return made if made.takes(*_arrays(query, key, value, mask)) else None


def _arrays(*tensors: Tensor | None) -> list[Any]:
    return [None if t is None else t._data for t in tensors]


def _wide(t: Tensor) -> Tensor:
    """Half precision as single, in which attention is computed."""
    return t.to(dtypes.float32) if t.dtype.itemsize < 4 else t


@operator(spaces=FUNCTIONAL, method=False)
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(query key^T scale + mask) value: query [..., L, E], key [..., S, E], value [..., S, V]; result [..., L,
    V].

    `attn_mask` broadcasts to [..., L, S]: booleans say who may be looked at, numbers are added. `is_causal` lets
    position i look at positions up to i. `scale` is 1 / sqrt(E) by default. With `enable_gqa` keys and values have fewer
    heads. Raises RuntimeError for a mask together with `is_causal`, and for dtypes and numbers of heads that do not fit.
    """
    _check_attention(query, key, value, attn_mask, is_causal)
    if not 0.0 <= dropout_p <= 1.0:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {dropout_p}")
    if enable_gqa:
        heads, others = query.shape[-3], (key.shape[-3], value.shape[-3])
        if any(n == 0 or heads % n for n in others):
            raise RuntimeError("Number of heads in key and value must divide the number of heads in query")
        key = key.repeat_interleave(heads // others[0], -3)
        value = value.repeat_interleave(heads // others[1], -3)
    factor = float(1.0 / math.sqrt(query.shape[-1]) if scale is None else scale) if query.shape[-1] else 1.0
    mask = attn_mask
    fused = (
        query.ndim == 4
        and query.shape[:2] == key.shape[:2] == value.shape[:2]
        and query.shape[-1] == key.shape[-1] == value.shape[-1]
        and key.shape[2] == value.shape[2]
        and not (mask is not None and mask.requires_grad)
    )
    if fused and dropout_p == 0.0:
        return _attend(query, key, value, mask, is_causal, factor)
    weights = _weights(_wide(query), _wide(key), mask, is_causal, factor)
    if dropout_p > 0.0:
        weights = dropout(weights, dropout_p)
    out = weights @ _wide(value)
    return out if out.dtype is query.dtype else out.to(query.dtype)


def _check_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, is_causal: bool) -> None:
    if key.dtype is not query.dtype or value.dtype is not query.dtype:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{c_name(query.dtype)} key.dtype: {c_name(key.dtype)} and value.dtype: {c_name(value.dtype)} instead."
        )
    if query.ndim < 2 or key.ndim < 2 or value.ndim < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{query.ndim} key.dim: {key.ndim} and value.dim: {value.ndim} instead."
        )
    if query.dtype.category < dtypes.FLOATING:
        raise RuntimeError(f"expected scalar type Float but found {dispatch.type_name(query.dtype)}")
    if mask is None:
        return
    if mask.dtype not in (dtypes.bool_, dtypes.float32, query.dtype):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{c_name(mask.dtype)} and  query.dtype: {c_name(query.dtype)} instead."
        )
    if is_causal:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")


def _causal(rows: int, columns: int, like: Tensor) -> Tensor:
    """Whether position i may look at position j: j <= i."""
    from . import functions as F

    i = F.arange(rows, device=like.device).unsqueeze(1)
    return F.arange(columns, device=like.device).unsqueeze(0) <= i


def _canonical(mask: Tensor | None, name: str, other: Any, other_name: str, target: Any, check: bool = True) -> Any:
    """A mask as numbers to be added: booleans become 0 and -inf."""
    if mask is None:
        return None
    if mask.dtype is not dtypes.bool_ and mask.dtype.category < dtypes.FLOATING:
        raise AssertionError(f"only bool and floating types of {name} are supported")
    if check and other is not None and mask.dtype is not other:
        warnings.warn(
            f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both instead.",
            stacklevel=3,
        )
    if mask.dtype is dtypes.bool_:
        return mask.new_zeros(mask.shape, dtype=target).masked_fill(mask, float("-inf"))
    return mask


def _projected(
    q: Tensor, k: Tensor, v: Tensor, weight: Tensor, bias: Tensor | None, alike: tuple[bool, bool]
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values by one stacked weight, in as few products as there are different inputs."""
    width = q.shape[-1]
    same_kv, same_all = alike
    if same_all:
        out = linear(q, weight, bias)
        a, b, c = (out[..., i * width : (i + 1) * width] for i in range(3))
        return a, b, c
    w_q, w_kv = weight[:width], weight[width:]
    b_q, b_kv = (None, None) if bias is None else (bias[:width], bias[width:])
    if same_kv:
        both = linear(k, w_kv, b_kv)
        return linear(q, w_q, b_q), both[..., :width], both[..., width:]
    parts = [None] * 2 if b_kv is None else [b_kv[:width], b_kv[width:]]
    return linear(q, w_q, b_q), linear(k, w_kv[:width], parts[0]), linear(v, w_kv[width:], parts[1])


@operator(spaces=FUNCTIONAL, method=False)
def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention of several heads with its projections, as `nn.MultiheadAttention` calls it.

    query [L, N, E] or [L, E], key and value [S, N, E]; masks as in the module. Returns the output and, with
    `need_weights`,
    the weights [N, L, S] (a head each unless averaged). Raises AssertionError or RuntimeError for shapes that do not
    fit.
    """
    from . import functions as F

    single = query.ndim == 2
    if query.ndim not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {query.ndim}-D query tensor"
        )
    if key.ndim != query.ndim or value.ndim != query.ndim:
        kind = f"For batched (3-D) `query`, expected `key` and `value` to be 3-D but found {key.ndim}-D and {value.ndim}-D tensors respectively"
        if single:
            kind = f"For unbatched (2-D) `query`, expected `key` and `value` to be 2-D but found {key.ndim}-D and {value.ndim}-D tensors respectively"
        raise AssertionError(kind)
    alike = (key is value, query is key and key is value)
    if single:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    length, batch, width = query.shape
    key_padding_mask = _canonical(
        key_padding_mask,
        "key_padding_mask",
        attn_mask.dtype if attn_mask is not None else None,
        "attn_mask",
        query.dtype,
    )
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None  # the hint says it all
    else:
        attn_mask = _canonical(attn_mask, "attn_mask", None, "", query.dtype, False)
        is_causal = is_causal and key_padding_mask is None
        if key_padding_mask is not None:
            is_causal = False
    if width != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {width}")
    head = width // num_heads
    if head * num_heads != width:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(
                f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}"
            )
        for name, w in (("q", q_proj_weight), ("k", k_proj_weight), ("v", v_proj_weight)):
            if w is None:
                raise AssertionError(f"use_separate_proj_weight is True but {name}_proj_weight is None")
        biases = [None] * 3 if in_proj_bias is None else list(in_proj_bias.chunk(3))
        q = linear(query, q_proj_weight, biases[0])  # type: ignore[arg-type]
        k = linear(key, k_proj_weight, biases[1])  # type: ignore[arg-type]
        v = linear(value, v_proj_weight, biases[2])  # type: ignore[arg-type]
    else:
        if key.shape != value.shape:
            raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
        if in_proj_weight is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        q, k, v = _projected(query, key, value, in_proj_weight, in_proj_bias, alike)
    if attn_mask is not None:
        attn_mask = _shaped_mask(attn_mask, length, key.shape[0], batch * num_heads)
    if bias_k is not None and bias_v is not None:
        k = F.cat([k, bias_k.repeat(1, batch, 1)])
        v = F.cat([v, bias_v.repeat(1, batch, 1)])
        attn_mask, key_padding_mask = _one_more(attn_mask), _one_more(key_padding_mask)

    def heads(t: Tensor) -> Tensor:
        return t.contiguous().view(t.shape[0], batch * num_heads, head).transpose(0, 1)

    q = heads(q)
    k = heads(k) if static_k is None else static_k
    v = heads(v) if static_v is None else static_v
    if add_zero_attn:
        shape = (batch * num_heads, 1, head)
        k = F.cat([k, k.new_zeros(shape)], 1)
        v = F.cat([v, v.new_zeros(shape)], 1)
        attn_mask, key_padding_mask = _one_more(attn_mask), _one_more(key_padding_mask)
    source = k.shape[1]
    if key_padding_mask is not None:
        if tuple(key_padding_mask.shape) != (batch, source):
            raise AssertionError(
                f"expecting key_padding_mask shape of {(batch, source)}, but got {key_padding_mask.shape}"
            )
        spread = key_padding_mask.view(batch, 1, 1, source).expand(-1, num_heads, -1, -1)
        spread = spread.reshape(batch * num_heads, 1, source)
        attn_mask = spread if attn_mask is None else attn_mask + spread
    if not training:
        dropout_p = 0.0
    if need_weights:
        scores = (q * math.sqrt(1.0 / head)) @ k.transpose(-2, -1)
        weights = softmax(scores if attn_mask is None else scores + attn_mask, -1)
        if dropout_p > 0.0:
            weights = dropout(weights, dropout_p)
        out = (weights @ v).transpose(0, 1).contiguous().view(length * batch, width)
        out = linear(out, out_proj_weight, out_proj_bias).view(length, batch, out_proj_weight.shape[0])
        weights = weights.view(batch, num_heads, length, source)
        if average_attn_weights:
            weights = weights.mean(dim=1)
        return (out.squeeze(1), weights.squeeze(0)) if single else (out, weights)
    if attn_mask is not None:
        attn_mask = (
            attn_mask.unsqueeze(0)
            if attn_mask.shape[0] == 1 and attn_mask.ndim == 3
            else attn_mask.view(batch, num_heads, -1, source)
        )
    q, k, v = (t.view(batch, num_heads, t.shape[1], head) for t in (q, k, v))
    out = scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal)
    out = out.permute(2, 0, 1, 3).contiguous().view(batch * length, width)
    out = linear(out, out_proj_weight, out_proj_bias).view(length, batch, out_proj_weight.shape[0])
    return (out.squeeze(1) if single else out), None


def _shaped_mask(mask: Tensor, length: int, source: int, heads: int) -> Tensor:
    if mask.ndim == 2:
        if tuple(mask.shape) != (length, source):
            raise RuntimeError(f"The shape of the 2D attn_mask is {mask.shape}, but should be {(length, source)}.")
        return mask.unsqueeze(0)
    if mask.ndim == 3:
        if tuple(mask.shape) != (heads, length, source):
            raise RuntimeError(
                f"The shape of the 3D attn_mask is {mask.shape}, but should be {(heads, length, source)}."
            )
        return mask
    raise RuntimeError(f"attn_mask's dimension {mask.ndim} is not supported")


def _one_more(mask: Tensor | None) -> Tensor | None:
    """A mask with room for one more position, which may be looked at."""
    if mask is None:
        return None
    from . import functions as F

    return F.cat([mask, mask.new_zeros((*mask.shape[:-1], 1))], -1)
