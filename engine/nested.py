"""Nested tensors (`torch.nested`): several tensors of one dtype and number of dimensions, whose sizes differ.

A nested tensor holds its components as they are; a function that works on each of them alone is applied to each (`EACH`),
some have a meaning of their own (`HANDLERS`), the others refuse as in PyTorch. Gradients flow through the components.
Both of PyTorch's layouts are made; they differ in how they print, in sizes, and in `values()` and `offsets()`.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from . import overrides
from .backends.base import Backend
from .shapes import Size, wrap_dim
from .storage import Storage
from .surface import jagged, strided
from .tensor import Tensor

_numbers = itertools.count(1)


class _Ragged:
    """A size that differs between the components; prints as "j1"."""

    def __init__(self) -> None:
        self._name = f"j{next(_numbers)}"

    def __repr__(self) -> str:
        return self._name

    def __index__(self) -> int:
        raise RuntimeError(f"the size {self._name} of a nested tensor differs between its components")


class _Extent:
    """Stands where a dense tensor has its array."""

    def __init__(self, count: int, dims: int):
        self.shape = (count,) * dims


class _NestedMemory(Backend):
    """The backend of nested tensors: no kernels, named like the device of the components."""

    def __init__(self, name: str):
        super().__init__()
        self.name = name  # type: ignore[misc]

    def fall_back(self, op: Any) -> Any:
        raise _refusal(op.name)

    def nbytes(self, array: Any) -> int:
        return 0


_memories: dict[str, _NestedMemory] = {}


def _refusal(name: str) -> NotImplementedError:
    return NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the 'NestedTensorCPU' backend: {name} has no nested form here. "
        "Use to_padded_tensor(), or unbind() and work on the components."
    )


class NestedTensor(Tensor):
    """Tensors of different sizes under one name. Made by `torch.nested.nested_tensor` and `as_nested_tensor`."""

    _parts: tuple[Tensor, ...]
    _layout: Any
    _ragged: Any
    is_nested = True

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        name, given = func.__name__, kwargs or {}
        with overrides.DisableTorchFunctionSubclass():
            handler = HANDLERS.get(name)
            if handler is not None:
                return handler(*args, **given)
            if name in EACH:
                return _each(func, args, given)
        raise _refusal(name)

    @property
    def layout(self) -> Any:
        """`torch.strided` or `torch.jagged`."""
        return self._layout

    @property
    def shape(self) -> Any:
        """The sizes, in the jagged layout; raises RuntimeError in the strided one."""
        if self._layout is not jagged:
            raise RuntimeError(
                "a nested tensor of the strided layout has no one shape; ask size(dim), or its components by unbind()"
            )
        return Size((len(self._parts), self._ragged, *self._parts[0].shape[1:]))

    def size(self, dim: int | None = None) -> Any:
        """The size of one dimension. Raises RuntimeError for one that differs between the components."""
        if dim is None:
            return self.shape
        d = wrap_dim(dim, self.ndim)
        if d == 0:
            return len(self._parts)
        sizes = {p.shape[d - 1] for p in self._parts}
        if len(sizes) == 1 and not (self._layout is jagged and d == 1):
            return sizes.pop()
        if self._layout is jagged:
            return self._ragged
        raise RuntimeError(f"Given dimension {d} is irregular and does not have a size.")

    def numel(self) -> int:
        """The number of elements of all components."""
        return sum(p.numel() for p in self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self._parts)

    def unbind(self, dim: int = 0) -> tuple[Tensor, ...]:
        """The components. Raises RuntimeError for another dimension than the first."""
        if wrap_dim(dim, self.ndim) != 0:
            raise RuntimeError(f"NestedTensor can only be unbound along dimension 0, got dimension {dim} instead")
        return self._parts

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Always True."""
        return True

    def values(self) -> Tensor:
        """The components one after the other along their first dimension."""
        from . import cat

        return cat(list(self._parts))

    def offsets(self) -> Tensor:
        """Where each component begins in `values()`, and where the last ends."""
        from . import tensor

        return tensor([0, *itertools.accumulate(p.shape[0] for p in self._parts)])

    def _nested_tensor_size(self) -> Tensor:
        from . import tensor

        return tensor([list(p.shape) for p in self._parts])

    @property
    def requires_grad(self) -> bool:
        """Whether a component does."""
        return any(p.requires_grad for p in self._parts)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Say whether backward shall compute gradients for the components."""
        for p in self._parts:
            p.requires_grad_(requires_grad)
        return self

    @property
    def grad_fn(self) -> Any:
        """The tape node of the first component that has one."""
        return next((p.grad_fn for p in self._parts if p.grad_fn is not None), None)

    @property
    def grad(self) -> Tensor | None:
        """The gathered gradients of the components, nested; None before backward."""
        if all(p.grad is None for p in self._parts):
            return None
        return build(
            [p.new_zeros(p.shape) if p.grad is None else p.grad for p in self._parts], self._layout, self._ragged
        )

    def to_padded_tensor(self, padding: float, output_size: Sequence[int] | None = None) -> Tensor:
        """One dense tensor, the components filled up with `padding` to the largest sizes (or to `output_size`).

        Raises RuntimeError where `output_size` is too small.
        """
        from . import stack
        from .nn.functional import pad

        sizes = [max(p.shape[d] for p in self._parts) for d in range(self.ndim - 1)]
        if output_size is not None:
            wanted = list(output_size)[1:]
            if any(w < s for w, s in zip(wanted, sizes)):
                raise RuntimeError(
                    "Value in output_size is less than NestedTensor padded size. Truncation is not supported."
                )
            sizes = wanted
        rows = []
        for p in self._parts:
            widths = [w for d in reversed(range(p.ndim)) for w in (0, sizes[d] - p.shape[d])]
            rows.append(pad(p, widths, value=padding) if any(widths) else p)
        return stack(rows)

    def detach(self) -> Tensor:
        """The components without a history."""
        return build([p.detach() for p in self._parts], self._layout, self._ragged)

    def numpy(self, *, force: bool = False) -> Any:
        """Raises RuntimeError: the components have no one array."""
        return self._host()

    def _host(self) -> Any:
        raise RuntimeError(
            "a nested tensor is no array; use to_padded_tensor(), or unbind() and work on the components"
        )

    def __repr__(self, *, tensor_contents: str | None = None) -> str:
        node = self.grad_fn
        tail = f", grad_fn=<{node.name()}>" if node is not None else ""
        if self._layout is jagged:
            inner = ", ".join(str(s) for s in self.shape)
            return f"NestedTensor(size=({inner}), offsets={self.offsets()}{tail}, contiguous=True)"
        parts = ",\n".join(textwrap.indent(repr(p.detach()), "  ") for p in self._parts)
        return f"nested_tensor([\n{parts}\n]{tail})"


def build(parts: Sequence[Tensor], layout: Any = strided, ragged: Any = None) -> NestedTensor:
    """A nested tensor of components that are known to fit."""
    overrides.install()
    out = object.__new__(NestedTensor)
    name = parts[0]._storage.backend.name if parts else "cpu"
    out._parts, out._layout = tuple(parts), layout
    out._ragged = ragged or (_Ragged() if layout is jagged else None)
    out._data = _Extent(len(parts), parts[0].ndim + 1 if parts else 1)
    if parts:
        out._dtype = parts[0]._dtype
    else:
        from .dtypes import get_default_dtype

        out._dtype = get_default_dtype()
    out._storage = Storage(_memories.setdefault(name, _NestedMemory(name)), out._data)
    return out


def _checked(tensors: Sequence[Tensor], layout: Any, where: str) -> NestedTensor:
    if layout not in (None, strided, jagged):
        raise RuntimeError(f"Specified layout is unsupported for nested tensors: {layout}")
    for i, t in enumerate(tensors):
        if t.ndim != tensors[0].ndim:
            raise RuntimeError(
                f"All Tensors given to {where} must have the same dimension. Found dimension {t.ndim} for Tensor at index {i} "
                f"and dimension {tensors[0].ndim} for Tensor at index 0."
            )
        if t.dtype != tensors[0].dtype:
            raise RuntimeError(
                f"All Tensors given to {where} must have the same dtype, but got {tensors[0].dtype} and {t.dtype}."
            )
        if layout is jagged and t.shape[1:] != tensors[0].shape[1:]:
            raise RuntimeError(
                "the components of a nested tensor in the jagged layout may differ in their first size alone, but got "
                f"{list(tensors[0].shape)} and {list(t.shape)}"
            )
    return build(tensors, layout or strided)


def nested_tensor(
    tensor_list: Sequence[Any],
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> NestedTensor:
    """A nested tensor of copies of these tensors (or of what `torch.tensor` takes). It is a leaf.

    Raises TypeError for something else than a list, RuntimeError for components that do not fit together.
    """
    from . import tensor

    if not isinstance(tensor_list, (list, tuple)):
        raise TypeError("nested_tensor(): only a list or tuple of tensors can be nested")
    parts = [
        (
            t.detach().to(dtype=dtype or t.dtype, device=device or t.device).clone()
            if isinstance(t, Tensor)
            else tensor(t, dtype=dtype, device=device)
        )
        for t in tensor_list
    ]
    out = _checked(parts, layout, "nested_tensor")
    return out.requires_grad_() if requires_grad else out  # type: ignore[return-value]


def as_nested_tensor(ts: Any, dtype: Any = None, device: Any = None, layout: Any = None) -> NestedTensor:
    """A nested tensor of these tensors themselves, their histories kept."""
    parts = [t.to(dtype=dtype or t.dtype, device=device or t.device) for t in ts]
    return _checked(parts, layout, "as_nested_tensor")


def to_padded_tensor(input: Any, padding: float, output_size: Any = None, out: Any = None) -> Tensor:
    """`input.to_padded_tensor(padding, output_size)`."""
    return input.to_padded_tensor(padding, output_size)


# -- what knows nested tensors ------------------------------------------------------------------

EACH = frozenset(
    (
        "abs", "add", "add_", "bfloat16", "celu", "clone", "contiguous", "conv1d", "cos", "cpu", "detach", "div", "div_", "double", "dropout",
        "elu", "erf", "exp", "float", "gelu", "half", "int", "leaky_relu", "linear", "log", "log_softmax", "logical_not", "long", "masked_fill",
        "matmul", "mul", "mul_", "multiply", "neg", "pow", "relu", "relu_", "rsub", "__rsub__", "__rtruediv__", "rms_norm", "layer_norm", "sgn",
        "sigmoid", "silu", "sin", "softmax", "softplus", "sqrt", "square", "sub", "sub_", "tanh", "tanh_", "threshold", "to", "true_divide",
        "type", "where", "eq", "ne", "lt", "le", "gt", "ge", "floor", "ceil", "round", "trunc", "reciprocal", "rsqrt", "log1p", "expm1", "clamp",
        "nan_to_num", "bitwise_not", "logical_and", "logical_or", "embedding", "isnan", "isinf", "isfinite", "scaled_dot_product_attention",
        "bmm", "fill_", "zero_", "zeros_like", "ones_like", "rand_like", "randn_like", "full_like", "empty_like", "maximum", "minimum",
        "hardtanh", "relu6", "mish", "hardswish", "hardsigmoid", "logsigmoid", "softsign", "tanhshrink", "selu",
    )
)  # fmt: skip
"""Functions that are applied to each component."""


_PAIRS = frozenset(
    (
        "add", "sub", "mul", "div", "multiply", "true_divide", "pow", "rsub", "eq", "ne", "lt", "le", "gt", "ge", "maximum", "minimum",
        "logical_and", "logical_or", "matmul",
    )
)  # fmt: skip


def _each(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    nested = [a for a in (*args, *kwargs.values()) if isinstance(a, NestedTensor)]
    first = nested[0]
    if any(len(n._parts) != len(first._parts) for n in nested):
        raise RuntimeError(
            f"{func.__name__} expected nested tensors of the same number of components, but got {[len(n._parts) for n in nested]}"
        )
    if func.__name__ in _PAIRS and any(
        isinstance(a, Tensor) and a.ndim and not isinstance(a, NestedTensor) for a in args[:2]
    ):
        own = isinstance(args[0], NestedTensor)
        raise RuntimeError(
            f"Expected both self and other to be nested, but got a {'nested' if own else 'non-nested'} self and "
            f"{'non-nested' if own else 'nested'} other"
        )
    inner = "dim" in kwargs or func.__name__ in ("softmax", "log_softmax")

    def at(value: Any, i: int) -> Any:
        return value._parts[i] if isinstance(value, NestedTensor) else value

    if inner:
        args, kwargs = _inner_dim(args, kwargs, first.ndim)
    parts = [
        func(*[at(a, i) for a in args], **{k: at(v, i) for k, v in kwargs.items()}) for i in range(len(first._parts))
    ]
    if func.__name__.endswith("_") and not func.__name__.endswith("__"):
        return first
    return build(parts, first._layout, first._ragged)


def _inner_dim(args: tuple[Any, ...], kwargs: dict[str, Any], ndim: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The same arguments with `dim` counted inside a component. Raises RuntimeError for the first dimension."""
    given = kwargs.get("dim", args[1] if len(args) > 1 else None)
    d = wrap_dim(-1 if given is None else given, ndim)
    if d == 0:
        raise RuntimeError("Cannot compute over the dimension of the components of a nested tensor")
    return args[:1], {**kwargs, "dim": d - 1}


def _total(name: str) -> Callable[..., Any]:
    """A reduction: of everything (jagged), or over dimensions inside of the components."""

    def run(t: Any, dim: Any = None, keepdim: bool = False, **kwargs: Any) -> Any:
        if dim is None:
            if t._layout is not jagged:
                raise _refusal(name)
            return getattr(t.values(), name)(**kwargs)
        dims = [wrap_dim(d, t.ndim) - 1 for d in ((dim,) if isinstance(dim, int) else dim)]
        if -1 in dims:
            raise RuntimeError(f"{name}(): cannot reduce over the dimension of the components of a nested tensor")
        parts = [getattr(p, name)(dims, keepdim=keepdim, **kwargs) for p in t._parts]
        if 0 in dims and not keepdim and t._layout is jagged:
            from . import stack

            return stack(parts)
        return build(parts, t._layout, t._ragged)

    return run


def _transpose(t: Any, dim0: int, dim1: int) -> NestedTensor:
    a, b = wrap_dim(dim0, t.ndim), wrap_dim(dim1, t.ndim)
    if 0 in (a, b):
        raise RuntimeError("Nested tensor dimension 0 cannot be transposed")
    return build(
        [p.transpose(a - 1, b - 1) for p in t._parts],
        strided if t._layout is jagged and 1 in (a, b) else t._layout,
        t._ragged,
    )


def _unsqueeze(t: Any, dim: int) -> NestedTensor:
    d = wrap_dim(dim, t.ndim + 1)
    if d == 0:
        raise RuntimeError("unsqueeze(): For nested tensors, squeezing dim 0 is not supported.")
    return build([p.unsqueeze(d - 1) for p in t._parts], t._layout, t._ragged)


def _reshape(t: Any, *shape: Any) -> NestedTensor:
    sizes = list(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else list(shape)
    if sizes[0] not in (-1, len(t._parts)):
        raise RuntimeError(
            f"view: For now nested view cannot change or infer the implicit batch dimension, but got {sizes}"
        )
    inner = sizes[1:]
    inner = [p if not isinstance(p, _Ragged) else -1 for p in inner]
    if len(inner) == t.ndim - 1:  # a size that differs is kept where -1 stands for it
        return build(
            [p.reshape([q if s == -1 else s for s, q in zip(inner, p.shape)]) for p in t._parts], t._layout, t._ragged
        )
    return build([p.reshape(inner) for p in t._parts], t._layout, t._ragged)


def _getitem(t: Any, index: Any) -> Any:
    if isinstance(index, int):
        return t._parts[index]
    if isinstance(index, tuple) and index and isinstance(index[0], int):
        return t._parts[index[0]][index[1:]]
    raise _refusal("slicing")


def _cat(tensors: Sequence[Any], dim: int = 0) -> NestedTensor:
    if dim != 0:
        raise RuntimeError("nested tensors are concatenated along dimension 0 only")
    return build([p for t in tensors for p in t._parts], tensors[0]._layout)


def _method(name: str) -> Callable[..., Any]:
    return lambda t, *args, **kwargs: getattr(NestedTensor, name)(t, *args, **kwargs)


HANDLERS: dict[str, Callable[..., Any]] = {
    **{name: _total(name) for name in ("sum", "mean", "amax", "amin")},
    **{name: _method(name) for name in ("size", "numel", "unbind", "is_contiguous", "__len__", "requires_grad_", "values")},
    "transpose": _transpose, "swapaxes": _transpose, "unsqueeze": _unsqueeze, "view": _reshape, "reshape": _reshape, "__getitem__": _getitem,
    "cat": _cat, "select": lambda t, dim, index: _getitem(t, index),
}  # fmt: skip
"""Functions that mean something of their own on nested tensors."""
