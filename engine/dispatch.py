"""The path every primitive takes: modes, then the device's kernel, then the tape.

The order is fixed: function transforms, autocast and capture (the *modes*, innermost first) may take a call over; else
the arguments are brought to one dtype and device, the backend's kernel runs, and, where gradients are wanted, a node
is recorded.  What operators there are and what they mean is the table's business, not this file's.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

from . import dtypes, module_path
from .autograd.node import Edge, call_site, module_at, resolve_source
from .autograd.op_node import record
from .dtypes import BOOL, COMPLEX, FLOATING, INTEGRAL
from .observe import Meta, OpRecorded, bus
from .ops.table import Op
from .shapes import broadcast_shapes, is_contiguous
from .state import state
from .storage import ReinterpretedStorage
from .tensor import Tensor, base_needs_grad, gradient_edge, wrap

_SCALAR_CATEGORY = {bool: BOOL, int: INTEGRAL, float: FLOATING, complex: COMPLEX}


def call(op: Op, tensors: tuple[Any, ...], statics: tuple[Any, ...] = ()) -> Any:
    """Run a primitive on its tensors (a flat tuple for an operator that takes a list) and static arguments.

    Returns a Tensor, or a tuple of them where the operator has several outputs.
    """
    if bus.op:
        bus.began = perf_counter()
    if op.kind == "pointwise":
        return pointwise(op, tensors, statics)
    if state.modes:
        return state.modes[-1].call(op, tensors, statics)
    if op.kind == "view":
        return view(op, tensors[0], statics)
    backend, needs, arrays = None, False, []
    for t in tensors:
        if t is None:
            arrays.append(None)
            continue
        if backend is None:
            backend = t._storage.backend
        elif t._storage.backend is not backend:
            return call(op, _lifted(tensors), statics)
        if t._requires_grad or (t._base is not None and base_needs_grad(t)):
            needs = True
        arrays.append(t._data)
    assert backend is not None
    kernel = backend.kernels.get(op.name) or backend.kernel(op)
    plain = [_arrays(s) for s in statics] if op.kind == "index" else statics
    made = kernel(arrays, *plain) if op.list_input else kernel(*arrays, *plain)
    dtype = op.dtype(*tensors, *statics) if op.dtype is not None and not op.list_input else None
    if op.multi:
        kinds = dtype or (tensors[0]._dtype,) * len(made)
        outputs = tuple([wrap(a, d, backend) for a, d in zip(made, kinds, strict=True)])
    else:
        outputs = (wrap(made, dtype or tensors[0]._dtype, backend),)
    return _finish(op, tensors, statics, outputs, needs)


def _arrays(static: Any) -> Any:
    """A static argument as kernels get it: index tensors in a tuple become arrays."""
    if type(static) is tuple:
        return tuple([s._data if isinstance(s, Tensor) else s for s in static])
    return static


def casting() -> bool:
    """Whether a mode is on that brings operands to one dtype (autocast), so that differing ones are no mistake."""
    return any(getattr(m, "casts", False) for m in state.modes)


def pointwise(op: Op, args: tuple[Any, ...], statics: tuple[Any, ...] = ()) -> Any:
    """Run a pointwise primitive; its arguments are tensors or Python numbers, promoted by PyTorch's rules."""
    if bus.op:
        bus.began = perf_counter()
    if state.modes:
        return state.modes[-1].call(op, args, statics)
    backend, compute, arrays, needs, wide = _prepare(op, args)
    kernel = backend.kernels.get(op.name) or backend.kernel(op)
    try:
        made = kernel(*arrays, *statics)
    except ValueError as error:
        raise _shapes(args, error) from None
    except OverflowError:
        made = kernel(*[_wrapped(a, compute) for a in arrays], *statics)
    if wide:
        made = backend.cast(made, compute)
    out = wrap(made, compute if op.keeps_dtype else _result(op, compute), backend)
    if needs or bus.op:
        return _finish(op, args, statics, (out,), needs)
    return out


def _result(op: Op, compute: Any) -> Any:
    """The dtype of a pointwise result that is not the computing one."""
    return dtypes.bool_ if op.result == "bool" else compute.to_real()


def _prepare(op: Op, args: tuple[Any, ...]) -> tuple[Any, Any, list[Any], bool, bool]:
    """Backend, computing dtype, arrays cast to it, whether an argument needs a gradient, and whether the arrays are wider still."""
    backend = compute = None
    needs, plain, top, wide = False, True, 0, False
    arrays: list[Any] = []
    for a in args:
        if isinstance(a, Tensor):
            if compute is None:
                compute, backend = a._dtype, a._storage.backend
            elif a._dtype is not compute or a._storage.backend is not backend:
                plain = False
            if a._requires_grad or (a._base is not None and base_needs_grad(a)):
                needs = True
            arrays.append(a._data)
        else:
            category = _SCALAR_CATEGORY.get(type(a))
            if category is None:
                a, category = _number(op, a)
            if category > top:
                top = category
            arrays.append(a)
    if compute is None:
        raise TypeError(f"{op.name}(): argument 'input' (position 1) must be Tensor, not {type(args[0]).__name__}")
    if not plain or top > compute.category:
        if op.guard is not None:
            op.guard(*args)
        compute = result_type(*args)
        if state.fakes is not None and len({a._storage.backend for a in args if isinstance(a, Tensor)}) > 1:
            return _prepare(op, _lifted(args))
        backend, arrays = _one_device(args, arrays)
        plain = False
    if op.floats and compute.category < FLOATING:
        compute = dtypes.get_default_dtype()
        plain, wide = False, op.wide and backend.wide is not None  # type: ignore[union-attr]
    if not op.fits[compute.category]:
        raise _refused(op, compute)
    if not plain:
        cast = backend.cast  # type: ignore[union-attr]
        arrays = [
            cast(x, compute) if isinstance(a, Tensor) and a._dtype is not compute and x is a._data else x
            for a, x in zip(args, arrays, strict=True)
        ]
        if wide:
            arrays = [cast(x, backend.wide) if isinstance(a, Tensor) else x for a, x in zip(args, arrays, strict=True)]  # type: ignore[union-attr]
    return backend, compute, arrays, needs, wide


def _refused(op: Op, compute: Any) -> RuntimeError:
    """The error for a dtype that the operator does not compute in."""
    sentence = op.refusals.get("bifc"[compute.category])
    if sentence is None:
        sentence = f"\"{op.refusals.get('', f'{op.name}_cpu')}\" not implemented for '{type_name(compute)}'"
    return (NotImplementedError if " not implemented for '" in sentence else RuntimeError)(sentence)


def _number(op: Op, value: Any) -> tuple[Any, int]:
    """A number that is no plain Python one (numpy's scalars) as one, with its category."""
    import numbers

    import numpy as np

    if hasattr(value, "free_symbols"):  # a number that stands for what a later call will have
        return value, INTEGRAL if isinstance(value, int) else FLOATING
    if isinstance(value, (np.bool_, bool)):
        return bool(value), BOOL
    if isinstance(value, numbers.Integral):
        return int(value), INTEGRAL
    if isinstance(value, numbers.Real):
        return float(value), FLOATING
    if isinstance(value, numbers.Complex):
        return complex(value), COMPLEX
    raise TypeError(f"{op.name}(): argument 'other' (position 2) must be Tensor, not {type(value).__name__}")


def result_type(*args: Any) -> Any:
    """The dtype of an operator on these tensors and numbers: dimensioned tensors, then 0-d ones, then numbers."""
    best: list[Any] = [None, None, None]
    for a in args:
        if isinstance(a, Tensor):
            d, rank = a._dtype, (0 if a._data.shape else 1)
        elif a is None:
            continue
        else:
            d, rank = dtypes.of_scalar(a.item() if hasattr(a, "item") else a), 2
        best[rank] = d if best[rank] is None else dtypes.promote_types(best[rank], d)
    out = None
    for d in best:
        if d is None:
            continue
        if out is None:
            out = d
        elif d.category > out.category:
            if d.is_complex and out.is_floating_point:
                d = out.to_complex() if out.itemsize >= 4 else dtypes.complex64
            out = d
    return out


def _one_device(args: tuple[Any, ...], arrays: list[Any]) -> tuple[Any, list[Any]]:
    """The backend of the tensors; 0-d tensors of the CPU travel to another device as numbers."""
    backends = {a._storage.backend for a in args if isinstance(a, Tensor)}
    if len(backends) == 1:
        return backends.pop(), arrays
    away = {
        a._storage.backend
        for a in args
        if isinstance(a, Tensor) and (a._data.shape or a._storage.backend.name != "cpu")
    }
    if len(away) != 1:
        raise _devices(args)
    home = away.pop()
    out = [
        a.item() if isinstance(a, Tensor) and a._storage.backend is not home else x
        for a, x in zip(args, arrays, strict=True)
    ]
    return home, out


def _lifted(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments of several backends: where some are fakes (capture), real ones become constants among them. Else the error."""
    homes = {a._storage.backend for a in args if isinstance(a, Tensor)}
    fakes = [h for h in homes if h.lifts]
    if not fakes or len(fakes) == len(homes):
        raise _devices(args)
    return tuple([fakes[0].lift(a) if isinstance(a, Tensor) and a._storage.backend not in fakes else a for a in args])


def _devices(args: tuple[Any, ...]) -> RuntimeError:
    names = list(dict.fromkeys(str(a.device) for a in args if isinstance(a, Tensor)))
    return RuntimeError(
        f"Expected all tensors to be on the same device, but found at least two devices, {names[0]} and {names[-1]}!"
        " Move them with .to(device)."
    )


def _shapes(args: tuple[Any, ...], error: Exception) -> Exception:
    """PyTorch's error for shapes that do not broadcast, or the kernel's own."""
    broadcast_shapes(*[a._data.shape for a in args if isinstance(a, Tensor)])
    return RuntimeError(str(error))


def _wrapped(a: Any, compute: Any) -> Any:
    """A Python int outside of an integer dtype's range, wrapped as C does."""
    if type(a) is int and compute.category == INTEGRAL:
        bits = compute.itemsize * 8
        a &= (1 << bits) - 1
        if compute.is_signed and a >> (bits - 1):
            a -= 1 << bits
    return a


def _finish(op: Op, tensors: tuple[Any, ...], statics: tuple[Any, ...], outputs: tuple[Any, ...], needs: bool) -> Any:
    """Record the node where wanted, tell the bus, and hand the outputs out."""
    node = None
    if needs and state.grad_enabled and op.rules and any([o._dtype.category >= FLOATING for o in outputs]):
        edges = tuple([gradient_edge(t) if isinstance(t, Tensor) and t._requires_grad else None for t in tensors])
        node = record(op, tensors, edges, statics, outputs)
    if bus.op:
        tell(op, tensors, outputs, node)
    return outputs if op.multi else outputs[0]


def tell(op: Op, tensors: tuple[Any, ...], outputs: tuple[Any, ...], node: Any) -> None:
    """Publish one operator call on the bus."""
    site = call_site(2)
    bus.publish(
        OpRecorded(
            op.name,
            tuple(meta_of(t) for t in tensors if isinstance(t, Tensor)),
            tuple(meta_of(o) for o in outputs),
            module_at(*site, module_path.current),
            resolve_source(*site),
            node.sequence_nr if node is not None else None,
        )
    )


def meta_of(t: Tensor) -> Meta:
    """Shape, dtype and device of a tensor as a record."""
    return Meta(tuple(t._data.shape), t._dtype.name, t._storage.backend.name)


def view(op: Op, t: Tensor, statics: tuple[Any, ...]) -> Tensor:
    """Run a view primitive: new geometry on the same storage."""
    if bus.op:
        bus.began = perf_counter()
    shape, strides, offset = op.geometry(tuple(t._data.shape), t.stride(), t.storage_offset(), *statics)  # type: ignore[misc]
    if op.dtype is None:
        out = make_view(t, shape, strides, offset)
    else:
        out = make_view(t, shape, strides, offset, op.dtype(t, *statics))
    if out._storage.backend.recorder is not None:
        out._storage.backend.recorder.viewed(op, t._data, statics, out._data)
    if t._base is not None:
        base_needs_grad(t)
    if t._requires_grad and state.grad_enabled and op.rules and t._dtype.category >= FLOATING:
        record(op, (t,), (gradient_edge(t),), statics, (out,))
    elif t._requires_grad and not state.grad_enabled:
        out._creation = "no_grad"
    if bus.op:
        tell(op, (t,), (out,), out._grad_fn)
    return out


def parts(op: Op, whole: Op, t: Tensor, each: list[tuple[Any, ...]], dim: int) -> list[Tensor]:
    """Several views of one tensor along a dimension: `op` with each of the statics, on the tape one node of `whole`.

    Modes and captures see the views one by one.
    """
    if state.modes or t._storage.backend.recorder is not None or not each:
        return [call(op, (t,), statics) for statics in each]
    shape, strides, offset = tuple(t._data.shape), t.stride(), t.storage_offset()
    outputs = tuple([make_view(t, *op.geometry(shape, strides, offset, *statics)) for statics in each])  # type: ignore[misc]
    if t._base is not None:
        base_needs_grad(t)
    node = None
    if t._requires_grad and state.grad_enabled and t._dtype.category >= FLOATING:
        node = record(whole, (t,), (gradient_edge(t),), (dim,), outputs)
    elif t._requires_grad and not state.grad_enabled:
        for out in outputs:
            out._creation = "no_grad"
    if bus.op:
        tell(whole, (t,), outputs, node)
    return list(outputs)


def make_view(
    t: Tensor, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: dtypes.dtype | None = None
) -> Tensor:
    """A tensor on the same storage, not recorded; with `dtype` the memory is read as that, and strides count in its elements."""
    storage = t._storage
    if dtype is not None and dtype is not t._dtype:
        storage = ReinterpretedStorage(storage, dtype)
    out = Tensor.__new__(Tensor)
    out._data = storage.backend.view(storage.root, shape, strides, offset)
    out._dtype = dtype or t._dtype
    out._storage = storage
    out._strides = strides
    out._offset = offset
    out._base = t if t._base is None else t._base
    out._seen_version = storage.version
    return out


def inplace(op: Op, target: Tensor, others: tuple[Any, ...], statics: tuple[Any, ...] = ()) -> Tensor:
    """Run a pointwise primitive with its first argument as the output, and rebase its history."""
    if bus.op:
        bus.began = perf_counter()
    if state.modes:
        return state.modes[-1].inplace(op, target, others, statics)
    args = (target, *others)
    backend, compute, arrays, needs, _ = _prepare(op, args)
    needs = needs and state.grad_enabled
    check_inplace(target, state.grad_enabled)
    result = compute if op.keeps_dtype else _result(op, compute)
    if not dtypes.can_cast(result, target._dtype):
        raise RuntimeError(
            f"result type {type_name(result)} can't be cast to the desired output type {type_name(target._dtype)}"
        )
    shape = broadcast_shapes(*[a._data.shape for a in args if isinstance(a, Tensor)])
    if shape != tuple(target._data.shape):
        raise RuntimeError(f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(shape)}")
    edges: tuple[Edge | None, ...] = ()
    before = target
    if needs:
        edges = tuple([gradient_edge(a) if isinstance(a, Tensor) and a._requires_grad else None for a in args])
        if any(op.tensors[0] in r.names for r in op.rules):
            before = target.detach_shallow()._fresh_copy()
    kernel = backend.kernels.get(op.name) or backend.kernel(op)
    if result is target._dtype and backend.shares_out and not result.rounds:
        arrays = [_wrapped(a, compute) for a in arrays]
        kernel(*arrays, *statics, out=target._data)
    else:
        made = kernel(*arrays, *statics)
        if result is not target._dtype:
            made = backend.cast(made, target._dtype)
        backend.copy(target._data, backend.rounded(made, result) if target._dtype.rounds else made)
    target._storage.version += 1
    node = None
    if needs:
        node = record(op, (before, *others), edges, statics, ())
        node.outputs = ((target._data.shape, target._dtype, backend.name),)
        node.metadata["in-place"] = True
        rebase(target, node)
        if "result" in node.plan.names:  # type: ignore[union-attr]
            from .autograd.op_node import Saved

            node.saved["result"] = Saved(target, output_of=0)
    if bus.op:
        tell(op, args, (target,), node)
    return target


def write(target: Tensor, value: Tensor) -> Tensor:
    """Write a computed result into `target` in place; the target takes over the value's history."""
    check_inplace(target, state.grad_enabled)
    if not dtypes.can_cast(value._dtype, target._dtype):
        raise RuntimeError(
            f"result type {type_name(value._dtype)} can't be cast to the desired output type {type_name(target._dtype)}"
        )
    if tuple(value._data.shape) != tuple(target._data.shape):
        raise RuntimeError(
            f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(value.shape)}"
        )
    if value._dtype is not target._dtype:
        value = value.to(target._dtype)
    if state.modes:
        value = state.modes[-1].before_write(target, value)
    target._storage.backend.copy(target._data, value._data)
    target._storage.version += 1
    if state.grad_enabled and value._requires_grad:
        node, number = gradient_edge(value)
        rebase(target, node, number)
    elif state.grad_enabled and target._requires_grad:
        from .autograd.slices import WriteThrough

        rebase(target, WriteThrough(None, None))
    return target


def rebase(target: Tensor, node: Any, number: int = 0) -> None:
    """Make `node` the history of `target` after an in-place write; through a view the base's is rewritten too."""
    target._requires_grad = True
    if target._base is None:
        target._grad_fn, target._output_nr = node, number
        return
    from .autograd.slices import copy_slices

    copy_slices(target, node, number)


def check_inplace(target: Tensor, recording: bool) -> None:
    """Refuse in-place writes that have no meaning; raises RuntimeError with PyTorch's words."""
    if recording and target._requires_grad:
        if target.is_leaf:
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
        if target._base is not None and target._base._requires_grad and target._base.is_leaf:
            raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    if recording and target._creation:
        base = target._base
        if target._creation in ("multi", "custom") and (
            target._requires_grad or (base is not None and base._requires_grad)
        ):
            raise RuntimeError(view_refusal(target))
        if target._creation == "no_grad" and base is not None and base._requires_grad:
            raise RuntimeError(
                "A view was created in no_grad mode and is being modified inplace with grad mode enabled. Given that this use "
                "case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and the "
                "inplace either both inside the no_grad block (if you don't want the inplace to be tracked) or both outside "
                "(if you want the inplace to be tracked)."
            )
    if target._storage.version < 0 and not state.inference:
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a normal "
            "tensor before doing inplace update."
        )
    if target._strides is not None and 0 in target._strides:
        shape = target._data.shape
        if any(st == 0 and n > 1 for n, st in zip(shape, target._strides, strict=True)):
            raise RuntimeError(
                "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
                "Please clone() the tensor before performing the operation."
            )


def view_refusal(view: Tensor, base_written: bool = False) -> str:
    """Why a view that came from a function of its own kind may not be written to, or its base before the view was used."""
    what = "its base or another view of its base has been" if base_written else "is being"
    start = f"{view._maker} is a view and {what} modified inplace. "
    if view._creation == "multi":
        return start + (
            "This view is the output of a function that returns multiple views. Such functions do not allow the output views to be modified "
            "inplace. You should replace the inplace operation by an out-of-place one."
        )
    return start + (
        "This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to handle "
        "view+inplace would override the custom backward associated with the custom Function, leading to incorrect gradients. This behavior "
        "is forbidden. You can fix this by cloning the output of the custom Function."
    )


_TYPE_NAMES = {
    "float32": "Float", "bfloat16": "BFloat16", "float64": "Double", "float16": "Half", "int64": "Long", "int32": "Int", "int16": "Short",
    "int8": "Char", "uint8": "Byte", "bool": "Bool", "complex64": "ComplexFloat", "complex128": "ComplexDouble",
    "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64",
}  # fmt: skip


def type_name(d: Any) -> str:
    """PyTorch's C++ name of a dtype, which its error messages use ("Float")."""
    return _TYPE_NAMES.get(d.name) or d.name


__all__ = ["call", "inplace", "is_contiguous", "make_view", "pointwise", "result_type", "type_name", "write"]
