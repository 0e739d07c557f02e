"""A convolution or linear layer and the batch normalisation behind it as one layer, for evaluation."""

from __future__ import annotations

import copy
from typing import Any

from ...ops import functions as ops
from ...tensor import Tensor
from ..parameter import Parameter


def _fused(
    weight: Tensor, bias: Any, mean: Tensor, var: Tensor, eps: float, bn_weight: Any, bn_bias: Any, shape: Any
) -> tuple[Parameter, Parameter]:
    """Weight and bias of the layer that normalises what it computes; `shape` says where the channels of weights
    stand."""
    bias_dtype = weight.dtype if bias is None else bias.dtype
    bias_grad = bias is not None and bias.requires_grad
    rstd = (var + eps).rsqrt()
    scale = rstd if bn_weight is None else bn_weight * rstd
    new_weight = (weight * scale.reshape(shape)).to(dtype=weight.dtype)
    bias = ops.zeros_like(mean) if bias is None else bias
    new_bias = (bias - mean) * scale
    if bn_bias is not None:
        new_bias = new_bias + bn_bias
    return (
        Parameter(new_weight.detach(), weight.requires_grad),
        Parameter(new_bias.detach().to(dtype=bias_dtype), bias_grad),
    )


def _check(layer: Any, bn: Any) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a convolution with the normalisation in them; `transpose` for a transposed one."""
    ones = [1] * (conv_w.ndim - 2)
    shape = [1, -1, *ones] if transpose else [-1, 1, *ones]
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape)


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A copy of the convolution with the normalisation in its weight and bias. Both must be in evaluation mode."""
    _check(conv, bn)
    out = copy.deepcopy(conv)
    out.weight, out.bias = fuse_conv_bn_weights(
        out.weight, out.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return out


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a linear layer with the normalisation in them."""
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A copy of the linear layer with the normalisation in its weight and bias. Both must be in evaluation mode."""
    _check(linear, bn)
    if bn.num_features not in (1, linear.out_features):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, "
            f"got linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    out = copy.deepcopy(linear)
    out.weight, out.bias = fuse_linear_bn_weights(
        out.weight, out.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return out
