"""The Tensor: a window on a storage, with its place on the tape.

Here stand the object itself, its facts (shape, dtype, device, gradient), conversion to Python and numpy, and the
autograd surface.  Operators are not written here: `engine/__init__.py` hangs them on the class from the operator table.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from . import dtypes, module_path
from .device import device as Device
from .shapes import Size, is_contiguous, numel, wrap_dim
from .state import state
from .storage import Storage

_new = object.__new__


class Tensor:
    """A multi-dimensional array of one dtype on one device, as in PyTorch.

    The class attributes below are the state of a fresh tensor that nothing was recorded for.
    """

    __array_priority__ = 1000
    _data: Any
    _dtype: dtypes.dtype
    _storage: Storage
    _strides: tuple[int, ...] | None = None
    _offset: int = 0
    _requires_grad: bool = False
    _grad_fn: Any = None
    _output_nr: int = 0
    _grad: Tensor | None = None
    _base: Tensor | None = None
    _seen_version: int = 0
    _creation: str = ""
    _maker: str = ""
    _label: str = ""
    _accumulator: Any = None
    _hooks: list[Callable[..., Any]] | None = None
    _retains: bool = False

    if TYPE_CHECKING:
        # The operator table hangs these on the class (engine/__init__.py); checkers are told that they are there.
        def __getattr__(self, name: str) -> Any: ...
        def __getitem__(self, index: Any) -> Tensor: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...
        def __add__(self, other: Any) -> Tensor: ...
        def __radd__(self, other: Any) -> Tensor: ...
        def __sub__(self, other: Any) -> Tensor: ...
        def __rsub__(self, other: Any) -> Tensor: ...
        def __mul__(self, other: Any) -> Tensor: ...
        def __rmul__(self, other: Any) -> Tensor: ...
        def __truediv__(self, other: Any) -> Tensor: ...
        def __rtruediv__(self, other: Any) -> Tensor: ...
        def __floordiv__(self, other: Any) -> Tensor: ...
        def __mod__(self, other: Any) -> Tensor: ...
        def __pow__(self, other: Any) -> Tensor: ...
        def __rpow__(self, other: Any) -> Tensor: ...
        def __matmul__(self, other: Any) -> Tensor: ...
        def __and__(self, other: Any) -> Tensor: ...
        def __rand__(self, other: Any) -> Tensor: ...
        def __or__(self, other: Any) -> Tensor: ...
        def __ror__(self, other: Any) -> Tensor: ...
        def __xor__(self, other: Any) -> Tensor: ...
        def __lshift__(self, other: Any) -> Tensor: ...
        def __rshift__(self, other: Any) -> Tensor: ...
        def __lt__(self, other: Any) -> Tensor: ...
        def __le__(self, other: Any) -> Tensor: ...
        def __gt__(self, other: Any) -> Tensor: ...
        def __ge__(self, other: Any) -> Tensor: ...
        def __eq__(self, other: Any) -> Tensor: ...  # type: ignore[override]
        def __ne__(self, other: Any) -> Tensor: ...  # type: ignore[override]
        def __neg__(self) -> Tensor: ...
        def __pos__(self) -> Tensor: ...
        def __abs__(self) -> Tensor: ...
        def __invert__(self) -> Tensor: ...

    def __new__(cls, *args: Any, **kwargs: Any) -> Tensor:
        return _new(cls)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        from .overrides import watch

        watch(cls)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        """Run a function of the surface on tensors of a derived class; see `torch.overrides`."""
        from .overrides import tensor_default

        return tensor_default(cls, func, types, args, kwargs)

    def as_subclass(self, cls: type[Tensor]) -> Tensor:
        """The same tensor, history and all, as an object of a class derived from Tensor."""
        if not (isinstance(cls, type) and issubclass(cls, Tensor)):
            raise TypeError(
                f"as_subclass(): argument 'cls' (position 1) must be a class derived from Tensor, not {cls!r}"
            )
        out = _new(cls)
        _adopt(out, self)
        return out

    def __init__(self, *args: Any, device: Any = None) -> None:
        if not args and not hasattr(self, "_data"):
            args = (0,)
        if args:
            from .ops.creation import legacy_tensor

            _adopt(self, legacy_tensor(args, device))

    # -- facts ----------------------------------------------------------------------------------

    @property
    def shape(self) -> Size:
        """The sizes of all dimensions."""
        return Size(self._data.shape)

    @property
    def dtype(self) -> dtypes.dtype:
        """The element type."""
        return self._dtype

    @property
    def device(self) -> Device:
        """Where the elements are."""
        inner = getattr(self._data, "inner", None)  # a batched tensor is where the one inside it is
        return _device(self._storage.backend.name) if inner is None else inner.device

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._data.shape)

    def dim(self) -> int:
        """The number of dimensions."""
        return len(self._data.shape)

    ndimension = dim

    def size(self, dim: int | None = None) -> Any:
        """All sizes, or that of one dimension."""
        if dim is None:
            return self.shape
        return self._data.shape[wrap_dim(dim, self.ndim)]

    def numel(self) -> int:
        """The number of elements."""
        return numel(self._data.shape)

    nelement = numel

    def stride(self, dim: int | None = None) -> Any:
        """Steps between neighbours in each dimension, in elements."""
        if self._strides is None:
            self._strides = self._storage.backend.geometry(self._data)[0]
        return self._strides if dim is None else self._strides[wrap_dim(dim, self.ndim)]

    def storage_offset(self) -> int:
        """Where the first element lies in the storage, in elements."""
        return self._offset

    def element_size(self) -> int:
        """Bytes of one element."""
        return self._dtype.itemsize

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self._dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self._dtype.itemsize * self.numel()

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Whether the elements lie in row-major order without gaps."""
        return is_contiguous(self._data.shape, self.stride())

    def is_floating_point(self) -> bool:
        """Whether the dtype is a real floating-point type."""
        return self._dtype.is_floating_point

    def is_complex(self) -> bool:
        """Whether the dtype is complex."""
        return self._dtype.is_complex

    def is_signed(self) -> bool:
        """Whether the dtype can hold negative numbers."""
        return self._dtype.is_signed

    def data_ptr(self) -> int:
        """Address (CPU) or handle of the first element; equal for tensors that start at the same memory."""
        pointer = getattr(self._data, "ctypes", None)
        return pointer.data if pointer is not None else id(self._storage) + self._offset * self._dtype.itemsize

    @property
    def is_cuda(self) -> bool:
        """Always False: this engine has no CUDA device."""
        return False

    @property
    def is_cpu(self) -> bool:
        """Whether the elements are in the CPU's memory."""
        return self._storage.backend.name == "cpu"

    @property
    def _is_host(self) -> bool:
        """Whether its array is numpy's, so that its values can be looked at without a copy or a wait."""
        return self._storage.backend.is_host

    is_sparse = is_nested = is_quantized = is_mps = is_meta = False
    names: tuple[None, ...] = ()

    @property
    def layout(self) -> Any:
        """Always `torch.strided`."""
        from .surface import strided

        return strided

    def is_same_size(self, other: Tensor) -> bool:
        """Whether both have the same shape."""
        return self.shape == other.shape

    def get_device(self) -> int:
        """The index of the device; -1 for the CPU."""
        return -1 if self.is_cpu else 0

    # -- the tape -------------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether backward computes a gradient for it."""
        return self._requires_grad or (self._base is not None and base_needs_grad(self))

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Say whether backward shall compute a gradient; raises RuntimeError for non-leaves and non-float dtypes."""
        if not requires_grad and self.grad_fn is not None:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
                "subgraph that doesn't require differentiation use var_no_grad = var.detach()."
            )
        if requires_grad and self._dtype.category < dtypes.FLOATING:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if requires_grad and self._storage.version < 0 and not state.inference:
            raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
        if type(self) is not Tensor and self._requires_grad is not requires_grad:
            module_path.structure_changed()  # a parameter is frozen or thawed
        self._requires_grad = bool(requires_grad)
        return self

    @property
    def grad_fn(self) -> Any:
        """The tape node it came from; None for leaves."""
        if not self._requires_grad and (self._base is None or not self._base._requires_grad):
            return None
        if self._base is not None and self._seen_version != self._storage.version:
            return gradient_edge(self)[0] if self._base._grad_fn is not None else self._grad_fn
        return self._grad_fn

    @property
    def is_leaf(self) -> bool:
        """Whether it was made by the user rather than by a recorded operator."""
        return self.grad_fn is None

    @property
    def output_nr(self) -> int:
        """Which output of its tape node it is."""
        return self._output_nr

    @property
    def grad(self) -> Tensor | None:
        """The gathered gradient of a leaf (or of a tensor that retains it), None before backward."""
        if self._grad is None and self._requires_grad and not self._retains and self.grad_fn is not None:
            import warnings

            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
                "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf "
                "Tensor, use .retain_grad() on the non-leaf Tensor.",
                stacklevel=2,
            )
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(
                    f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}"
                )
            if value is self:
                raise RuntimeError("can't assign Variable as its own grad")
            if value._dtype is not self._dtype:
                from .dispatch import type_name

                raise RuntimeError(
                    f"assigned grad has data of a different type: expected {type_name(self._dtype)}, got {type_name(value._dtype)}"
                )
            if value.device != self.device:
                raise RuntimeError("assigned grad has data located on a different device")
            if value.shape != self.shape:
                raise RuntimeError(
                    f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size '{list(self.shape)}'. "
                    "Please ensure that the gradient and the tensor are the same size"
                )
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def _version(self) -> int:
        """The number of in-place writes to its storage. Raises RuntimeError for an inference tensor."""
        if self._storage.version < 0:
            raise RuntimeError("Inference tensors do not track version counter.")
        return self._storage.version

    def _is_view(self) -> bool:
        return self._base is not None

    def is_inference(self) -> bool:
        """Whether it was made in inference mode."""
        return self._storage.version < 0

    @property
    def data(self) -> Tensor:
        """The same elements, unknown to the tape; writes to it are not noticed by backward."""
        out = self.detach_shallow()
        if type(self) is not Tensor:
            out = _new(Tensor)
            _share(out, self)
        out._storage = _untracked(self._storage)
        return out

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if type(self) is not Tensor:
            module_path.structure_changed()  # a parameter may have another type or shape from now on
        self._data, self._dtype, self._storage = value._data, value._dtype, value._storage
        self._strides, self._offset = value._strides, value._offset

    def detach_shallow(self) -> Tensor:
        """The same elements without a history, sharing storage and version."""
        out = _new(Tensor)
        _share(out, self)
        return out

    def detach(self) -> Tensor:
        """The same elements without a history; a view, so that in-place writes are noticed."""
        out = self.detach_shallow()
        if state.modes:
            return state.modes[-1].detach(self, out)
        return out

    def detach_(self) -> Tensor:
        """Cut this tensor off its history in place; raises RuntimeError for a view."""
        if self._base is not None and self._base._requires_grad:
            raise RuntimeError("Can't detach views in-place. Use detach() instead.")
        self._grad_fn = None
        self._requires_grad = False
        self._output_nr = 0
        return self

    def _fresh_copy(self) -> Tensor:
        return wrap(self._storage.backend.cast(self._data, self._dtype), self._dtype, self._storage.backend)

    def backward(
        self, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
    ) -> None:
        """Add the gradient of this tensor to the `.grad` of the leaves it came from.

        `gradient` (same shape) is needed unless this has one element. Raises RuntimeError otherwise.
        """
        from .autograd import backward

        backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def register_hook(self, hook: Callable[[Tensor], Any]) -> Any:
        """Call `hook(grad)` when its gradient is computed; a returned tensor replaces the gradient."""
        from .autograd.node import Handle

        if not self._requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        node, number = gradient_edge(self)
        if self._hooks is None:
            self._hooks = []
        node.register_tensor_hooks(number, self._hooks)
        return Handle(self._hooks, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> Any:
        """Call `hook(tensor)` after backward has added to `.grad`; for leaves only, RuntimeError otherwise."""
        from .autograd.node import Handle

        if not self._requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self.grad_fn is not None:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        node = gradient_edge(self)[0]
        self.__dict__["_kept_accumulator"] = node  # hooks live as long as the tensor
        return Handle(node.post_hooks, hook)

    def retain_grad(self) -> None:
        """Keep `.grad` of this non-leaf in backward."""
        if not self._requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if self.grad_fn is None or self._retains:
            return
        self._retains = True
        node, number = gradient_edge(self)
        node.retain(number, weakref.ref(self))

    @property
    def retains_grad(self) -> bool:
        """Whether this non-leaf keeps its gradient."""
        return self._retains

    # -- to Python and numpy --------------------------------------------------------------------

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """The elements as a numpy array that shares memory (CPU); `force` detaches and copies from a device.

        Raises RuntimeError for a tensor that needs a gradient, TypeError for one on another device.
        """
        if self._dtype.rounds:
            raise TypeError("Got unsupported ScalarType BFloat16")
        if force:
            return self.detach_shallow()._host()
        if self._requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if not self.is_cpu:
            raise TypeError(
                f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
            )
        return self._host()

    def _host(self) -> np.ndarray:
        """The elements in numpy's memory, shared on the CPU."""
        return self._data if self._is_host else self._storage.backend.download(self._data, self._dtype)

    def item(self) -> Any:
        """The one element as a Python number; raises RuntimeError where there is not exactly one."""
        if self.numel() != 1:
            raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
        if state.modes:
            return state.modes[-1].item(self)
        if self._storage.backend.lifts:
            return self._storage.backend.read_number(self)
        return self._host().item()

    async def item_async(self) -> Any:
        """`item()` that leaves the waiting to the event loop: `await t.item_async()`.

        It works everywhere; it is needed in browsers whose Python can neither block nor suspend for a value on the GPU.
        """
        if self._is_host or state.modes or self._storage.backend.lifts or self.numel() != 1:
            return self.item()
        return (await self._storage.backend.download_async(self._data, self._dtype)).item()

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return self._host().tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        out = self.numpy()
        return out.astype(dtype) if dtype is not None and out.dtype != dtype else (out.copy() if copy else out)

    def __array_wrap__(self, array: np.ndarray, context: Any = None, return_scalar: bool = False) -> Any:
        from .ops.creation import from_numpy

        return from_numpy(np.asarray(array))

    def __bool__(self) -> bool:
        n = self.numel()
        if n != 1:
            what = "no values" if n == 0 else "more than one value"
            raise RuntimeError(f"Boolean value of Tensor with {what} is ambiguous")
        return bool(self.item())

    def _only(self) -> Any:
        """The value of a tensor of one element, for Python's conversions; raises ValueError for any other."""
        if self.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.item()

    def __float__(self) -> float:
        return float(self._only())

    def __int__(self) -> int:
        return int(self._only())

    def __complex__(self) -> complex:
        return complex(self._only())

    def __index__(self) -> int:
        if self._dtype.category > dtypes.INTEGRAL or self.numel() != 1 or (self._dtype is dtypes.bool_ and self.ndim):
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __len__(self) -> int:
        if not self._data.shape:
            raise TypeError("len() of a 0-d tensor")
        return self._data.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self._data.shape:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __contains__(self, element: Any) -> bool:
        if not isinstance(element, (Tensor, int, float, bool, complex)):
            raise RuntimeError(
                f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}."
            )
        return bool((self == element).any().item())

    __hash__ = object.__hash__

    def __repr__(self, *, tensor_contents: str | None = None) -> str:
        from .printing import tensor_repr

        return tensor_repr(self)

    def __format__(self, spec: str) -> str:
        if not self._data.shape and type(self) is Tensor:
            return format(self.item(), spec)
        return object.__format__(self, spec)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        from .display import tensor_bundle

        return tensor_bundle(self)

    # -- copies ---------------------------------------------------------------------------------

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if self.grad_fn is not None:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment."
            )
        if id(self) in memo:
            return memo[id(self)]
        import copy

        out = _new(type(self))
        memo[id(self)] = out
        _adopt(out, self.detach_shallow()._fresh_copy())
        out._requires_grad = self._requires_grad
        if self._grad is not None:
            out._grad = copy.deepcopy(self._grad, memo)
        for name, value in self.__dict__.items():
            if not name.startswith("_"):
                out.__dict__[name] = copy.deepcopy(value, memo)
        return out

    def __reduce_ex__(self, protocol: Any) -> tuple:
        extra = {k: v for k, v in self.__dict__.items() if not k.startswith("_")}
        return (_rebuild, (type(self), self.detach_shallow()._host().copy(), self._requires_grad, extra, self._dtype))


def _rebuild(cls: type[Tensor], array: np.ndarray, requires_grad: bool, extra: dict[str, Any], dtype: Any) -> Tensor:
    from .ops.creation import from_numpy

    out = _new(cls)
    _adopt(out, from_numpy(array))
    out._dtype = dtype
    out._requires_grad = requires_grad
    out.__dict__.update(extra)
    return out


def wrap(data: Any, dtype: dtypes.dtype, backend: Any) -> Tensor:
    """A tensor that owns `data`, fresh memory of `backend`."""
    if not data.shape:
        data = backend.own(data)
    if dtype.rounds:
        data = backend.rounded(data, dtype)
    out = _new(Tensor)
    out._data = data
    out._dtype = dtype
    out._storage = Storage(backend, data)
    return out


def _share(out: Tensor, source: Tensor) -> None:
    out._data, out._dtype, out._storage = source._data, source._dtype, source._storage
    out._strides, out._offset = source._strides, source._offset


def _adopt(out: Tensor, source: Tensor) -> None:
    """Make `out` the same tensor as `source`, history and all."""
    _share(out, source)
    out._requires_grad, out._grad_fn, out._output_nr = source._requires_grad, source._grad_fn, source._output_nr
    out._base, out._seen_version = source._base, source._seen_version


def _untracked(storage: Storage) -> Storage:
    """A storage on the same memory with a version counter of its own."""
    out = Storage(storage.backend, storage.data)
    out._root = storage.root
    return out


def _device(name: str) -> Device:
    found = _devices.get(name)
    if found is None:
        found = _devices[name] = Device(name, 0 if name != "cpu" else None)
    return found


_devices: dict[str, Device] = {}


def base_needs_grad(t: Tensor) -> bool:
    """Whether a view came to need a gradient because its base did, by a write through another view."""
    base = t._base
    if (
        not t._requires_grad
        and base is not None
        and base._grad_fn is not None
        and t._seen_version != t._storage.version
    ):
        if t._creation != "no_grad":
            t._requires_grad = True
    return t._requires_grad


def gradient_edge(t: Tensor) -> tuple[Any, int]:
    """The tape node that the gradient of `t` goes to, and which of its outputs `t` is.

    For a leaf it is the node that gathers `.grad`; a view whose memory was written since gets a fresh node from its base.
    """
    if t._base is not None and t._seen_version != t._storage.version and t._base._grad_fn is not None:
        from .autograd.slices import regenerate

        regenerate(t)
    node = t._grad_fn
    if node is not None:
        return node, t._output_nr
    node = t._accumulator() if t._accumulator is not None else None
    if node is None:
        from .autograd.run import AccumulateGrad

        node = AccumulateGrad(t)
        t._accumulator = weakref.ref(node)
        if t._hooks:
            node.register_tensor_hooks(0, t._hooks)
    return node, 0
