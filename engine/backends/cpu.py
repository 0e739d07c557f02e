"""The CPU: numpy arrays, and the numpy kernels that stand in the operator table.

Floating-point warnings of numpy are off inside kernels, as PyTorch gives infinities and NaNs in silence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ..dtypes import dtype as DType
from ..dtypes import float64, round_bfloat16
from ..ops.table import Op
from .base import Backend, Kernel, register_backend


class _Memory:
    """Bytes at an address as numpy's array interface wants them; `owner` keeps them alive."""

    def __init__(self, owner: np.ndarray, address: int, count: int):
        self.owner = owner
        self.__array_interface__ = {
            "data": (address, False),
            "shape": (count,),
            "typestr": owner.dtype.str,
            "version": 3,
        }


class CPU(Backend):
    """Kernels are the `cpu` functions of the operator table."""

    name: ClassVar[str] = "cpu"
    wide = float64
    is_host: ClassVar[bool] = True
    fuses = True
    shares_out: ClassVar[bool] = True

    def generate(self, op: Op) -> Kernel | None:
        if op.cpu is None:
            return None
        return quiet(op.cpu)

    def own(self, array: Any) -> np.ndarray:
        return array if type(array) is np.ndarray else np.asarray(array)

    def empty(self, shape: Sequence[int], dtype: DType) -> np.ndarray:
        return np.empty(shape, dtype.numpy)

    def full(self, shape: Sequence[int], value: Any, dtype: DType) -> np.ndarray:
        if value == 0 and type(value) is not complex:
            return np.zeros(shape, dtype.numpy)
        return np.full(shape, value, dtype.numpy)

    def upload(self, array: np.ndarray, dtype: DType) -> np.ndarray:
        return np.array(array, dtype.numpy, order="C")

    def download(self, array: np.ndarray, dtype: DType) -> np.ndarray:
        return array.copy()

    def rounded(self, array: np.ndarray, dtype: DType) -> np.ndarray:
        return round_bfloat16(array)

    def root(self, array: np.ndarray) -> np.ndarray:
        if array.flags.c_contiguous:
            return array.reshape(-1)
        shape, strides = array.shape, array.strides
        if array.size == 0:
            return np.empty(0, array.dtype)
        span = sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) // array.itemsize + 1
        memory = _Memory(array, array.__array_interface__["data"][0], span)
        return np.asarray(memory).view(array.dtype)

    def view(self, root: np.ndarray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> np.ndarray:
        size = root.itemsize
        if root.size == 0:
            return np.empty(shape, root.dtype)
        return np.ndarray(shape, root.dtype, root, offset * size, tuple([s * size for s in strides]))

    def reinterpret(self, root: np.ndarray, dtype: DType) -> np.ndarray:
        return root[: root.nbytes // dtype.itemsize * dtype.itemsize // root.itemsize].view(dtype.numpy)

    def geometry(self, array: np.ndarray) -> tuple[tuple[int, ...], int]:
        size = array.itemsize
        if array.flags.c_contiguous:
            from ..shapes import contiguous_strides

            return contiguous_strides(array.shape), 0
        return tuple([s // size for s in array.strides]), 0

    def cast(self, array: np.ndarray, dtype: DType) -> np.ndarray:
        if array.dtype.kind == "c" and dtype.numpy.kind != "c":
            array = np.real(array) if dtype.numpy.kind != "b" else array != 0
        with np.errstate(all="ignore"):
            return array.astype(dtype.numpy, order="K")

    def copy(self, target: np.ndarray, source: np.ndarray) -> None:
        np.copyto(target, source, casting="unsafe")

    def nbytes(self, array: np.ndarray) -> int:
        return array.nbytes


def quiet(kernel: Kernel) -> Kernel:
    """The kernel with numpy's floating-point warnings off.

    Setting numpy's context variable itself costs a tenth of `np.errstate`; where numpy has no such variable, that is used.
    """
    if _set is None:

        def slow(*args: Any, **kwargs: Any) -> Any:
            with np.errstate(all="ignore"):
                return kernel(*args, **kwargs)

        return slow

    def fast(*args: Any, **kwargs: Any) -> Any:
        token = _set(_IGNORE)
        try:
            return kernel(*args, **kwargs)
        finally:
            _reset(token)

    return fast


def _ignoring() -> tuple[Any, Any, Any]:
    try:
        from numpy._core import umath

        variable = umath._extobj_contextvar
        with np.errstate(all="ignore"):
            return variable.set, variable.reset, variable.get()
    except (ImportError, AttributeError):
        return None, None, None


_set, _reset, _IGNORE = _ignoring()
register_backend("cpu", CPU)
