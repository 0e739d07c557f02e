"""Custom differentiable functions: `torch.autograd.Function` with its static-method protocol.

The user's `forward` runs unrecorded; one node carries the user's `backward`.  Tensors go through
`ctx.save_for_backward`, so that in-place writes to them are noticed.
"""

from __future__ import annotations

import functools
from typing import Any

from ..state import state
from ..tensor import Tensor, gradient_edge
from .node import Node
from .op_node import FREED, Saved


class FunctionCtx:
    """What `forward` and `backward` of a custom function share."""

    needs_input_grad: tuple[bool, ...] = ()
    materialize_grads = True
    _to_save: tuple[Any, ...] = ()
    _dirty: tuple[Any, ...] = ()
    _no_grad: tuple[Any, ...] = ()
    _saved: Any = None
    _node: Any = None

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors (or None) for backward; for inputs and outputs only this way is safe."""
        self._to_save = tensors

    save_for_forward = save_for_backward

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` kept; raises RuntimeError after it was freed or changed in place."""
        if self._saved is None:
            if self._node is not None and self._node.saved is None:
                raise RuntimeError(FREED)
            return self._to_save
        return tuple(s.unpack(self._node) if isinstance(s, Saved) else s for s in self._saved)

    saved_variables = saved_tensors

    def mark_dirty(self, *tensors: Any) -> None:
        """Say which inputs `forward` changed in place."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Say which outputs have no gradient."""
        self._no_grad = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether missing gradients arrive in `backward` as zeros (the default) or as None."""
        self.materialize_grads = value


class FunctionNode(Node):
    """The tape node of one application of a custom function."""

    __slots__ = ("ctx", "function")

    def apply(self, grads: list[Any]) -> list[Any]:
        if self.saved is None:
            raise RuntimeError(FREED)
        ctx = self.ctx
        given = list(grads)
        if ctx.materialize_grads:
            from ..ops.creation import zeros

            given = [
                zeros(m[0], dtype=m[1], device=m[2]) if g is None and m is not None else g
                for g, m in zip(given, self.outputs, strict=False)
            ]
        got = (
            self.function.backward(ctx, *given)
            if hasattr(self.function, "backward")
            else self.function.vjp(ctx, *given)
        )
        out = list(got) if isinstance(got, tuple) else [got]
        count = len(self.edges)
        if len(out) > count and all(x is None for x in out[count:]):
            out = out[:count]
        if len(out) != count:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected {count}, got {len(out)})"
            )
        for i, (g, meta) in enumerate(zip(out, self.input_metas, strict=True)):
            if g is None or meta is None:
                continue
            if tuple(g.shape) != tuple(meta[0]):
                if not _can_sum(g.shape, meta[0]):
                    raise RuntimeError(
                        f"Function {self.name()} returned an invalid gradient at index {i} - got {list(g.shape)} but expected "
                        f"shape compatible with {list(meta[0])}"
                    )
                out[i] = g.sum_to_size(*meta[0])
        return out

    def release(self) -> None:
        self.saved = None
        self.ctx._saved = None
        self.ctx._to_save = ()

    def saved_facts(self) -> list[dict[str, Any]]:
        facts = []
        for i, s in enumerate(self.ctx._saved or ()):
            if isinstance(s, Saved) and s.tensor is not None:
                t = s.tensor
                facts.append({"name": f"saved {i}", "shape": list(t.shape), "dtype": t.dtype.name, "bytes": t.nbytes})
        return facts


def _can_sum(shape: Any, target: Any) -> bool:
    if len(shape) < len(target):
        return False
    return all(t in (s, 1) for s, t in zip(reversed(tuple(shape)), reversed(tuple(target)), strict=False))


class Function:
    """Base of custom functions: subclasses write static `forward(ctx, ...)` and `backward(ctx, *grads)`, callers use
    `MyFunction.apply(...)`. With `setup_context(ctx, inputs, output)`, `forward` takes no ctx."""

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """The computation; runs unrecorded."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function "
            "with static forward method."
        )

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Run the function on `args`; records one node where an input needs a gradient."""
        ctx = FunctionCtx()
        recording = state.grad_enabled
        needs = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
        ctx.needs_input_grad = tuple(n and recording for n in needs)
        track = recording and any(needs)
        edges = tuple(gradient_edge(a) if track and n else None for a, n in zip(args, needs, strict=True))
        split = "setup_context" in dir(cls)
        state.grad_enabled = False
        try:
            if split:
                output = cls.forward(*args)
                getattr(cls, "setup_context")(ctx, args, output)  # noqa: B009 (subclasses have it)
            else:
                output = cls.forward(ctx, *args)
        finally:
            state.grad_enabled = recording
        single = not isinstance(output, tuple)
        outputs = [output] if single else list(output)
        if not track:
            return output
        kind = _node_class(cls)
        node = kind(None, edges)
        node.ctx, node.function = ctx, cls
        ctx._node = node
        node.input_metas = tuple((a._data.shape, a._dtype) if isinstance(a, Tensor) else None for a in args)
        plain = {id(t) for t in ctx._no_grad}
        dirty = {id(t) for t in ctx._dirty}
        for i, out in enumerate(outputs):
            if not isinstance(out, Tensor) or id(out) in plain or out._dtype.category < 2:
                continue
            if id(out) in dirty:
                from ..dispatch import check_inplace

                check_inplace(out, recording)
            elif out._base is not None or any(out is a for a in args):
                source = out
                out = outputs[i] = source.detach_shallow()
                out._base = source if source._base is None else source._base
                out._seen_version = out._storage.version
                out._creation, out._maker = "custom", f"Output {i} of {node.name().removesuffix('Backward')}"
            out._requires_grad, out._grad_fn, out._output_nr = True, node, i
            for a in args:
                if isinstance(a, Tensor) and id(a) in dirty and a is not out and a._storage is out._storage:
                    a._requires_grad, a._grad_fn, a._output_nr = True, node, i
        node.outputs = tuple(
            (o._data.shape, o._dtype, o._storage.backend.name) if isinstance(o, Tensor) else None for o in outputs
        )
        given = [output] if single else list(output)
        ctx._saved = tuple(_keep(t, given) for t in ctx._to_save)
        ctx._to_save = ()
        return outputs[0] if single else tuple(outputs)


def _keep(t: Any, outputs: list[Any]) -> Any:
    if not isinstance(t, Tensor):
        return t
    for i, o in enumerate(outputs):
        if o is t:
            return Saved(t, output_of=i)
    return Saved(t)


@functools.cache
def _node_class(function: type) -> type[FunctionNode]:
    return type(function.__name__ + "Backward", (FunctionNode,), {"__slots__": ()})


def once_differentiable(function: Any) -> Any:
    """Decorator for a `backward` that must not be differentiated itself."""

    @functools.wraps(function)
    def wrapped(ctx: Any, *args: Any) -> Any:
        before = state.grad_enabled
        state.grad_enabled = False
        try:
            return function(ctx, *args)
        finally:
            state.grad_enabled = before

    return wrapped
