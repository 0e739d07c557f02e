"""Random numbers on the CPU: the stream that PyTorch's CPU generator draws, number for number.

A `Generator` holds an MT19937 and the second value of a normal pair. The functions below fill numpy arrays
in place, in the order of memory, as PyTorch's kernels do: the same seed gives the same tensors, bit for bit.
How a distribution is made from the words (which bits, which formula, where a multiplication and an addition
are rounded once) is part of that stream, so the arithmetic here follows PyTorch's x86 build with AVX2.

This file knows no tensors: operators and layers hand it the arrays of theirs.  Devices with numbers of their own enter their
generators in `GENERATORS`.
"""

from __future__ import annotations

import contextlib
import math
import secrets
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .dtypes import round_bfloat16

DEFAULT_SEED = 67280421310721
"""The seed of a generator that nobody seeded."""

_STATE_BYTES = 5056
_BLOCK = 1 << 14  # elements in the working set of a fused formula; stays in the cache


GENERATORS: dict[str, tuple[type[Generator], Generator]] = {}
"""By the name of a device that draws numbers of its own: the class of its generators, and its default one."""


def _kind(device: Any) -> str:
    """The type of a device or of its name."""
    return str(getattr(device, "type", device)).partition(":")[0]


class Generator:
    """A stream of random numbers of its own, on the CPU or on a device that has generators.

    Raises RuntimeError for other devices.
    """

    def __new__(cls, device: Any = "cpu") -> Generator:
        kind = _kind(device)
        made: type[Generator] = GENERATORS[kind][0] if cls is Generator and kind in GENERATORS else cls
        return object.__new__(made)

    def __init__(self, device: Any = "cpu"):
        if _kind(device) != "cpu":
            there = ", ".join(["cpu", *GENERATORS])
            raise RuntimeError(f"no Generator draws on device {str(device)!r}; there are those of {there}")
        self._words = np.random.MT19937(0)
        self._bulk = np.random.RandomState(self._words)
        self._seed(DEFAULT_SEED)

    def _seed(self, seed: int) -> None:
        self._initial_seed = seed
        self._bulk.seed(seed & 0xFFFFFFFF)
        self._fresh = True  # no block of words was generated since seeding
        self.next_normal: float | None = None

    @property
    def device(self) -> Any:
        """The device whose numbers it draws."""
        from .device import device

        return device("cpu")

    def manual_seed(self, seed: int) -> Generator:
        """Start again from `seed` in [-2**63, 2**64); a negative one counts from 2**64 down. Returns itself."""
        if isinstance(seed, bool) or not hasattr(seed, "__index__"):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        seed = int(seed)
        if not -(2**63) <= seed < 2**64:
            raise ValueError("Overflow when unpacking long long")
        self._seed(seed % 2**64)
        return self

    def seed(self) -> int:
        """Start again from a seed that nobody can foretell, and return it."""
        self._seed(secrets.randbits(53))
        return self._initial_seed

    def initial_seed(self) -> int:
        """The seed that it was started from."""
        return self._initial_seed

    # -- words ----------------------------------------------------------------------------------

    def words(self, n: int) -> np.ndarray:
        """The next `n` 32-bit words, as uint32."""
        if n:
            self._fresh = False
        if n < 4096:
            return self._words.random_raw(n).astype(np.uint32)
        return self._bulk.randint(0, 1 << 32, size=n, dtype=np.uint32)

    def long_words(self, n: int) -> np.ndarray:
        """The next `n` 64-bit words, each of two 32-bit ones, the first of them on top, as uint64."""
        pairs = self.words(2 * n).astype(np.uint64)
        return (pairs[0::2] << np.uint64(32)) | pairs[1::2]

    def floats(self, n: int) -> np.ndarray:
        """The next `n` float32 in [0, 1): the low 24 bits of a word each."""
        return (self.words(n) & np.uint32(0xFFFFFF)).astype(np.float32) * np.float32(2.0**-24)

    def doubles(self, n: int) -> np.ndarray:
        """The next `n` float64 in [0, 1): the low 53 bits of a long word each."""
        return (self.long_words(n) & np.uint64((1 << 53) - 1)).astype(np.float64) * 2.0**-53

    # -- state ----------------------------------------------------------------------------------

    def state_bytes(self) -> bytes:
        """The whole state in PyTorch's layout of 5,056 bytes."""
        key, position = self._words.state["state"]["key"], int(self._words.state["state"]["pos"])
        # What PyTorch keeps: words left in the block plus one, and the index of the next word.
        left, index = (1, 0) if self._fresh else (625 - position, position)
        head = np.zeros(1, dtype=_STATE)
        head["seed"], head["left"], head["seeded"], head["next"] = self._initial_seed, left, 1, index
        head["words"] = key
        if self.next_normal is not None:
            head["normal"], head["has_normal"] = self.next_normal, 1
        return head.tobytes()

    def load_state_bytes(self, state: bytes) -> None:
        """Take over a state in PyTorch's layout. Raises RuntimeError where it is none."""
        if len(state) != _STATE_BYTES:
            raise RuntimeError(
                f"Expected either a CPUGeneratorImplStateLegacy of size 5048 or a CPUGeneratorImplState of size "
                f"{_STATE_BYTES} but found the input RNG state size to be {len(state)}"
            )
        head = np.frombuffer(state, dtype=_STATE)[0]
        left, index = int(head["left"]), int(head["next"])
        if not head["seeded"] or not 1 <= left <= 624 or index > 624:
            raise RuntimeError("Invalid mt19937 state")
        self._initial_seed = int(head["seed"])
        self._fresh = left == 1 and index == 0
        self._words.state = {
            "bit_generator": "MT19937",
            "state": {"key": head["words"].astype(np.uint32), "pos": 624 if left == 1 else index},
        }
        self.next_normal = float(head["normal"]) if head["has_normal"] else None

    def get_state(self) -> Any:
        """The state as a uint8 tensor of 5,056 elements that `set_state` takes, here and in PyTorch."""
        return _state_tensor(self.state_bytes())

    def set_state(self, new_state: Any) -> Generator:
        """Take over what `get_state` gave. Raises TypeError or RuntimeError for anything else."""
        self.load_state_bytes(_state_from_tensor(new_state))
        return self

    def clone_state(self) -> Generator:
        """Another generator that will draw the same numbers."""
        other = Generator()
        other.load_state_bytes(self.state_bytes())
        return other

    def __deepcopy__(self, memo: dict) -> Generator:
        return self.clone_state()

    def __getstate__(self) -> bytes:
        return self.state_bytes()

    def __setstate__(self, state: bytes) -> None:
        self.__init__()
        self.load_state_bytes(state)


_STATE = np.dtype(
    {
        "names": ["seed", "left", "seeded", "next", "words", "normal", "has_normal"],
        "formats": ["<u8", "<i4", "<i4", "<u8", ("<u8", 624), "<f8", "<i4"],
        "offsets": [0, 8, 12, 16, 24, 5024, 5040],
        "itemsize": _STATE_BYTES,
    }
)

default_generator = Generator()
"""The generator of everything that names none."""


def _state_tensor(state: bytes) -> Any:
    from . import from_numpy

    return from_numpy(np.frombuffer(bytearray(state), dtype=np.uint8))


def _state_from_tensor(state: Any) -> bytes:
    if not hasattr(state, "numpy"):
        raise TypeError(f"expected a torch.ByteTensor, but got {type(state).__name__}")
    array = state.cpu().numpy()
    if array.dtype != np.uint8:
        raise TypeError("RNG state must be a torch.ByteTensor")
    return array.tobytes()


# -- the default generator ------------------------------------------------------------------------


def manual_seed(seed: int) -> Generator:
    """Start the default generators of all devices from `seed`, and return the CPU's."""
    for _, generator in GENERATORS.values():
        generator.manual_seed(int(seed))
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Start the default generators of all devices from a seed that nobody can foretell, and return it."""
    made = default_generator.seed()
    for _, generator in GENERATORS.values():
        generator.manual_seed(made)
    return made


def initial_seed() -> int:
    """The seed that the default generator was started from."""
    return default_generator.initial_seed()


def get_rng_state() -> Any:
    """The default generator's state, a uint8 tensor."""
    return default_generator.get_state()


def set_rng_state(new_state: Any) -> None:
    """Set the default generator's state to what `get_rng_state` gave."""
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(devices: Any = None, enabled: bool = True, device_type: str = "cuda") -> Iterator[None]:
    """A context after which the default generators go on as if nothing had been drawn inside.

    `devices` and `device_type` name GPUs whose generators are to be saved too; here all are.
    """
    if not enabled:
        yield
        return
    kept = [(g, g.state_bytes()) for g in (default_generator, *[g for _, g in GENERATORS.values()])]
    try:
        yield
    finally:
        for generator, state in kept:
            generator.load_state_bytes(state)


# -- arithmetic -----------------------------------------------------------------------------------
# PyTorch's compiler contracts a*b + c into one instruction that rounds once. The same is done here: a product of two
# float32 is exact in float64; one of two float64 is split into a sum of two numbers (Dekker).


def _fma32(a: Any, b: Any, c: Any) -> Any:
    return np.asarray(np.asarray(a, np.float64) * b + c, np.float64).astype(np.float32)


def _fma64(a: np.ndarray, b: float, c: float) -> np.ndarray:
    product = a * b
    t = a * 134217729.0
    high = t - (t - a)
    low = a - high
    s = b * 134217729.0
    b_high = s - (s - b)
    b_low = b - b_high
    error = ((high * b_high - product) + high * b_low + low * b_high) + low * b_low
    total = product + c
    part = total - product
    return total + (error + ((product - (total - part)) + (c - part)))


def _libm(function: Callable[[float], float], x: np.ndarray) -> np.ndarray:
    """A function of the C library, elementwise. numpy's vectorised twins differ from it in the last bit."""
    return np.array(list(map(function, x.tolist())), dtype=np.float64)


def _cos_sin(angle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The C library's cosine and sine, through its complex exponential, which numpy calls as it is."""
    z = np.zeros(angle.shape, np.complex128)
    z.imag = angle
    np.exp(z, out=z)
    return z.real, z.imag


# Coefficients of Cephes' single-precision logarithm, sine and cosine (S. L. Moshier), which the AVX2 kernel evaluates.
_LOG = (
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
    -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
_COS = (2.443315711809948e-005, -1.388731625493765e-003, 4.166664568298827e-002)
_SIN = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_PI_4 = (-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8)


def _round32(x: np.ndarray) -> np.ndarray:
    """Round float64 values to the nearest float32 and keep them as float64, in place."""
    x[...] = x.astype(np.float32)
    return x


def _polynomial(x: np.ndarray, coefficients: tuple[float, ...]) -> np.ndarray:
    """Horner's scheme with one float32 rounding a step; `x` holds float32 values as float64."""
    first, *rest = (float(np.float32(c)) for c in coefficients)
    y = np.full_like(x, first)
    for c in rest:
        y *= x
        y += c
        _round32(y)
    return y


def _log32(u: np.ndarray) -> np.ndarray:
    """Natural logarithm of float32 values in (0, 1], as Cephes computes it in float32; float64 in and out."""
    m, exponent = np.frexp(u)
    e = exponent.astype(np.float64)
    small = m < float(np.float32(0.707106781186547524))
    e -= small
    x = np.where(small, m + m, m)
    x -= 1.0
    z = _round32(x * x)
    y = _polynomial(x, _LOG)
    y = _round32(y * x)
    y = _round32(y * z + _round32(e * float(np.float32(-2.12194440e-4))))
    y = _round32(y - 0.5 * z)
    x = _round32(x + y)
    return _round32(e * 0.693359375 + x)


def _cos_sin32(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cosine and sine of float32 values in [0, 2 pi], as Cephes computes them in float32; float64 in and out."""
    octant = ((_round32(x * float(np.float32(1.27323954473516)))).astype(np.int32) + 1) & ~1
    y = octant.astype(np.float64)
    for part in _PI_4:
        x = _round32(y * float(np.float32(part)) + x)
    z = _round32(x * x)
    c = _round32(_polynomial(z, _COS) * z)
    c = _round32(c * z - _round32(0.5 * z))
    c = _round32(c + 1.0)
    s = _round32(_polynomial(z, _SIN) * z)
    s = _round32(s * x + x)
    straight = (octant & 2) == 0
    cos, sin = np.where(straight, c, s), np.where(straight, s, c)
    np.negative(cos, out=cos, where=(~(octant - 2) & 4) != 0)
    np.negative(sin, out=sin, where=(octant & 4) != 0)
    return cos, sin


def _box_muller32(u: np.ndarray, mean: float, std: float) -> None:
    """Turn uniforms (rows of 16: eight radii, eight angles) into normals in place, as the AVX2 kernel does."""
    mean, std = float(np.float32(mean)), float(np.float32(std))
    two_pi = float(np.float32(2.0 * math.pi))
    rows = u.reshape(-1, 2, 8)
    for begin in range(0, len(rows), _BLOCK // 16):
        block = rows[begin : begin + _BLOCK // 16]
        radius = np.sqrt((-2.0 * _log32(1.0 - block[:, 0].astype(np.float64))).astype(np.float32)).astype(np.float64)
        cos, sin = _cos_sin32(_round32(block[:, 1] * two_pi))
        for half, wave in ((0, cos), (1, sin)):
            n = _round32(radius * wave)
            block[:, half] = n if (mean, std) == (0.0, 1.0) else n * std + mean


def _box_muller64(u: np.ndarray, mean: float, std: float) -> None:
    """The same in double precision, for float64."""
    rows = u.reshape(-1, 2, 8)
    radius = np.sqrt(-2.0 * _libm(math.log, 1.0 - rows[:, 0].ravel()))
    cos, sin = _cos_sin(2.0 * math.pi * rows[:, 1].ravel())
    rows[:, 0] = _fma64(radius * cos, std, mean).reshape(-1, 8)
    rows[:, 1] = _fma64(radius * sin, std, mean).reshape(-1, 8)


def _box_muller16(u: np.ndarray, mean: float, std: float) -> None:
    """The same in single precision with plain functions, for the 16-bit types; `u` is float32."""
    mean, std = float(np.float32(mean)), float(np.float32(std))
    rows = u.reshape(-1, 2, 8)
    log = np.log(1.0 - rows[:, 0].astype(np.float64)).astype(np.float32)
    angle = (np.float32(2.0 * math.pi) * rows[:, 1]).astype(np.float64)
    radius = np.sqrt(np.float32(-2.0) * log)
    rows[:, 0] = _fma32(radius * np.cos(angle).astype(np.float32), std, mean)
    rows[:, 1] = _fma32(radius * np.sin(angle).astype(np.float32), std, mean)


# -- distributions --------------------------------------------------------------------------------


def _in_memory_order(array: np.ndarray) -> np.ndarray:
    """The array with its dimensions sorted so that a plain walk follows memory."""
    if array.flags.c_contiguous:
        return array
    return array.transpose(sorted(range(array.ndim), key=lambda d: -array.strides[d]))


def _put(out: np.ndarray, values: np.ndarray) -> None:
    """Write drawn values into `out` in the order of memory."""
    target = _in_memory_order(out)
    if out.dtype == np.float16 and values.dtype == np.float64:
        values = values.astype(np.float32)  # PyTorch converts to 16 bits by way of 32
    with np.errstate(over="ignore"):
        target[...] = values.reshape(target.shape)


_NAMES = {
    "bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long",
    "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64",
    "float16": "Half", "float32": "Float", "float64": "Double",
    "complex64": "ComplexFloat", "complex128": "ComplexDouble",
}  # fmt: skip
_C_NAMES = {
    "bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short", "int32": "int",
    "int64": "int64_t", "float16": "c10::Half", "float32": "float", "float64": "double",
}  # fmt: skip


def _floating(out: np.ndarray, kernel: str) -> None:
    if out.dtype.kind != "f":
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{_NAMES[out.dtype.name]}'")


def _continuous(out: np.ndarray, name: str) -> None:
    if out.dtype.kind != "f":
        raise RuntimeError(
            f"{name} distribution is a continuous probability distribution. "
            f"dtype must be a floating point but you specified {_NAMES[out.dtype.name]}"
        )


def uniform(
    out: np.ndarray, low: float = 0.0, high: float = 1.0, generator: Generator | None = None, rounds: bool = False
) -> None:
    """Fill with values of [low, high); real and imaginary parts each for a complex array.

    `rounds` says that a float32 array stands for bfloat16.

    Raises RuntimeError for an empty or infinite range, NotImplementedError for integers.
    """
    if out.dtype.kind == "c":
        out = _as_real(out)
    _floating(out, "check_uniform_bounds")
    info = np.finfo(out.dtype)
    for name, bound in (("from", low), ("to", high)):
        if not float(info.min) <= bound <= float(info.max):
            raise RuntimeError(f"{name} is out of bounds for {_C_NAMES[out.dtype.name]}")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    if high - low > float(info.max):
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{_NAMES[out.dtype.name]}>::max(), but found "
            f"to={high:g} and from={low:g} which result in to-from to exceed the limit"
        )
    g = generator or default_generator
    unit = (low, high) == (0.0, 1.0)
    if out.dtype == np.float64:
        values = g.doubles(out.size)
        if not unit:
            values = _fma64(values, high - low, low)
    else:
        values = g.floats(out.size)
        if not unit:
            low, high = float(np.float32(low)), float(np.float32(high))
            values = _fma32(values, float(np.float32(high - low)), low)
        if out.dtype == np.float16:
            values = values.astype(np.float16)
        elif rounds:
            values, high = round_bfloat16(values), float(round_bfloat16(np.array([high], np.float32))[0])
    if not unit or rounds or out.dtype == np.float16:
        values[values == out.dtype.type(high)] = low  # rounding may reach the excluded end
    _put(out, values)


def _as_real(out: np.ndarray) -> np.ndarray:
    return out[..., None].view(np.real(out).dtype)


def _normal_doubles(n: int, g: Generator) -> np.ndarray:
    """`n` standard normals one after the other, two to a pair of uniforms; an odd one is kept for the next call."""
    values = np.empty(n)
    begin = 0
    if n and g.next_normal is not None:
        values[0], begin, g.next_normal = g.next_normal, 1, None
    missing = n - begin
    pairs = (missing + 1) // 2
    if pairs:
        u = g.doubles(2 * pairs)
        radius = np.sqrt(-2.0 * _libm(math.log1p, -u[1::2]))
        cos, sin = _cos_sin(2.0 * math.pi * u[0::2])
        both = np.stack([radius * cos, radius * sin], 1).ravel()
        values[begin:] = both[:missing]
        if missing % 2:
            g.next_normal = float(both[-1])
    return values


def normal(
    out: np.ndarray, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None, rounds: bool = False
) -> None:
    """Fill with normals (Box-Muller). A complex array gets half of the variance in each part.

    `rounds` says that a float32 array stands for bfloat16.

    Contiguous arrays of 16 elements and more are made in blocks of 16; all others pair by pair. The two give
    different numbers for the same seed, as in PyTorch. Raises RuntimeError for a negative `std`, NotImplementedError
    for integers.
    """
    if not std >= 0.0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if out.dtype.kind == "c":
        normal(_as_real(out), mean, std / math.sqrt(2.0), generator)
        return
    _floating(out, "normal_kernel_cpu")
    g = generator or default_generator
    n = out.size
    if n < 16 or not out.flags.c_contiguous:
        values = _normal_doubles(n, g)
        _put(out, values if (mean, std) == (0.0, 1.0) else _fma64(values, std, mean))
        return
    kind = "e" if rounds else out.dtype.char
    draw, transform = {
        "d": (g.doubles, _box_muller64),
        "f": (g.floats, _box_muller32),
        "e": (g.floats, _box_muller16),
    }[kind]
    whole = n - n % 16
    # The 16-bit types draw whole blocks only; the others a word for every element.
    values = np.zeros(n, np.float32) if kind == "e" else draw(n)
    if kind == "e":
        values[:whole] = draw(whole)
    transform(values[:whole], mean, std)
    if n % 16:
        values[-16:] = draw(16)  # the last sixteen are made anew, over what was there
        transform(values[-16:], mean, std)
    out.reshape(-1)[...] = values


def exponential(out: np.ndarray, rate: float = 1.0, generator: Generator | None = None) -> None:
    """Fill with -log(1 - u) / rate. Raises RuntimeError for `rate` <= 0 and for integers."""
    _continuous(out, "Exponential")
    if not rate > 0.0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={rate:g}")
    u = (generator or default_generator).doubles(out.size)
    _put(out, -1.0 / rate * _libm(math.log1p, -u))


def cauchy(out: np.ndarray, median: float = 0.0, sigma: float = 1.0, generator: Generator | None = None) -> None:
    """Fill with median + sigma tan(pi (u - 1/2)). Raises RuntimeError for `sigma` <= 0 and for integers."""
    _continuous(out, "Cauchy")
    if not sigma > 0.0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    u = (generator or default_generator).doubles(out.size)
    _put(out, _fma64(_libm(math.tan, math.pi * (u - 0.5)), sigma, median))


def log_normal(out: np.ndarray, mean: float = 1.0, std: float = 2.0, generator: Generator | None = None) -> None:
    """Fill with exp(normal(mean, std)). Raises RuntimeError for `std` <= 0 and for integers."""
    _continuous(out, "LogNormal")
    if not std > 0.0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    values = _fma64(_normal_doubles(out.size, generator or default_generator), std, mean)
    _put(out, _libm(math.exp, values))


def geometric(out: np.ndarray, p: float, generator: Generator | None = None) -> None:
    """Fill with the number of trials up to the first success. Raises RuntimeError for `p` outside of (0, 1)."""
    if not 0.0 < p < 1.0:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    u = (generator or default_generator).doubles(out.size)
    with np.errstate(divide="ignore"):
        _put(out, np.ceil(_libm(lambda v: math.log(v) if v else -math.inf, u) / math.log(1.0 - p)))


def bernoulli(out: np.ndarray, p: float | np.ndarray, generator: Generator | None = None) -> None:
    """Fill with ones, each with probability `p` (a number, or an array that broadcasts to `out`), and zeros.

    An array of float32 draws one word an element, float64 and a plain number draw two. Raises RuntimeError for a
    probability outside of [0, 1].
    """
    g = generator or default_generator
    if not isinstance(p, np.ndarray):
        if not 0.0 <= p <= 1.0:
            raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
        _put(out, g.doubles(out.size) < p)
        return
    if not np.all((p >= 0.0) & (p <= 1.0)):
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    u = np.empty(out.shape, np.float64 if p.dtype == np.float64 else np.float32)
    if not out.flags.c_contiguous:
        u = np.empty_like(out, dtype=u.dtype)  # laid out alike, so that elements meet their own probability
    _put(u, g.doubles(out.size) if u.dtype == np.float64 else g.floats(out.size))
    out[...] = u < p


def randint(
    out: np.ndarray, low: int, high: int | None, generator: Generator | None = None, *, name: str = "random_"
) -> None:
    """Fill with integers of [low, high). `high` None means all of int64 from `low` on.

    Raises RuntimeError for an empty range or one that `out` cannot hold.
    """
    check_bounds(out.dtype, low, high, name)
    g = generator or default_generator
    top = 2**63 if high is None else high
    span = top - low
    if span >= 1 << 28:
        words = g.long_words(out.size)
        if span < 1 << 64:
            words %= np.uint64(span)
    else:
        words = (g.words(out.size) % np.uint32(span)).astype(np.uint64)
    if low != -(2**63) or high is not None:  # all of int64: the word as it is
        with np.errstate(over="ignore"):
            words += np.uint64(low % 2**64)
    _put(out, words.view(np.int64))


def check_bounds(dtype: np.dtype, low: int, high: int | None, name: str = "random_") -> None:
    """Raises RuntimeError where [low, high) is empty or reaches beyond what `dtype` holds."""
    if high is not None and low >= high:
        raise RuntimeError(f"{name} expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if dtype.kind == "b":
        smallest, largest = 0, 1
    elif dtype.kind == "f":
        largest = int(np.finfo(dtype).max)
        smallest = -largest
    else:
        smallest, largest = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    if not smallest <= low <= largest:
        raise RuntimeError(f"from is out of bounds for {_C_NAMES.get(dtype.name, dtype.name)}")
    if high is not None and not smallest <= high - 1 <= largest:
        raise RuntimeError(f"to - 1 is out of bounds for {_C_NAMES.get(dtype.name, dtype.name)}")


def random(out: np.ndarray, generator: Generator | None = None, rounds: bool = False) -> None:
    """Fill with integers from 0 to the largest that the type holds exactly (all 2**n for a float of n bits).

    `rounds` says that a float32 array stands for bfloat16.
    """
    g = generator or default_generator
    kind, name = out.dtype.kind, out.dtype.name
    if name in ("uint16", "uint32", "uint64"):
        raise NotImplementedError(f"\"random_kernel_cpu\" not implemented for '{_NAMES[name]}'")
    if kind == "b":
        _put(out, g.words(out.size) & np.uint32(1))
    elif kind == "f":
        bits = 8 if rounds else np.finfo(out.dtype).nmant + 1
        count = np.uint64((1 << bits) + 1)
        words = g.long_words(out.size) if out.dtype == np.float64 else g.words(out.size).astype(np.uint64)
        _put(out, (words % count).astype(np.float64))
    else:
        words = g.long_words(out.size) if out.dtype == np.int64 else g.words(out.size).astype(np.uint64)
        _put(out, (words % np.uint64(int(np.iinfo(out.dtype).max) + 1)).astype(np.int64))


def randperm(n: int, generator: Generator | None = None) -> np.ndarray:
    """A random order of 0 to n-1 (Fisher-Yates from the front), as int64.

    Raises RuntimeError for a negative `n`.
    """
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    g = generator or default_generator
    draws = max(n - 1, 0)
    words = g.words(draws) if n < (2**32 - 1) // 20 else g.long_words(draws)
    start = np.arange(draws, dtype=np.uint64)
    order = list(range(n))
    # Each exchange needs the outcome of the one before, so this loop cannot become one array operation.
    for i, j in enumerate((words % (np.uint64(n) - start) + start).tolist()):
        order[i], order[j] = order[j], order[i]
    return np.array(order, dtype=np.int64)


def multinomial(p: np.ndarray, count: int, replacement: bool = False, generator: Generator | None = None) -> np.ndarray:
    """Indices drawn with weights `p` of shape (n) or (rows, n); returns int64 of shape (count) or (rows, count).

    Raises RuntimeError for weights that are negative, infinite, not a number, or all zero in a row, and for more
    draws than there are categories without replacement.
    """
    if p.dtype.kind != "f":
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {_NAMES[p.dtype.name]}")
    if not 1 <= p.ndim <= 2:
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    n = p.shape[-1]
    if count <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and count > n:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    g = generator or default_generator
    if not replacement or count == 1:
        if not np.all((p >= 0) & (p < np.inf)):
            raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
        if np.any(p.sum(-1) == 0):
            raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
        # The smallest of independent exponential waiting times is each category's with its own weight.
        q = np.empty(p.shape, p.dtype)
        exponential(q, 1.0, g)
        with np.errstate(divide="ignore", invalid="ignore"):
            q = p / q
        if count == 1:
            return np.argmax(q, -1, keepdims=True)
        return np.argsort(-q, -1, kind="stable")[..., :count]
    rows = p.reshape(-1, n)
    if np.any(np.isinf(rows)):
        raise RuntimeError("invalid multinomial distribution (encountering probability entry = infinity or NaN)")
    if not np.all(rows >= 0):
        raise RuntimeError("invalid multinomial distribution (encountering probability entry < 0)")
    total = np.cumsum(rows, -1, dtype=np.float64 if p.dtype == np.float64 else np.float32)
    if not np.all(total[:, -1] > 0):
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    total /= total[:, -1:]
    u = g.doubles(rows.shape[0] * count).reshape(-1, count)
    found = np.stack([np.searchsorted(t, v, "left") for t, v in zip(total, u, strict=True)])
    return np.minimum(found, n - 1).reshape(*p.shape[:-1], count)


def dropout_mask(out: np.ndarray, p: float, generator: Generator | None = None) -> None:
    """Fill with 0 (with probability `p`) and 1 / (1 - p): what a layer's input is multiplied with.

    With p = 1 all of it is 0.
    """
    bernoulli(out, 1.0 - p, generator)
    if p < 1.0:
        out /= out.dtype.type(1.0 - p)
