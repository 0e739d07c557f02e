"""What a device must be able to do for the engine, and the registry of those that can.

A backend owns *arrays*: opaque handles of its own (numpy's `ndarray` on the CPU) that must have a `.shape`
tuple.  Kernels are plain functions registered by primitive name; they receive arrays where the operator
has tensors and the remaining arguments as they are, and return fresh arrays.  Views, strides and storages
are the engine's business: a backend only cuts an array out of the same memory when `view` asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ..dtypes import iinfo
from ..state import state

if TYPE_CHECKING:
    import numpy as np

    from ..dtypes import dtype as DType
    from ..ops.table import Op

Array = Any
Kernel = Callable[..., Any]


class Backend:
    """Base class of devices.

    Subclasses set `name` and implement the methods below; kernels come from `register` or from `generate`.
    """

    name: ClassVar[str] = ""
    wide: DType | None = None
    """The dtype in which functions of integers are computed before they are rounded, where that is not the result's."""
    is_host: ClassVar[bool] = False
    """Whether its arrays are numpy's."""
    fuses: bool | None = None
    """Whether formulas that have a kernel (softmax) run by it; None: where this backend has registered that kernel."""
    shares_out: ClassVar[bool] = False
    """Whether pointwise kernels take `out=`, an array to write into (which may be the first input)."""
    lifts: ClassVar[bool] = False
    """Whether it holds no values, so that a real tensor becomes a constant (`lift`) where it meets its tensors."""
    recorder: Any = None
    """Who is told of the views made (tracing), if anybody."""

    def __init__(self) -> None:
        self.kernels: dict[str, Kernel] = {}

    # -- kernels --------------------------------------------------------------------------------

    def register(self, op: str) -> Callable[[Kernel], Kernel]:
        """Decorator: this function is the kernel of primitive `op` here."""

        def put(kernel: Kernel) -> Kernel:
            self.kernels[op] = kernel
            return kernel

        return put

    def kernel(self, op: Op) -> Kernel:
        """The kernel of `op`: the registered one, else a generated one, else a fallback over the CPU."""
        found = self.kernels.get(op.name)
        if found is None:
            found = self.generate(op) or self.fall_back(op)
            self.kernels[op.name] = found
        return found

    def generate(self, op: Op) -> Kernel | None:
        """A kernel made from the operator's own description (pointwise expressions), or None."""
        return None

    def fall_back(self, op: Op) -> Kernel:
        """A kernel that copies to the CPU and back. Raises NotImplementedError where that makes no sense."""
        raise NotImplementedError(
            f"{op.name} has no kernel on device {self.name!r}; move the tensors with .cpu() first"
        )

    # -- memory ---------------------------------------------------------------------------------

    def empty(self, shape: Sequence[int], dtype: DType) -> Array:
        """Contiguous memory with unspecified contents."""
        raise NotImplementedError

    def full(self, shape: Sequence[int], value: Any, dtype: DType) -> Array:
        """Contiguous memory filled with one number."""
        import numpy as np

        return self.upload(np.full(shape, value, dtype.numpy), dtype)

    def upload(self, array: np.ndarray, dtype: DType) -> Array:
        """A copy of a numpy array in this device's memory."""
        raise NotImplementedError

    def download(self, array: Array, dtype: DType) -> np.ndarray:
        """A copy in numpy's memory; waits for pending work."""
        raise NotImplementedError

    async def download_async(self, array: Array, dtype: DType) -> np.ndarray:
        """`download` for devices that may be unable to block (a browser's)."""
        return self.download(array, dtype)

    def draw(
        self,
        shape: Sequence[int],
        dtype: DType,
        fill: Callable[[Any], None],
        like: Sequence[int] | None = None,
        gaps: bool = False,
    ) -> Array:
        """Memory filled with random numbers by `fill(numpy array)`, drawn in the order in which they lie in memory.

        That is row-major, or the order of the strides `like` (in elements); with `gaps`, with those very strides.
        """
        import numpy as np

        values = np.empty(shape, dtype.numpy)
        if like is not None:
            steps = [s * values.itemsize for s in like]
            span = 1 + sum((n - 1) * s for n, s in zip(shape, like, strict=True)) if gaps else 1
            memory = np.empty(max(span, 2) if gaps else 1, dtype.numpy)
            window = np.lib.stride_tricks.as_strided(memory, tuple(shape), steps, writeable=memory.size > 1)
            values = window if gaps else np.empty_like(window)
        fill(values)
        return values if self.is_host else self.upload(values, dtype)

    def arange(self, first: int, step: int, count: int, dtype: DType) -> Array | None:
        """The integers `first + step * i`, or None where they are made on the CPU and uploaded."""
        return None

    def receive(self, array: Array, home: Backend, dtype: DType) -> Array:
        """A copy in this device's memory of an array of the backend `home`."""
        return self.upload(home.download(array, dtype), dtype)

    def own(self, array: Array) -> Array:
        """A 0-d result as an array of this backend (kernels may return scalars)."""
        return array

    def lift(self, tensor: Any) -> Any:
        """A real tensor as one of this backend."""
        raise NotImplementedError

    def read_number(self, tensor: Any) -> Any:
        """The number in a tensor of one element, where this backend holds no values (`lifts`)."""
        raise NotImplementedError

    def rounded(self, array: Array, dtype: DType) -> Array:
        """The values as `dtype` has them, which is stored with more bits than it has (bfloat16)."""
        raise NotImplementedError(f"device {self.name!r} has no {dtype.name}; use float32 or float16 there")

    def root(self, array: Array) -> Array:
        """The handle that `view` wants for the memory which `array` owns."""
        return array

    def view(self, root: Array, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Array:
        """A window on the memory of `root`: strides, and the offset from its beginning, in elements."""
        raise NotImplementedError

    def reinterpret(self, root: Array, dtype: DType) -> Array:
        """The handle for cutting views that read the memory of `root` as another dtype.

        Raises NotImplementedError on devices that cannot.
        """
        raise NotImplementedError(
            f"device {self.name!r} cannot read memory as another dtype; move the tensor with .cpu() first"
        )

    def geometry(self, array: Array) -> tuple[tuple[int, ...], int]:
        """Strides and offset of `array` in its memory, both in elements."""
        raise NotImplementedError

    def cast(self, array: Array, dtype: DType) -> Array:
        """The values converted to another dtype, in fresh memory."""
        raise NotImplementedError

    def copy(self, target: Array, source: Array) -> None:
        """Write `source` (same shape or broadcast to it, same dtype) into the elements of `target`."""
        raise NotImplementedError

    def limits(self, dtype: DType) -> tuple[int, int]:
        """The least and the greatest integer of a dtype that the device can hold."""
        found = iinfo(dtype)
        return found.min, found.max

    def nbytes(self, array: Array) -> int:
        """Bytes of the memory that `array` is a window of."""
        raise NotImplementedError

    def synchronize(self) -> None:
        """Wait until everything launched has run."""


_factories: dict[str, Callable[[], Backend]] = {}
_backends: dict[str, Backend] = {}


def register_backend(name: str, factory: Callable[[], Backend]) -> None:
    """Make device `name` known; `factory` runs when it is first asked for."""
    _factories[name] = factory
    _backends.pop(name, None)


def backend(name: str) -> Backend:
    """The backend of device type `name`; raises RuntimeError naming the devices there are."""
    if state.fakes is not None:
        return state.fakes(name)
    found = _backends.get(name)
    if found is None:
        if name not in _factories:
            raise RuntimeError(
                f"Expected one of {', '.join(sorted(_factories))} device type at start of device string: {name}"
            )
        found = _backends[name] = _factories[name]()
    return found


def device_names() -> list[str]:
    """The device types that can be asked for."""
    return sorted(_factories)
