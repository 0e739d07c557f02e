"""Helpers that turn one declaration into a primitive and the functions users call.

`pointwise` and `operator` are what the families use.  The function for users is generated source, so that its signature,
its error messages and its speed are those of a function written by hand; this file holds no operator itself.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dispatch
from ..autograd.node import ENGINE_FOLDER
from ..dtypes import dtype as DType
from ..state import state
from ..tensor import Tensor
from . import places
from .table import Grad, Op, put

_POINTWISE = """
def {name}({head}{old}{tail}{mark}out=None):
{shift}{checks}{plain}    if out is None:
        return _pointwise(OP, ({first}), ({statics}))
    return _into(out, _pointwise(OP, ({first}), ({statics})), "{name}")
def {name}_({inhead}{old}{tail}):
{shift}{plain}    return _inplace(OP, {target}, ({others}), ({statics}))
"""


def pointwise(
    name: str,
    signature: str = "input",
    *,
    cpu: Callable[..., Any],
    expr: str | None = None,
    result: str = "same",
    accepts: str = "bifc",
    grads: dict[str | tuple[str, ...], Grad] | None = None,
    spaces: Sequence[str] = ("torch",),
    method: bool = True,
    inplace: bool | Callable[..., Any] = True,
    aliases: Sequence[str] = (),
    backward: str | None = None,
    guard: Callable[..., None] | None = None,
    overload: Callable[[tuple[Any, ...], tuple[Any, ...]], int] | None = None,
    refusals: dict[str, str] | None = None,
    numbers: str = "",
    wide: bool = False,
    legacy: bool = False,
    doc: str = "",
    primitive: str | None = None,
) -> Op:
    """Declare a pointwise primitive and its function.

    `signature` is the function's, such as "input, other, *, alpha=1": parameters before `*` are tensors (or numbers),
    those after it plain values; `;` instead of `, *` lets plain values be passed by position. `numbers` names the
    tensor parameters in whose place plain numbers may stand. `cpu` takes numpy arrays, the plain values, and `out=`;
    `expr` is left out where no expression says it. `primitive` is its name where that differs from the function's.
    `inplace` may be the in-place function itself. With `legacy`, the one plain value may stand before the last tensors
    by position, as PyTorch's older signatures have it. See `Op` for the rest.
    """
    head, _, tail = signature.partition(";") if ";" in signature else signature.partition(", *")
    positional = ";" in signature
    names = [p.split("=")[0].strip() for p in head.split(",")]
    tail = tail.strip().lstrip(",").strip()
    statics = [p.split("=")[0].strip() for p in tail.split(",")] if tail else []
    op = Op(
        primitive or name, " ".join(names), " ".join(statics), kind="pointwise", cpu=cpu, expr=expr, result=result, accepts=accepts,
        grads=grads, shape=None, backward=backward, overload=overload, refusals=refusals, guard=guard, wide=wide,
    )  # fmt: skip
    checked = [(i, n) for i, n in enumerate(names) if n not in numbers.split()]
    source = _POINTWISE.format(
        name=name,
        checks="".join(
            f'    if not isinstance({n}, Tensor):\n        _check("{name}", "{n}", {i + 1}, {n})\n' for i, n in checked
        ),
        old=", _last=None" if legacy else "",
        shift=f"""    if _last is not None:
        {statics[0]}, {", ".join(names[1:])} = _shifted("{name}", {", ".join(names[1:])}, _last)
"""
        if legacy
        else "",
        plain="".join(
            f"    if isinstance({s}, Tensor):\n        {s} = {s}.item()\n" for s in statics if s in ("alpha", "value")
        ),
        head=head.strip(),
        inhead=head.strip(),
        tail=(", " if positional else ", *, ") + tail if tail else "",
        mark=", " if tail and not positional else ", *, ",
        first=", ".join(names) + ",",
        target=names[0],
        others="".join(n + ", " for n in names[1:]),
        statics="".join(s + ", " for s in statics),
    )
    space: dict[str, Any] = {
        "OP": op, "_pointwise": dispatch.pointwise, "_inplace": dispatch.inplace, "_into": into, "_check": tensor_argument,
        "Tensor": Tensor, "_shifted": _shifted,
    }  # fmt: skip
    exec(compile(source, ENGINE_FOLDER + f"generated/{name}.py", "exec"), space)
    function, function_ = space[name], space[name + "_"]
    function.__doc__ = doc or f"Elementwise `{expr or name}`."
    function.__module__ = function_.__module__ = "tapescope.engine"
    back = inplace if callable(inplace) else function_ if inplace else None
    put(name, function, spaces=spaces, method=method, inplace=back, op=op, aliases=aliases)
    op_functions[name] = op_functions[op.name] = function
    return op


def _shifted(name: str, *values: Any) -> tuple[Any, ...]:
    """The arguments of an older signature, with a number in front; warns once. Raises TypeError for a tensor there."""
    if isinstance(values[0], Tensor):
        raise TypeError(f"{name}() takes {len(values)} positional arguments but {len(values) + 1} were given")
    if name not in _warned:
        _warned.add(name)
        warnings.warn(
            f"This overload of {name} is deprecated: the number comes after the tensors, by its name", stacklevel=3
        )
    return values


_warned: set[str] = set()
op_functions: dict[str, Callable[..., Any]] = {}
"""The functions made for pointwise primitives, for families that build on them."""


_C_NAMES = {
    "float32": "float", "float64": "double", "int64": "long int", "int32": "int", "int16": "short int", "int8": "signed char",
    "uint8": "unsigned char", "complex64": "c10::complex<float>", "complex128": "c10::complex<double>", "float16": "c10::Half",
    "bfloat16": "c10::BFloat16", "uint16": "short unsigned int", "uint32": "unsigned int", "uint64": "long unsigned int",
}  # fmt: skip


def c_name(d: Any) -> str:
    """The name of a dtype in C++, which some of PyTorch's messages use ("long int")."""
    return _C_NAMES.get(d.name) or str(d.name)


def into(out: Tensor, value: Any, name: str, same_dtype: bool = False) -> Tensor:
    """Write a result into the tensor given as `out=`; resizes it (with a warning where it had elements).

    With `same_dtype` it must have the result's dtype, else one that the result's can be cast to.
    """
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if state.grad_enabled and (value._requires_grad or out._requires_grad):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
            "requires grad."
        )
    from ..dtypes import can_cast

    if same_dtype and out._dtype is not value._dtype:
        raise RuntimeError(
            f"Expected out tensor to have dtype {_C_NAMES.get(value._dtype.name, value._dtype.name)}, but got "
            f"{_C_NAMES.get(out._dtype.name, out._dtype.name)} instead"
        )
    if not can_cast(value._dtype, out._dtype):
        raise RuntimeError(
            f"result type {dispatch.type_name(value._dtype)} can't be cast to the desired output type "
            f"{dispatch.type_name(out._dtype)}"
        )
    if out._storage.backend is not value._storage.backend:
        raise RuntimeError(f"Expected out tensor to have device {value.device}, but got {out.device} instead")
    if out.shape != value.shape:
        if out.numel():
            warnings.warn(
                f"An output with one or more elements was resized since it had shape {list(out.shape)}, which does not match "
                f"the required output shape {list(value.shape)}. This behavior is deprecated, and in a future PyTorch release "
                "outputs will not be resized unless they have zero elements.",
                stacklevel=3,
            )
        fresh = value.detach_shallow()._fresh_copy()
        if fresh._dtype is not out._dtype:
            fresh = fresh.to(out._dtype)
        out._data, out._storage, out._strides, out._offset = fresh._data, fresh._storage, fresh._strides, fresh._offset
        return out
    before = state.grad_enabled
    state.grad_enabled = False
    try:
        dispatch.write(out, value)
    finally:
        state.grad_enabled = before
    return out


def operator(
    name: str | None = None,
    *,
    spaces: Sequence[str] = ("torch",),
    method: bool = True,
    inplace: bool | Callable[..., Any] = False,
    out: bool | str = False,
    aliases: Sequence[str] = (),
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: enter a function written with other operators into the table.

    With `out`, it gets an `out=` argument ("same dtype": one that must have the dtype of the result); with `inplace`, a
    method `NAME_` that computes and writes back, or is the function given. Parameters called `dim` and `keepdim` may be
    named `axis` and `keepdims` as well, as numpy calls them; those that take any number of values (`*sizes`) also one
    sequence by name (`sizes=`).
    """

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        label = name or function.__name__
        function = _numpy_names(function)
        public = _with_out(function, label, out == "same dtype") if out else function
        back = inplace if callable(inplace) else _writing(function, label) if inplace else None
        put(label, public, spaces=spaces, method=method, inplace=back, aliases=aliases)
        return public

    return declare


def _numpy_names(function: Callable[..., Any]) -> Callable[..., Any]:
    parameters = inspect.signature(function).parameters
    names = [(t, o) for t, o in (("axis", "dim"), ("keepdims", "keepdim")) if o in parameters and t not in parameters]
    spread = next((n for n, p in parameters.items() if p.kind is inspect.Parameter.VAR_POSITIONAL), "")
    if not names and not spread:
        return function

    @functools.wraps(function)
    def public(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            for theirs, ours in names:
                if theirs in kwargs:
                    kwargs[ours] = kwargs.pop(theirs)
            if spread in kwargs:
                args = (*args, kwargs.pop(spread))
        return function(*args, **kwargs)

    return public


def _writing(function: Callable[..., Any], label: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def back(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return write_back(self, function, args, kwargs)

    back.__name__ = label + "_"
    return back


def write_back(target: Tensor, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """`target` overwritten with `function(target, ...)`, its history that of the result."""
    dispatch.check_inplace(target, state.grad_enabled)
    if not _direct(target, [*args, *kwargs.values()]):
        return dispatch.write(target, function(target, *args, **kwargs))
    places.lend(target._data)
    try:
        value = function(target, *args, **kwargs)
    finally:
        places.lend(None)
    if value._data is target._data:  # a kernel that changes some elements has written them where they are
        target._storage.version += 1
        return target
    return dispatch.write(target, value)


def _direct(target: Tensor, others: list[Any]) -> bool:
    """Whether a kernel may write into the memory of `target` itself: nothing is recorded, and no other argument reads it."""
    if state.modes or not target._is_host or not target._data.flags.c_contiguous:
        return False
    if state.grad_enabled and target.requires_grad:
        return False
    for other in others:
        for t in other if isinstance(other, (tuple, list)) else (other,):
            if isinstance(t, Tensor) and (
                not t._is_host or (state.grad_enabled and t.requires_grad) or np.may_share_memory(t._data, target._data)
            ):
                return False
    return True


def _with_out(function: Callable[..., Any], label: str, same_dtype: bool) -> Callable[..., Any]:
    @functools.wraps(function)
    def public(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        value = function(*args, **kwargs)
        if out is None:
            return value
        if isinstance(value, tuple):
            parts = [into(o, v, label, same_dtype) for o, v in zip(out, value, strict=True)]
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        return into(out, value, label, same_dtype)

    signature = inspect.signature(function)
    extra = inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None)
    rest = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    setattr(public, "__signature__", signature.replace(parameters=[*rest, extra]))  # noqa: B010 (no attribute checkers know)
    return public


def tensor_argument(function: str, name: str, position: int, value: Any) -> Tensor:
    """`value` if it is a tensor; raises PyTorch's TypeError otherwise."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"{function}(): argument '{name}' (position {position}) must be Tensor, not {type(value).__name__}"
        )
    return value


def dtype_argument(value: Any) -> Any:
    """A `dtype=` argument if it is a dtype or None; raises PyTorch's TypeError otherwise."""
    if value is not None and not isinstance(value, DType):
        raise TypeError(f"argument 'dtype' must be torch.dtype, not {type(value).__name__}")
    return value
