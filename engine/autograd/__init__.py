"""`torch.autograd`: the backward pass as users call it, gradient modes, custom functions, the tape as data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..tensor import Tensor, gradient_edge
from . import graph
from .function import Function
from .grad_mode import (
    detect_anomaly,
    enable_grad,
    inference_mode,
    is_anomaly_enabled,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_detect_anomaly,
    set_grad_enabled,
)
from .gradcheck import gradcheck, gradgradcheck
from .node import Node
from .run import run_backward
from .snapshot import newest_root, snapshot

Variable = Tensor


def _tensors(x: Any) -> tuple[Tensor, ...]:
    return (x,) if isinstance(x, Tensor) else tuple(x)


def _roots(tensors: Sequence[Tensor], grads: Sequence[Any], create_graph: bool) -> tuple[list[Any], list[Any]]:
    """The tape nodes to start from, and the gradients to start with; raises RuntimeError for what cannot start."""
    edges, starts = [], []
    for i, (t, g) in enumerate(zip(tensors, grads, strict=True)):
        if not t.requires_grad:
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
        if g is None:
            if t.numel() != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            g = t.detach_shallow().new_ones(t.shape)
        else:
            if g.shape != t.shape:
                raise RuntimeError(
                    f"Mismatch in shape: grad_output[{i}] has a shape of {g.shape} and output[{i}] has a shape of {t.shape}."
                )
            if g.dtype.is_complex and not t.dtype.is_complex:
                raise RuntimeError(
                    f"For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
                    f"grad_output[{i}] has a dtype of {g.dtype} and output[{i}] has a dtype of {t.dtype}."
                )
            if g.dtype is not t.dtype:
                g = g.to(t.dtype)
            if not create_graph:
                g = g.detach()
        edges.append(gradient_edge(t))
        starts.append(g)
    return edges, starts


def _gradients(given: Any, count: int) -> list[Any]:
    grads = [given] if given is None or isinstance(given, Tensor) else list(given)
    if len(grads) == 1 and grads[0] is None and count > 1:
        grads *= count
    if len(grads) != count:
        raise RuntimeError(f"got {count} tensors and {len(grads)} gradients")
    return grads


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Add the gradients of `tensors` to the `.grad` of the leaves (or of `inputs` only).

    `grad_tensors` weight the tensors (None for those with one element). The saved values are freed unless `retain_graph`
    (by default `create_graph`). Raises RuntimeError where there is nothing to go back through.
    """
    roots = _tensors(tensors)
    edges, starts = _roots(
        roots, _gradients(grad_tensors if grad_tensors is not None else grad_variables, len(roots)), create_graph
    )
    keep = create_graph if retain_graph is None else retain_graph
    wanted = None
    if inputs is not None:
        targets = _tensors(inputs)
        if not targets:
            raise RuntimeError("'inputs' argument to 'backward' cannot be empty.")
        wanted = [gradient_edge(t) for t in targets]
        got = run_backward(edges, starts, retain_graph=keep, create_graph=create_graph, wanted=wanted, gather=True)
        for t, g in zip(targets, got, strict=True):
            if t.grad_fn is not None and g is not None:
                t._grad = g if t._grad is None else t._grad + g
        return
    run_backward(edges, starts, retain_graph=keep, create_graph=create_graph)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of `outputs` with respect to `inputs`, in their order, without touching any `.grad`.

    An input that the outputs do not depend on is a RuntimeError, or None with `allow_unused`, or zeros with
    `materialize_grads`. With `is_grads_batched` the first dimension of `grad_outputs` is a batch, one backward each.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    outs, ins = _tensors(outputs), _tensors(inputs)
    if not ins:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    if not all(t.requires_grad for t in ins):
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    keep = create_graph if retain_graph is None else retain_graph
    given = _gradients(grad_outputs, len(outs))
    wanted = [gradient_edge(t) for t in ins]
    if is_grads_batched:
        from ..ops import functions as F

        count = next(g.shape[0] for g in given if g is not None)
        rows = [
            grad(
                outs,
                ins,
                [None if g is None else g[b] for g in given],
                True,
                create_graph,
                True,
                allow_unused,
                False,
                materialize_grads,
            )
            for b in range(count)
        ]
        return tuple(None if column[0] is None else F.stack(list(column)) for column in zip(*rows, strict=True))
    edges, starts = _roots(outs, given, create_graph)
    found = run_backward(edges, starts, retain_graph=keep, create_graph=create_graph, wanted=wanted, gather=False)
    out: list[Any] = []
    for i, (t, g) in enumerate(zip(ins, found, strict=True)):
        if g is None:
            if materialize_grads:
                g = t.detach_shallow().new_zeros(t.shape)
            elif not allow_unused:
                raise RuntimeError(
                    f"The differentiated Tensor at index {i} appears to not have been used in the graph. Set allow_unused=True if this "
                    "is the desired behavior."
                )
        elif not create_graph:
            g = g.detach()
        out.append(g)
    return tuple(out)


__all__ = [
    "Function", "Node", "Variable", "backward", "detect_anomaly", "enable_grad", "grad", "gradcheck", "gradgradcheck", "graph", "inference_mode",
    "is_anomaly_enabled", "is_grad_enabled", "is_inference_mode_enabled", "newest_root", "no_grad", "set_detect_anomaly",
    "set_grad_enabled", "snapshot",
]  # fmt: skip
