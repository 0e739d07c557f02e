"""Element types, their promotion, and the default one.

The names and rules are PyTorch's: `torch.float32`, categories bool < integer < float < complex, a dimensioned
tensor's dtype wins over a 0-d tensor's and a Python scalar's of the same category.  numpy is used for
storage; numpy has no bfloat16, which is kept as float32 whose lower 16 bits are zero and rounded after every operator.
"""

from __future__ import annotations

import numpy as np

BOOL, INTEGRAL, FLOATING, COMPLEX = range(4)
_CATEGORIES = {"b": BOOL, "i": INTEGRAL, "u": INTEGRAL, "f": FLOATING, "c": COMPLEX}


class dtype:
    """An element type; there is one object for each, compared by identity.

    `numpy` is the storage type, `itemsize` bytes an element, `category` one of the constants above.
    """

    __slots__ = ("category", "is_complex", "is_floating_point", "is_signed", "itemsize", "name", "numpy", "rounds")

    def __init__(self, name: str, numpy_type: object, rounds: bool = False):
        self.name = name
        self.numpy = np.dtype(numpy_type)  # type: ignore[call-overload]
        self.rounds = rounds  # values are of fewer bits than the storage type has
        self.itemsize = self.numpy.itemsize // 2 if rounds else self.numpy.itemsize
        self.category = _CATEGORIES[self.numpy.kind]
        self.is_floating_point = self.category == FLOATING
        self.is_complex = self.category == COMPLEX
        self.is_signed = self.numpy.kind in "ifc"

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> tuple:
        return (_by_name, (self.name,))

    def to_complex(self) -> dtype:
        """The complex type of the same precision."""
        return (
            {16: complex64, 32: complex64, 64: complex128}.get(self.itemsize * 8, complex64)
            if not self.is_complex
            else self
        )

    def to_real(self) -> dtype:
        """The real type of the same precision."""
        return {8: float32, 16: float64}[self.itemsize] if self.is_complex else self


bool_ = dtype("bool", np.bool_)
uint8 = dtype("uint8", np.uint8)
int8 = dtype("int8", np.int8)
int16 = dtype("int16", np.int16)
int32 = dtype("int32", np.int32)
int64 = dtype("int64", np.int64)
uint16 = dtype("uint16", np.uint16)
uint32 = dtype("uint32", np.uint32)
uint64 = dtype("uint64", np.uint64)
float16 = dtype("float16", np.float16)
bfloat16 = dtype("bfloat16", np.float32, rounds=True)
float32 = dtype("float32", np.float32)
float64 = dtype("float64", np.float64)
complex64 = dtype("complex64", np.complex64)
complex128 = dtype("complex128", np.complex128)

DTYPES: dict[str, dtype] = {
    d.name: d
    for d in (
        bool_, uint8, int8, int16, int32, int64, uint16, uint32, uint64, float16, bfloat16, float32, float64, complex64, complex128,
    )
}  # fmt: skip
ALIASES: dict[str, dtype] = {
    "half": float16, "float": float32, "double": float64, "cfloat": complex64, "cdouble": complex128,
    "short": int16, "int": int32, "long": int64,
}  # fmt: skip
FROM_NUMPY: dict[np.dtype, dtype] = {d.numpy: d for d in DTYPES.values() if not d.rounds}


def round_bfloat16(array: np.ndarray) -> np.ndarray:
    """float32 values rounded to the nearest that bfloat16 has, ties to even; NaNs stay NaNs."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    rounded = ((bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))) & np.uint32(0xFFFF0000)).view(
        np.float32
    )
    return np.where(np.isnan(array), np.float32(np.nan), rounded).reshape(array.shape)


def _by_name(name: str) -> dtype:
    return DTYPES[name]


def of_numpy(t: np.dtype) -> dtype:
    """The dtype of a numpy type; raises TypeError for those without one (strings, objects, dates)."""
    found = FROM_NUMPY.get(t)
    if found is None:
        found = FROM_NUMPY.get(t.newbyteorder("="))
    if found is None:
        raise TypeError(
            f"can't convert np.ndarray of type {t}. The only supported types are: "
            "float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool."
        )
    return found


_default = float32


def get_default_dtype() -> dtype:
    """The type of tensors made from Python floats."""
    return _default


def set_default_dtype(d: dtype) -> None:
    """Set it; raises TypeError for anything but a floating-point type."""
    global _default
    if not isinstance(d, dtype) or not d.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, got {d}")
    _default = d


def of_scalar(value: object) -> dtype:
    """The dtype that `torch.tensor(value)` would have for a Python scalar."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return int64
    if isinstance(value, float):
        return _default
    if isinstance(value, complex):
        return _default.to_complex()
    raise TypeError(f"expected a number, got {type(value).__name__}")


_ORDER = {bool_: 0, uint8: 1, int8: 1, int16: 2, int32: 3, int64: 4}


def promote_types(a: dtype, b: dtype) -> dtype:
    """The smallest dtype that both fit in by PyTorch's table. Unsigned types wider than 8 bits promote with
    floats and themselves only, as in PyTorch; raises RuntimeError for other pairs."""
    if a is b:
        return a
    if a.category != b.category:
        low, high = (a, b) if a.category < b.category else (b, a)
        if high.is_complex and low is float64:
            return complex128
        return high
    if a.is_complex or a.is_floating_point:
        if a.itemsize == b.itemsize:
            return float32  # float16 and bfloat16
        return a if a.itemsize > b.itemsize else b
    wide = {uint16, uint32, uint64}
    if a in wide or b in wide:
        if {a, b} <= wide | {uint8}:
            return a if a.itemsize > b.itemsize else b
        raise RuntimeError(
            f"Promotion for uint16, uint32, uint64 types is not supported, attempted to promote {a.name} and {b.name}"
        )
    if {a, b} == {uint8, int8}:
        return int16
    return a if _ORDER[a] > _ORDER[b] else b


def can_cast(source: dtype, target: dtype) -> bool:
    """Whether a result of type `source` may be written into a tensor of type `target`."""
    return source.category <= target.category


class finfo:
    """Machine limits of a floating-point type: bits, eps, max, min, tiny, smallest_normal, resolution."""

    def __init__(self, type: dtype | None = None):
        d = type or _default
        if not (d.is_floating_point or d.is_complex):
            raise TypeError(
                f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo', got {d}"
            )
        if d.rounds:
            self.bits, self.dtype, self.eps, self.resolution = 16, d.name, 2.0**-7, 0.01
            self.max, self.min = 3.3895313892515355e38, -3.3895313892515355e38
            self.tiny = self.smallest_normal = 2.0**-126
            return
        info = np.finfo(d.numpy)
        self.bits, self.dtype = int(info.bits), d.to_real().name
        self.eps, self.max, self.min = float(info.eps), float(info.max), float(info.min)
        self.tiny = self.smallest_normal = float(info.tiny)
        self.resolution = float(info.resolution)

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo:
    """Machine limits of an integer type: bits, max, min."""

    def __init__(self, type: dtype):
        if type.category != INTEGRAL:
            raise TypeError(
                f"torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo', got {type}"
            )
        info = np.iinfo(type.numpy)
        self.bits, self.max, self.min, self.dtype = int(info.bits), int(info.max), int(info.min), type.name

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
