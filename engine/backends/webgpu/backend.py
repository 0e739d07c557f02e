"""The device `webgpu`: arrays in device memory, and the kernels that work on them.

Pointwise kernels are generated from the operators' expressions; the other families register theirs from the files beside
this one.  An operator with neither runs on the CPU with a warning, and so does every operator that computes with float64 or
complex numbers: the device stores those, and copies and views them, but WGSL cannot compute with them.  The device is opened
when first needed, and again after it was lost.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ....webgpu_kernels import random as random_kernels
from ....webgpu_kernels.tuning import HARDWARE, Profile
from ....webgpu_kernels.wgsl import TYPES
from ... import dtypes
from ...dtypes import dtype as DType
from ...observe import FellBack, bus
from ...ops.table import OPS, Op
from ...random import check_bounds
from ..base import Backend, Kernel
from ..base import backend as backend_of
from . import optimizers, tuning
from .array import CODES, STORED_WORDS, GpuArray, OnHost, dense_order, is_row_major, numel, row_major, span
from .device import Device
from .generator import ON_DEVICE, PhiloxGenerator, bound, default_generator
from .gpu import Gpu
from .memory import TooLarge
from .pointwise import Pointwise, f32_word, i32_word, part, slices, u32_word

_STORED = {"f32": np.float32, "f16": np.float16, "f16w": np.float32, "i32": np.int32, "u32": np.uint32}
_PLAIN = {"float32": 1, "int32": 1, "uint32": 1, **STORED_WORDS}
"""32-bit words of an element of the dtypes that are stored as they are."""
_COPY_BYTES = 1 << 14  # contiguous copies from this size on are left to the copy engine


class WebGPUBackend(Backend):
    """Arrays are `GpuArray`s. `open_gpu` makes the `Gpu` to work on; `debug` surfaces errors at once, and slowly."""

    name: ClassVar[str] = "webgpu"
    shares_out: ClassVar[bool] = True
    dtypes = dtypes

    def __init__(self, open_gpu: Callable[[], Gpu] | None = None, *, debug: bool = False):
        super().__init__()
        self._open_gpu = open_gpu or _open_gpu
        self._debug = debug
        self._device: Device | None = None
        self._caches: list[dict[Any, Any]] = []
        self._codes: dict[DType, str] = {}
        self._casts: dict[DType, Pointwise] = {}
        self._formulas: dict[tuple[str, tuple[str, ...]], Pointwise] = {}
        self._warned: set[str] = set()
        self.profile: Profile = HARDWARE
        self.joins: dict[str, Pointwise] = {}
        self.products: dict[str, Pointwise] = {}
        self.windows_add: Kernel
        self._move = Pointwise(self, "copy", "x", ("x",), "same")
        self._fill = Pointwise(self, "fill", "value", ("value",), "same")
        from . import families

        families.register(self)
        for name, kernel in self.kernels.items():
            if name in OPS:
                self.kernels[name] = self._or_host(OPS[name], kernel)
        self.device  # noqa: B018  (a missing adapter is told here)

    # -- the device ---------------------------------------------------------------------------------------------

    @property
    def device(self) -> Device:
        """The open device; opens one where there is none, or where it was lost. Raises NoAdapter, DeviceError."""
        device = self._device
        if device is None or device.pool.lost is not None:
            return self._open()
        return device

    def _open(self) -> Device:
        for cache in self._caches:
            cache.clear()
        self._codes = {d: CODES[n] for n, d in dtypes.DTYPES.items() if n in CODES}
        gpu = self._open_gpu()
        self._codes[dtypes.float16] = "f16" if "shader-f16" in gpu.features else "f16w"
        self._device = Device(gpu, debug=self._debug)
        self.profile = tuning.at_opening(self, gpu.info)
        return self._device

    def cache(self) -> dict[Any, Any]:
        """A dictionary that is emptied when another device is opened, since what is in it names the old one's pipelines."""
        made: dict[Any, Any] = {}
        self._caches.append(made)
        return made

    def code(self, dtype: DType) -> str:
        """The kernels' code of a dtype. Raises OnHost (a TypeError) for one that kernels do not compute in."""
        found = self._codes.get(dtype)
        if found is None:
            raise OnHost(f"WGSL has no {dtype.name}")
        return found

    def itemsize(self, dtype: DType) -> int:
        """Bytes of an element in device memory."""
        found = self._codes.get(dtype)
        return 4 * STORED_WORDS[dtype.name] if found is None else TYPES[found].itemsize

    # -- kernels ------------------------------------------------------------------------------------------------

    def generate(self, op: Op) -> Kernel | None:
        if op.kind != "pointwise" or op.expr is None:
            return None
        kernel = self._or_host(op, Pointwise(self, op.name, op.expr, (*op.tensors, *op.statics), op.result))
        check = _CHECKS.get(op.name)
        if check is None:
            return kernel

        def checked(*args: Any, out: GpuArray | None = None) -> GpuArray:
            check(*args)
            return kernel(*args, out=out)

        return checked

    def _or_host(self, op: Op, kernel: Kernel) -> Kernel:
        """The kernel, which leaves what it cannot compute to the CPU."""
        if op.cpu is None:
            return kernel
        if type(kernel) is Pointwise:  # the shortest way: no call in between
            kernel.on_host = lambda args, out, why: self._on_host(op, args, out, str(why))
            return kernel

        def either(*args: Any, **more: Any) -> Any:
            try:
                return kernel(*args, **more)
            except OnHost as why:
                reason = str(why)
            except TooLarge:
                narrow, changed = _narrowed(self, args)
                if changed:
                    return either(*narrow, **more)
                reason = "an operand is larger than a binding of the device"
            return self._on_host(op, args, more.get("out"), reason)

        return either

    def fall_back(self, op: Op) -> Kernel:
        if op.cpu is None:
            return super().fall_back(op)

        def kernel(*args: Any, out: GpuArray | None = None) -> Any:
            return self._on_host(op, args, out, "it has no WebGPU kernel")

        return kernel

    def _on_host(self, op: Op, args: Sequence[Any], out: GpuArray | None, reason: str) -> Any:
        """The operator's result from the CPU, back on the device."""
        self.tell_fall_back(op.name, reason)
        made = backend_of("cpu").kernel(op)(*[_host(self, a) for a in args])
        rounds = next((a.dtype for a in args if type(a) is GpuArray and a.dtype.rounds), None)
        if isinstance(made, (tuple, list)):
            return type(made)(self._from_host(m, rounds) for m in made)
        made = self._from_host(made, rounds)
        if out is not None:
            self.copy(out, made if made.dtype is out.dtype else self.cast(made, out.dtype))
            return out
        return made

    def tell_fall_back(self, name: str, reason: str) -> None:
        """Say that an operator runs on the CPU: to listeners each time, to the user once an operator."""
        if bus.fallback:
            bus.publish(FellBack(name, self.name, reason))
        if name not in self._warned:
            self._warned.add(name)
            warnings.warn(
                f"{name} runs on the CPU because {reason}: its inputs are copied there and the result back, each time.",
                RuntimeWarning,
                stacklevel=_callers_level(),
            )

    def _from_host(self, value: Any, rounds: DType | None) -> GpuArray:
        """A result of the CPU; float32 stands there for the dtype that `rounds`, if any."""
        array = np.asarray(value)
        kind = dtypes.of_numpy(array.dtype)
        if rounds is not None and kind is dtypes.float32:
            return self.upload(dtypes.round_bfloat16(array), rounds)
        return self.upload(array, kind)

    # -- memory -------------------------------------------------------------------------------------------------

    def empty(self, shape: Sequence[int], dtype: DType) -> GpuArray:
        shape = tuple(shape)
        return GpuArray(self.device.pool.take(numel(shape) * self.itemsize(dtype)), dtype, shape, row_major(shape))

    def full(self, shape: Sequence[int], value: Any, dtype: DType) -> GpuArray:
        out = self.empty(shape, dtype)
        if dtype not in self._codes:
            self.copy(out, self.upload(np.array(value, dtype.numpy), dtype))
            return out
        self._fill(value, out=out)
        return out

    def philox(
        self, kind: str, shape: Sequence[int], dtype: DType, seed: int, start: int, a: float = 0.0, b: float = 1.0
    ) -> GpuArray:
        """Random numbers on the device, by Philox: "uniform" in [a, b), "normal" with mean a and deviation b, "bernoulli"
        true with probability a. `start` is the first counter; `counters(n)` of them are used up."""
        out = self.empty(shape, dtype)
        n = numel(out.shape)
        if n:
            kernel = random_kernels.build(kind, self.code(dtype))
            plain = kind == "integers"
            numbers = (i32_word(a), u32_word(b)) if plain else (f32_word(a), f32_word(b))
            words = random_kernels.words(0, n, seed, start, *numbers)
            self.device.launch(self.device.pipeline(kernel), random_kernels.grid(n), [out.block.handle], words)
        return out

    def draw(
        self, shape: Sequence[int], dtype: DType, fill: Callable[[Any], None], like: Sequence[int] | None = None, gaps: bool = False
    ) -> GpuArray:  # fmt: skip
        """Memory filled with random numbers of the device's own generator, or of the one that `fill` names."""
        arguments = bound(fill)
        if arguments is None:
            return super().draw(shape, dtype, fill, like, gaps)
        given = arguments.arguments.get("generator") or default_generator
        if not isinstance(given, PhiloxGenerator):
            return super().draw(shape, dtype, fill, like, gaps)
        function: Any = fill.function  # type: ignore[attr-defined]
        make = ON_DEVICE.get(function.__name__)
        drawn = make(arguments.arguments) if make is not None and dtype in self._codes else None
        whole = dtype.category < dtypes.FLOATING
        if drawn is None or (whole and drawn[0] in ("uniform", "normal", "mask")):
            values = np.empty(tuple(shape), dtype.numpy)
            arguments.arguments["generator"] = given
            # Tensors among the arguments are read here: the fill itself would do so with another generator.
            read = [a.detach()._host() if hasattr(a, "_host") else a for a in arguments.args[1:]]
            function(values, *read, **arguments.kwargs)
            return self.upload(values, dtype)
        kind, a, b = drawn
        if kind == "integers":
            check_bounds(dtype.numpy, int(a), int(a + b))
        n = numel(tuple(shape))
        seed, start = given.take(n)
        return self.philox(kind, shape, dtype, seed, start, a, b)

    def upload(self, array: np.ndarray, dtype: DType) -> GpuArray:
        self.device  # noqa: B018  (open it first: the code of float16 depends on it)
        values = _stored(np.asarray(array), self._codes.get(dtype), dtype)
        nbytes = values.nbytes
        data = values.reshape(-1)
        if nbytes % 4:
            data = np.concatenate([data, np.zeros(1, data.dtype)])
        shape = tuple(array.shape)
        made = GpuArray(self.device.upload(data, nbytes), dtype, shape, row_major(shape))
        if dtype.category == dtypes.INTEGRAL and values.size:
            made.block.bounds = int(values.min()), int(values.max()), True
        return made

    def download(self, array: GpuArray, dtype: DType) -> np.ndarray:
        if numel(array.shape) == 0:
            return np.empty(array.shape, dtype.numpy)
        where, values = self._reading(array, dtype)
        return values(self.device.read(*where))

    async def download_async(self, array: GpuArray, dtype: DType) -> np.ndarray:
        if numel(array.shape) == 0:
            return np.empty(array.shape, dtype.numpy)
        where, values = self._reading(array, dtype)
        return values(await self.device.read_async(*where))

    def _reading(self, array: GpuArray, dtype: DType) -> tuple[tuple[Any, int, int], Callable[[bytearray], np.ndarray]]:
        """Which bytes of which block hold the elements, and what makes an array of them."""
        shape = array.shape
        n = numel(shape)
        size = self.itemsize(array.dtype)
        if array.block.pool.lost is not None:
            array.block.handle  # noqa: B018  (raises with the reason)
            raise AssertionError
        strides, reach = array.strides, n
        if not array.contiguous:
            reach = span(shape, strides)
            if reach > 2 * n + 1024:
                array = self.contiguous(array)
                strides, reach = array.strides, n
        start = array.offset * size
        first = start & ~3
        end = (start + reach * size + 3) & ~3
        code = self._codes.get(array.dtype)
        kind = array.dtype.numpy if code is None else _STORED[code if size == 2 else TYPES[code].store]
        row_by_row = array.contiguous

        def values(read: bytearray) -> np.ndarray:
            flat = np.frombuffer(read, kind)[(start - first) // size :][:reach]
            if row_by_row:
                found = flat.reshape(shape)
            else:
                found = np.lib.stride_tricks.as_strided(flat, shape, tuple(s * size for s in strides))
            return found.astype(dtype.numpy, order="C", copy=True)

        return (array.block, first, end - first), values

    def view(self, root: GpuArray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> GpuArray:
        return GpuArray(root.block, root.dtype, shape, strides, root.offset + offset, is_row_major(shape, strides))

    def reinterpret(self, root: GpuArray, dtype: DType) -> GpuArray:
        """Possible where both dtypes are stored as they are, in 32-bit words: not where elements are widened or narrowed."""
        before, after = (_PLAIN.get(d.name) for d in (root.dtype, dtype))
        if before is None or after is None:
            return super().reinterpret(root, dtype)
        n = numel(root.shape) * before // after
        return GpuArray(root.block, dtype, (n,), (1,), root.offset * before // after)

    def rounded(self, array: GpuArray, dtype: DType) -> GpuArray:
        return array if array.dtype is dtype else self.cast(array, dtype)  # kernels round what they store

    def geometry(self, array: GpuArray) -> tuple[tuple[int, ...], int]:
        return array.strides, array.offset

    def cast(self, array: GpuArray, dtype: DType) -> GpuArray:
        if array.dtype not in self._codes or dtype not in self._codes:
            missing = dtype if dtype not in self._codes else array.dtype
            self.tell_fall_back("to_dtype", f"WGSL has no {missing.name}")
            return self.upload(backend_of("cpu").cast(self.download(array, array.dtype), dtype), dtype)
        kernel = self._casts.get(dtype)
        if kernel is None:
            kernel = self._casts[dtype] = Pointwise(self, f"to_{dtype.name}", "x", ("x",), dtype)
        return kernel(array)

    def copy(self, target: GpuArray, source: GpuArray) -> None:
        target.block.bounds = None
        n = numel(target.shape)
        if (
            target.contiguous and source.contiguous and target.shape == source.shape and target.block is not source.block
        ):  # fmt: skip
            size = self.itemsize(target.dtype)
            a, b, nbytes = source.offset * size, target.offset * size, n * size
            if nbytes >= _COPY_BYTES and not (a | b | nbytes) & 3:
                for block in (source.block, target.block):
                    if not block.buffer:
                        block.handle  # noqa: B018  (raises with the reason)
                self.device.copy_bytes(source.block.buffer, a, target.block.buffer, b, nbytes)
                return
        if target.dtype not in self._codes:
            target, source = _as_words(target), _as_words(source)
        self._move(source, out=target)

    def contiguous(self, array: GpuArray) -> GpuArray:
        """A row-major copy."""
        out = self.empty(array.shape, array.dtype)
        self.copy(out, array)
        out.block.bounds = _within(array.block.bounds)
        return out

    def clone(self, array: GpuArray) -> GpuArray:
        """A copy in the same order of dimensions where the array is dense, else row-major."""
        if array.contiguous or not dense_order(array.shape, array.strides):
            return self.contiguous(array)
        n = numel(array.shape)
        flat = GpuArray(array.block, array.dtype, (n,), (1,), array.offset)
        return GpuArray(self.contiguous(flat).block, array.dtype, array.shape, array.strides, 0, False)

    def limits(self, dtype: DType) -> tuple[int, int]:
        """Of the 32 bits that the device keeps of 64."""
        least, greatest = super().limits(dtype)
        return max(least, -(2**31)), min(greatest, 2**32 - 1 if least == 0 else 2**31 - 1)

    def nbytes(self, array: GpuArray) -> int:
        """As the dtype counts them; in device memory an element may take more or fewer bytes."""
        return array.block.nbytes // self.itemsize(array.dtype) * array.dtype.itemsize

    def synchronize(self) -> None:
        self.device.wait()

    def formula(self, expression: str, names: tuple[str, ...], arrays: Sequence[GpuArray]) -> GpuArray:
        """An expression over the elements of arrays of one dtype, in one launch."""
        kernel = self._formulas.get((expression, names))
        if kernel is None:
            kernel = self._formulas[expression, names] = Pointwise(self, "formula", expression, names, "same")
        return kernel(*arrays)

    # -- optimizers ---------------------------------------------------------------------------------------------

    def step_fits(self, arrays: Sequence[GpuArray]) -> bool:
        """Whether `step` takes a parameter with these arrays: itself, its gradient, its states."""
        return optimizers.fits(arrays)

    def step(self, name: str, entries: Sequence[Sequence[GpuArray]], numbers: Sequence[float]) -> None:
        """An optimizer's step (of `webgpu_kernels.optimizers.STEPS`) of parameters that fit, in place."""
        optimizers.run(self, name, entries, numbers)

    # -- more than one binding holds ----------------------------------------------------------------------------

    def pieces(self, array: GpuArray) -> list[GpuArray]:
        """The array cut along its first dimension of more than one element into parts that can be bound."""
        return [part(self, array, array.shape, *rows) for rows in slices(self, array.shape, [array])]


_ENGINE = str(Path(__file__).parents[2])


def _callers_level() -> int:
    """The `stacklevel`, seen from this function's caller, of the first frame outside of the engine."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_ENGINE):
        level, frame = level + 1, frame.f_back
    return level


def _open_gpu() -> Gpu:
    """The browser's device in a web page, else the native one."""
    from . import browser

    if browser.available():
        return browser.open_gpu()
    from .native import NativeGpu

    return NativeGpu()


def _as_words(a: GpuArray) -> GpuArray:
    """The 32-bit words of an array of a dtype that is only stored, as one more dimension of uint32."""
    words = STORED_WORDS[a.dtype.name]
    strides = (*[s * words for s in a.strides], 1)
    return GpuArray(a.block, dtypes.uint32, (*a.shape, words), strides, a.offset * words, a.contiguous)


def _stored(array: np.ndarray, code: str | None, dtype: DType) -> np.ndarray:
    """Values as they lie in device memory, row-major. Raises OverflowError where an integer needs more than 32 bits."""
    if array.dtype != dtype.numpy:
        array = array.astype(dtype.numpy)
    if code is None:
        return np.ascontiguousarray(array)
    if code in ("i64", "u64") and array.size:
        low, high = (-(2**31), 2**31 - 1) if code == "i64" else (0, 2**32 - 1)
        least, most = int(array.min()), int(array.max())
        if least < low or most > high:
            bad = least if least < low else most
            raise OverflowError(
                f"{bad} does not fit in 32 bits, in which the webgpu device keeps {dtype.name}; keep this tensor on device='cpu'"
            )
    kind = _STORED[code if code in ("f16", "f16w") else TYPES[code].store]
    return np.ascontiguousarray(array, kind)


def _host(backend: WebGPUBackend, value: Any) -> Any:
    """Arrays (also inside tuples and lists, and as tensors) as numpy arrays; everything else as it is."""
    if type(value) is GpuArray:
        return backend.download(value, value.dtype)
    inner = getattr(value, "_data", None)
    if type(inner) is GpuArray:
        return backend.download(inner, inner.dtype)
    if inner is not None and isinstance(inner, np.ndarray):
        return inner
    if type(value) in (tuple, list):
        return type(value)(_host(backend, v) for v in value)
    return value


def _narrowed(backend: WebGPUBackend, value: Any) -> tuple[Any, bool]:
    """Arguments with arrays that lie in a large block, but themselves fit into a binding, on windows of it; and whether there were."""
    if type(value) in (tuple, list):
        parts = [_narrowed(backend, v) for v in value]
        return type(value)([p for p, _ in parts]), any([changed for _, changed in parts])
    if type(value) is not GpuArray or value.block.windows is None or not value.shape or min(value.strides) < 0:
        return value, False
    if span(value.shape, value.strides) * backend.itemsize(value.dtype) > backend.device.pool.binding_bytes - 512:
        return value, False
    return part(backend, value, value.shape, 0, 0, value.shape[0]), True


def _within(bounds: tuple[int, int, bool] | None) -> tuple[int, int, bool] | None:
    """What is known of some of the elements of a block."""
    return None if bounds is None else (bounds[0], bounds[1], False)


def _whole(*args: Any) -> bool:
    return all(a.dtype.category < dtypes.FLOATING for a in args if type(a) is GpuArray)


def _check_power(base: Any, exponent: Any) -> None:
    if type(exponent) is int and exponent < 0 and _whole(base):
        raise RuntimeError("Integers to negative integer powers are not allowed.")


def _check_divisor(x: Any, y: Any) -> None:
    if y == 0 and type(y) in (int, bool) and _whole(x):
        raise RuntimeError("ZeroDivisionError")


def _check_quotient(x: Any, *_: Any) -> None:
    if _whole(x):
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported: write (input + value * tensor1 / tensor2) with floats, or "
            "torch.trunc(tensor1 / tensor2) for whole quotients."
        )


def _check_decimals(x: Any, decimals: int = 0) -> None:
    if decimals and _whole(x):
        from ...dispatch import type_name

        raise NotImplementedError(f"\"round_cpu\" not implemented for '{type_name(x.dtype)}'")


_CHECKS: dict[str, Callable[..., None]] = {
    "pow": _check_power, "floor_divide": _check_divisor, "remainder": _check_divisor, "fmod": _check_divisor,
    "div_floor": _check_divisor, "div_trunc": _check_divisor, "addcdiv": _check_quotient, "round": _check_decimals,
}  # fmt: skip
"""Refusals that depend on the numbers given, as PyTorch makes them."""
