"""Random numbers of the WebGPU device: a generator that is a seed and a counter, and which draws are made on the device.

Philox 4x32-10 turns each value of the counter into four words, so that what is drawn depends on the seed and on how much was drawn
before, and neither on the launch nor on the machine.  What has no kernel is drawn on the CPU from the same words.
"""

from __future__ import annotations

import functools
import inspect
import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from ....webgpu_kernels.random import counters
from ...random import DEFAULT_SEED, GENERATORS, Generator

_MASK = 0xFFFFFFFF


class PhiloxGenerator(Generator):
    """`torch.Generator(device="webgpu")`: its state is the seed and the number of counters used up, 16 bytes."""

    def __init__(self, device: Any = "webgpu"):
        self._seed(DEFAULT_SEED)

    def _seed(self, seed: int) -> None:
        self._initial_seed = seed
        self.used = 0
        self.next_normal = None

    @property
    def device(self) -> Any:
        """The device whose numbers it draws."""
        from ...device import device

        return device("webgpu")

    def take(self, n: int) -> tuple[int, int]:
        """The seed, and the first of the counters that n words use up; they are gone then."""
        start = self.used
        self.used = (start + counters(n)) & 0xFFFFFFFFFFFFFFFF
        return self._initial_seed, start

    def words(self, n: int) -> np.ndarray:
        """The next `n` words, computed on the CPU, as uint32."""
        seed, start = self.take(n)
        return philox(seed, start, counters(n)).reshape(-1)[:n]

    def state_bytes(self) -> bytes:
        """The state: seed and counter, 8 bytes each, little-endian."""
        return struct.pack("<QQ", self._initial_seed, self.used)

    def load_state_bytes(self, state: bytes) -> None:
        """Take over a state. Raises RuntimeError where it is none."""
        if len(state) != 16:
            raise RuntimeError(f"a state of the webgpu generator has 16 bytes, got {len(state)}")
        self._initial_seed, self.used = struct.unpack("<QQ", state)
        self.next_normal = None

    def clone_state(self) -> Generator:
        """Another generator that will draw the same numbers."""
        other = PhiloxGenerator()
        other.load_state_bytes(self.state_bytes())
        return other


def philox(seed: int, start: int, count: int) -> np.ndarray:
    """The words of `count` counters from `start` on, uint32 [count, 4]."""
    at = (np.arange(count, dtype=np.uint64) + np.uint64(start)) & np.uint64(0xFFFFFFFFFFFFFFFF)
    c = [at & np.uint64(_MASK), at >> np.uint64(32), np.zeros(count, np.uint64), np.zeros(count, np.uint64)]
    k = [seed & _MASK, seed >> 32 & _MASK]
    low, high = np.uint64(_MASK), np.uint64(32)
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(b >> high) ^ c[1] ^ np.uint64(k[0]), b & low, (a >> high) ^ c[3] ^ np.uint64(k[1]), a & low]
        k = [(k[0] + 0x9E3779B9) & _MASK, (k[1] + 0xBB67AE85) & _MASK]
    return np.stack(c, 1).astype(np.uint32)


default_generator = PhiloxGenerator()
"""The generator of draws on the device that name none; `torch.manual_seed` starts it too."""

GENERATORS["webgpu"] = (PhiloxGenerator, default_generator)


# -- what the device draws by itself ------------------------------------------------------------------------------

Drawn = tuple[str, float, float]
"""A kind of `webgpu_kernels.random`, and its two numbers."""


@functools.lru_cache(256)
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


def bound(fill: Any) -> inspect.BoundArguments | None:
    """The arguments of a draw by name, or None where it does not say how it draws."""
    function = getattr(fill, "function", None)
    if function is None:
        return None
    made = _signature(function).bind(None, *fill.args, **fill.kwargs)
    made.apply_defaults()
    return made


def _uniform(a: dict[str, Any]) -> Drawn | None:
    if "args" in a:  # the method `uniform_`, whose bounds are also called from and to
        given = [*a["args"], *[0.0, 1.0][len(a["args"]) :]]
        low, high = a["bounds"].get("from", given[0]), a["bounds"].get("to", given[1])
    else:
        low, high = a["low"], a["high"]
    return ("uniform", low, high) if low <= high and math.isfinite(high - low) else None


def _normal(a: dict[str, Any]) -> Drawn | None:
    return ("normal", a["mean"], a["std"]) if a["std"] >= 0 else None


def _bernoulli(a: dict[str, Any]) -> Drawn | None:
    p = a["p"]
    return ("bernoulli", p, 0.0) if isinstance(p, (int, float)) and 0 <= p <= 1 else None


def _mask(a: dict[str, Any]) -> Drawn | None:
    p = a["p"]
    return ("mask", 1.0 - p, 1.0 / (1.0 - p) if p < 1 else 0.0) if 0 <= p <= 1 else None


def _integers(a: dict[str, Any]) -> Drawn | None:
    low, high = a["low"], a["high"]
    fits = high is not None and -(2**31) <= low < high <= 2**31
    return ("integers", low, high - low) if fits else None


ON_DEVICE: dict[str, Callable[[dict[str, Any]], Drawn | None]] = {
    "uniform": _uniform, "_uniform": _uniform, "normal": _normal, "_normal": _normal, "bernoulli": _bernoulli,
    "dropout_mask": _mask, "randint": _integers,
}  # fmt: skip
"""By the name of the function that fills an array: how its arguments become a draw on the device, None where they do not."""
