"""Sparse tensors in coordinate form (`torch.sparse_coo`): made, read, added, multiplied with dense ones, differentiated.

A sparse tensor holds two dense ones, `indices` (sparse dimensions x entries, int64) and `values` (entries x dense sizes);
everything is computed from those with the engine's operators, so gradients go to `values`. `HANDLERS` says which functions of
the surface know sparse tensors; the others refuse them as PyTorch does. Compressed layouts (CSR, CSC, BSR) are not here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import overrides
from .backends.base import Backend
from .shapes import wrap_dim
from .storage import Storage
from .surface import sparse_coo
from .tensor import Tensor


class _Extent:
    """Stands where a dense tensor has its array: a shape and nothing else."""

    __slots__ = ("shape",)

    def __init__(self, shape: tuple[int, ...]):
        self.shape = shape


class _SparseMemory(Backend):
    """The backend of sparse tensors, which has no kernels of its own; named like the device of the values."""

    def __init__(self, name: str):
        super().__init__()
        self.name = name  # type: ignore[misc]

    def fall_back(self, op: Any) -> Any:
        raise _refusal(op.name)

    def geometry(self, array: Any) -> Any:
        raise RuntimeError("sparse tensors do not have strides. Use Tensor.to_dense() first.")

    def nbytes(self, array: Any) -> int:
        return 0


_memories: dict[str, _SparseMemory] = {}


def _refusal(name: str) -> NotImplementedError:
    return NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the 'SparseCPU' backend: {name} has no sparse form here. "
        "Use Tensor.to_dense() first."
    )


class SparseTensor(Tensor):
    """A tensor of which only some entries are stored. Made by `torch.sparse_coo_tensor` and `Tensor.to_sparse`."""

    _at: Tensor
    _held: Tensor
    _unique: bool
    is_sparse = True

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        handler = HANDLERS.get(func.__name__)
        if handler is None:
            raise _refusal(func.__name__)
        with overrides.DisableTorchFunctionSubclass():
            return handler(*args, **(kwargs or {}))

    @property
    def layout(self) -> Any:
        """`torch.sparse_coo`."""
        return sparse_coo

    @property
    def requires_grad(self) -> bool:
        """Whether the values do."""
        return self._held.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._held.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Say whether backward shall compute gradients for the values."""
        self._held.requires_grad_(requires_grad)
        return self

    @property
    def grad_fn(self) -> Any:
        """The tape node that the values came from."""
        return self._held.grad_fn

    @property
    def grad(self) -> Tensor | None:
        """The gathered gradient: sparse, at the same places."""
        found = self._held.grad
        return None if found is None else build(self._at, found, tuple(self.shape), self._unique)

    def sparse_dim(self) -> int:
        """The number of dimensions that indices name."""
        return self._at.shape[0]

    def dense_dim(self) -> int:
        """The number of dimensions that every value has."""
        return self._held.ndim - 1

    def _nnz(self) -> int:
        return self._at.shape[1]

    def is_coalesced(self) -> bool:
        """Whether every place is named once, in order."""
        return self._unique

    def _indices(self) -> Tensor:
        return self._at

    def _values(self) -> Tensor:
        return self._held

    def indices(self) -> Tensor:
        """Places of the entries (sparse dimensions x entries). Raises RuntimeError unless coalesced."""
        if not self._unique:
            raise RuntimeError("Cannot get indices on an uncoalesced tensor, please call .coalesce() first")
        return self._at

    def values(self) -> Tensor:
        """The entries. Raises RuntimeError unless coalesced."""
        if not self._unique:
            raise RuntimeError("Cannot get values on an uncoalesced tensor, please call .coalesce() first")
        return self._held

    def coalesce(self) -> SparseTensor:
        """The same tensor with every place named once, in order; entries of one place are added."""
        if self._unique:
            return self
        places = _flat(self._at, tuple(self.shape))
        kept, inverse = places.unique(return_inverse=True)
        sums = self._held.new_zeros((kept.numel(), *self._held.shape[1:])).index_add(0, inverse, self._held)
        return build(_unflat(kept, tuple(self.shape[: self.sparse_dim()])), sums, tuple(self.shape), True)

    def to_dense(self, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
        """All entries, with zeros where none is stored."""
        shape, n = tuple(self.shape), self.sparse_dim()
        total = 1
        for size in shape[:n]:
            total *= size
        flat = self._held.new_zeros((total, *shape[n:]))
        out = flat.index_add(0, _flat(self._at, shape), self._held).view(shape)
        return out if dtype is None else out.to(dtype)

    def to_sparse(self, *args: Any, **kwargs: Any) -> Tensor:
        """Itself."""
        return self

    def numpy(self, *, force: bool = False) -> Any:
        """Raises TypeError: numpy has no sparse arrays."""
        raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")

    def _host(self) -> Any:
        raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")

    def item(self) -> Any:
        """The one entry as a number."""
        return self.to_dense().item()

    def tolist(self) -> Any:
        """Raises TypeError, as `numpy` does."""
        return self.numpy()

    def detach(self) -> Tensor:
        """The same entries without a history."""
        return build(self._at, self._held.detach(), tuple(self.shape), self._unique)

    def __repr__(self, *, tensor_contents: str | None = None) -> str:
        pad = " " * 7

        def block(name: str, t: Tensor) -> str:
            head = f"{name}="
            return head + repr(t.detach()).replace("\n", "\n" + pad + " " * len(head))

        dtype = (
            ""
            if str(self._held.dtype) in ("torch.float32", "torch.int64", "torch.bool")
            else f", dtype={self._held.dtype}"
        )
        values = block("values", self._held)
        if dtype:
            values = values.replace(f", dtype={self._held.dtype}", "")
        node = self.grad_fn
        tail = (
            f", grad_fn=<{node.name()}>" if node is not None else ", requires_grad=True" if self.requires_grad else ""
        )
        return (
            f"tensor({block('indices', self._at)},\n{pad}{values},\n{pad}size={tuple(self.shape)}, nnz={self._nnz()}"
            f"{dtype}, layout=torch.sparse_coo{tail})"
        )


def build(indices: Tensor, values: Tensor, shape: tuple[int, ...], coalesced: bool = False) -> SparseTensor:
    """A sparse tensor of parts that are known to fit."""
    overrides.install()
    out = object.__new__(SparseTensor)
    out._data = _Extent(tuple(shape))
    out._dtype = values._dtype
    name = values._storage.backend.name
    memory = _memories.setdefault(name, _SparseMemory(name))
    out._storage = Storage(memory, out._data)
    out._at, out._held, out._unique = indices, values, coalesced
    return out


def _flat(indices: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The places as numbers of rows, the last sparse dimension running fastest."""
    out = indices.new_zeros(indices.shape[1])
    for d in range(indices.shape[0]):
        out = out * shape[d] + indices[d]
    return out


def _unflat(places: Tensor, sizes: tuple[int, ...]) -> Tensor:
    from . import stack

    rows = []
    for size in reversed(sizes):
        rows.append(places % size)
        places = places.div(size, rounding_mode="floor")
    return stack(rows[::-1]) if rows else places.new_zeros((0, places.numel()))


def sparse_coo_tensor(
    indices: Any,
    values: Any = None,
    size: Sequence[int] | None = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> SparseTensor:
    """A sparse tensor with `values[i]` at the place `indices[:, i]`; values of one place are added up.

    `size` is the smallest that fits, unless given. A size alone, in the place of `indices`, makes an empty one. Raises
    RuntimeError for indices that are no (dimensions x entries) integers, that do not fit the size, or are negative.
    """
    from . import empty, float32, int64, tensor

    if values is None:
        shape = tuple(indices if size is None else size)
        at = empty((len(shape), 0), dtype=int64, device=device)
        return build(at, empty((0,), dtype=dtype or float32, device=device), shape, False)
    at = indices if isinstance(indices, Tensor) else tensor(indices)
    held = values if isinstance(values, Tensor) else tensor(values)
    if at.dtype.is_floating_point or at.dtype.is_complex:
        raise RuntimeError(f"indices must be an integer tensor, but got {at.dtype}")
    if at.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(at.shape)}")
    if held.ndim < 1 or held.shape[0] != at.shape[1]:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {at.shape[1]}, nnz from values: "
            f"{held.shape[0] if held.ndim else 1}"
        )
    at = at.to(device=device if device is not None else held.device, dtype=int64)
    if dtype is not None or device is not None:
        held = held.to(dtype=dtype or held.dtype, device=device if device is not None else held.device)
    n = at.shape[0]
    highest = [int(v) for v in at.amax(1).tolist()] if at.shape[1] else [-1] * n
    if at.shape[1] and int(at.min().item()) < 0:
        bad = int(at.amin(1).argmin().item())
        raise RuntimeError(f"found negative index {int(at.min().item())} for dim {bad}")
    shape = (*[h + 1 for h in highest], *held.shape[1:]) if size is None else tuple(int(s) for s in size)
    if len(shape) != n + held.ndim - 1 or tuple(shape[n:]) != tuple(held.shape[1:]):
        raise RuntimeError(
            f"number of dimensions must be sparse_dim ({n}) + dense_dim ({held.ndim - 1}), with the sizes of the values, but got {list(shape)}"
        )
    for d in range(n):
        if highest[d] >= shape[d]:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {d}, size is {shape[d]} but found index {highest[d]}"
            )
    if requires_grad:
        held = held.detach().requires_grad_()
    return build(at, held, shape, bool(is_coalesced))


def to_sparse(self: Tensor, sparse_dim: int | None = None, *, layout: Any = None, **unused: Any) -> Tensor:
    """The entries that are not zero, in coordinate form; `sparse_dim` leading dimensions are indexed (all by default)."""
    if layout is not None and layout is not sparse_coo:
        raise NotImplementedError(f"to_sparse(): layout {layout} is not supported; only torch.sparse_coo is")
    n = self.ndim if sparse_dim is None else sparse_dim
    if not 0 <= n <= self.ndim or (n == 0 and self.ndim):
        raise RuntimeError(f"sparse_dim must be in [1, {self.ndim}], but got {n}")
    picked = self.detach() != 0
    if n < self.ndim:
        picked = picked.flatten(n).any(-1)
    at = picked.nonzero().t().contiguous()
    return build(at, self[tuple(at)], tuple(self.shape), True)


def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """A dense tensor is itself."""
    return self if dtype is None else self.to(dtype)


def _only_sparse(name: str) -> Callable[..., Any]:
    def method(self: Tensor, *args: Any) -> Any:
        raise RuntimeError(f"{name} expected sparse coordinate tensor layout but got Strided")

    method.__name__ = name
    return method


# -- what knows sparse tensors ------------------------------------------------------------------


def _with_values(t: SparseTensor, values: Tensor, coalesced: bool | None = None) -> SparseTensor:
    return build(t._at, values, tuple(t.shape), t._unique if coalesced is None else coalesced)


def _on_values(name: str) -> Callable[..., Any]:
    """A function that keeps zeros: it is applied to the entries of the coalesced tensor."""

    def run(t: SparseTensor, *args: Any, **kwargs: Any) -> SparseTensor:
        t = t.coalesce()
        return _with_values(t, getattr(t._held, name)(*args, **kwargs))

    return run


def _add(a: Any, b: Any, *, alpha: Any = 1) -> Tensor:
    from . import cat

    if isinstance(a, SparseTensor) and isinstance(b, SparseTensor):
        if a.shape != b.shape:
            raise RuntimeError(
                f"add: expected sizes of 'self' and 'other' to match, but {list(a.shape)} != {list(b.shape)}"
            )
        held = cat([a._held, b._held if alpha == 1 else b._held * alpha])
        return build(cat([a._at, b._at], 1), held, tuple(a.shape)).coalesce()
    if isinstance(a, SparseTensor):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    return a + b.to_dense() * alpha


def _sub(a: Any, b: Any, *, alpha: Any = 1) -> Tensor:
    return _add(a, b, alpha=-alpha)


def _mul(a: Any, b: Any) -> Tensor:
    if not isinstance(a, SparseTensor):
        a, b = b, a
    if isinstance(b, SparseTensor):
        a, dense = a.coalesce(), b.to_dense()
        return _with_values(a, a._held * dense[tuple(a._at)])
    if isinstance(b, Tensor) and b.ndim:
        a = a.coalesce()
        return _with_values(a, a._held * b.expand(tuple(a.shape))[tuple(a._at)])
    return _with_values(a, a._held * b)


def _div(a: Any, b: Any, **kwargs: Any) -> Tensor:
    if not isinstance(a, SparseTensor) or (isinstance(b, Tensor) and b.ndim):
        raise RuntimeError("Sparse division requires a scalar or zero-dim dense tensor divisor")
    return _with_values(a, a._held.div(b, **kwargs))


def mm(sparse: Any, dense: Any, reduce: str = "sum") -> Tensor:
    """The product of two matrices of which at least one is sparse; sparse when both are.

    Raises RuntimeError for other than two dimensions or sizes that do not fit.
    """
    if not isinstance(sparse, SparseTensor) and not isinstance(dense, SparseTensor):
        return sparse.mm(dense)
    if reduce != "sum":
        raise NotImplementedError(f"sparse.mm: reduce={reduce!r} is not supported; only 'sum' is")
    if sparse.ndim != 2 or dense.ndim != 2:
        raise RuntimeError(f"mm: expected 2-D matrices, but got {sparse.ndim}-D and {dense.ndim}-D")
    if sparse.shape[1] != dense.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({sparse.shape[0]}x{sparse.shape[1]} and {dense.shape[0]}x{dense.shape[1]})"
        )
    if not isinstance(sparse, SparseTensor):
        return mm(_transposed(dense, 0, 1), sparse.t()).t()
    if isinstance(dense, SparseTensor):
        return to_sparse(mm(sparse, dense.to_dense()))
    rows, columns = sparse._at
    out = dense.new_zeros((sparse.shape[0], dense.shape[1]))
    return out.index_add(0, rows, sparse._held.unsqueeze(1) * dense[columns])


def _matmul(a: Any, b: Any) -> Tensor:
    return _mv(a, b) if b.ndim == 1 else mm(a, b)


def _mv(a: Any, b: Any) -> Tensor:
    return mm(a, b.unsqueeze(1)).squeeze(1)


def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)` with a sparse `mat1`."""
    return input * beta + mm(mat1, mat2) * alpha


def sum(input: Any, dim: Any = None, dtype: Any = None) -> Tensor:
    """The sum of all entries (dense), or over dimensions: sparse while a sparse dimension is left."""
    held = input._held if dtype is None else input._held.to(dtype)
    if dim is None:
        return held.sum()
    given = (dim,) if isinstance(dim, int) else dim
    dims, n = sorted({wrap_dim(d, input.ndim) for d in given}), input.sparse_dim()
    inner = [d - n + 1 for d in dims if d >= n]
    if inner:
        held = held.sum(inner)
    kept = [d for d in range(n) if d not in dims]
    shape = tuple(s for d, s in enumerate(input.shape) if d not in dims)
    if not kept:
        return held.sum(0)
    return build(input._at[kept], held, shape, False).coalesce()


def softmax(input: Any, dim: int, *, dtype: Any = None) -> Tensor:
    """Softmax over the stored entries of a sparse dimension; places without an entry count as minus infinity."""
    from . import full

    t = input.coalesce()
    d = wrap_dim(dim, t.ndim)
    held = t._held if dtype is None else t._held.to(dtype)
    sizes = [s for i, s in enumerate(t.shape) if i != d]
    groups = _flat(t._at[[i for i in range(t.sparse_dim()) if i != d]], tuple(sizes))
    count = 1
    for s in sizes[: t.sparse_dim() - 1]:
        count *= s
    lowest = full((count,), float("-inf"), dtype=held.dtype, device=held.device)
    top = lowest.scatter_reduce(0, groups, held.detach(), "amax")
    grown = (held - top[groups]).exp()
    total = held.new_zeros(count).index_add(0, groups, grown)
    return _with_values(t, grown / total[groups])


def log_softmax(input: Any, dim: int, *, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`."""
    out: Any = softmax(input, dim, dtype=dtype)
    return _with_values(out, out._held.log())


def _transposed(t: SparseTensor, dim0: int, dim1: int) -> SparseTensor:
    a, b = wrap_dim(dim0, t.ndim), wrap_dim(dim1, t.ndim)
    if max(a, b) >= t.sparse_dim():
        raise _refusal("transpose of a dense dimension")
    order, shape = list(range(t.sparse_dim())), list(t.shape)
    order[a], order[b] = order[b], order[a]
    shape[a], shape[b] = shape[b], shape[a]
    return build(t._at[order], t._held, tuple(shape), False)


def _t(t: SparseTensor) -> SparseTensor:
    if t.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {t.ndim}D")
    return _transposed(t, 0, 1) if t.ndim == 2 else t


def _getitem(t: SparseTensor, index: Any) -> Tensor:
    for i in index if isinstance(index, tuple) else (index,):
        if not isinstance(i, int):
            raise _refusal("slicing")
        hits = (t._at[0] == (i + t.shape[0] if i < 0 else i)).nonzero().flatten()
        if t.sparse_dim() == 1:
            return t._held[hits].sum(0)
        t = build(t._at[1:].index_select(1, hits), t._held[hits], tuple(t.shape[1:]), t._unique)
    return t


def _cat(tensors: Sequence[Any], dim: int = 0, *, axis: int | None = None) -> Tensor:
    from . import cat

    if not all(isinstance(t, SparseTensor) for t in tensors):
        raise RuntimeError("Concatenating sparse tensors, but a dense tensor was found")
    d = wrap_dim(dim if axis is None else axis, tensors[0].ndim)
    at, start = [], 0
    for t in tensors:
        moved = t._at.clone()
        moved[d] += start
        at.append(moved)
        start += t.shape[d]
    shape = list(tensors[0].shape)
    shape[d] = start
    return build(cat(at, 1), cat([t._held for t in tensors]), tuple(shape))


def _to(t: SparseTensor, *args: Any, **kwargs: Any) -> SparseTensor:
    held = t._held.to(*args, **kwargs)
    return t if held is t._held else build(t._at.to(held.device), held, tuple(t.shape), t._unique)


def _converted(name: str) -> Callable[..., Any]:
    return lambda t, *args, **kwargs: _with_values(t, getattr(t._held, name)(*args, **kwargs))


def _unsqueeze(t: SparseTensor, dim: int) -> SparseTensor:
    from . import cat

    d = wrap_dim(dim, t.ndim + 1)
    at = cat([t._at[:d], t._at.new_zeros((1, t._nnz())), t._at[d:]])
    return build(at, t._held, (*t.shape[:d], 1, *t.shape[d:]), t._unique)


def _plain(name: str) -> Callable[..., Any]:
    """A method of the class itself, where that is what the function does."""
    return lambda t, *args, **kwargs: getattr(SparseTensor, name)(t, *args, **kwargs)


_ZERO_KEEPING = (
    "abs", "asin", "asinh", "atan", "atanh", "ceil", "deg2rad", "erf", "erfinv", "expm1", "floor", "frac", "isinf", "isnan", "log1p", "neg",
    "positive", "rad2deg", "relu", "round", "sgn", "sign", "signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc", "pow",
    "nan_to_num", "isposinf", "isneginf",
)  # fmt: skip

HANDLERS: dict[str, Callable[..., Any]] = {
    **{name: _on_values(name) for name in _ZERO_KEEPING},
    **{name: _converted(name) for name in ("float", "double", "half", "bfloat16", "int", "long", "clone", "conj")},
    "add": _add, "sub": _sub, "subtract": _sub, "__rsub__": lambda a, b: _sub(b, a), "mul": _mul, "multiply": _mul, "div": _div, "divide": _div,
    "true_divide": _div, "mm": mm, "spmm": mm, "matmul": _matmul, "__rmatmul__": lambda a, b: _matmul(b, a), "mv": _mv, "addmm": addmm,
    "sum": sum, "t": _t, "transpose": _transposed, "swapaxes": _transposed, "T": _t, "__getitem__": _getitem,
    "select": lambda t, d, i: _getitem(t, i) if d == 0 else _getitem(_transposed(t, 0, d), i), "cat": _cat, "concat": _cat,
    "stack": lambda tensors, dim=0: _cat([_unsqueeze(t, dim) for t in tensors], dim),
    "to": _to, "cpu": lambda t: _to(t, "cpu"), "unsqueeze": _unsqueeze, "detach": _plain("detach"), "to_sparse": _plain("to_sparse"),
    "to_dense": _plain("to_dense"), "size": _plain("size"), "numel": _plain("numel"), "__len__": lambda t: t.shape[0],
    "__eq__": lambda a, b: NotImplemented,
}  # fmt: skip
"""What a function of the surface does with a sparse tensor, by the function's name."""

spmm = mm
METHODS: dict[str, Callable[..., Any]] = {
    "to_sparse": to_sparse, "to_sparse_coo": to_sparse, "to_dense": to_dense,
    **{name: _only_sparse(name) for name in ("indices", "values", "coalesce", "is_coalesced", "sparse_dim", "dense_dim")},
    **{name: _only_sparse(name) for name in ("_nnz", "_indices", "_values")},
}  # fmt: skip
"""Methods that dense tensors get."""
