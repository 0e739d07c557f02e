"""Kernels of operators that have no scalar expression in the table, or more than one output; made of pointwise ones.

And `nonzero`, whose result is as long as the data say: it waits for the counts.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....webgpu_kernels import compact
from ... import dtypes
from .array import GpuArray, broadcast, numel, spread
from .pointwise import Pointwise

_EXPRESSIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "gcd": ("gcd(x, y)", ("x", "y")),
    "lcm": ("lcm(x, y)", ("x", "y")),
    "nextafter": ("nextafter(x, y)", ("x", "y")),
    "prelu": ("where(x > 0, x, x * w)", ("x", "w")),
    "rrelu": ("x * noise", ("x", "noise")),
}


_EXPRESSIONS.update(
    {
        name: (f"{function}(x)", ("x",))
        for name, function in {
            **{n: n for n in ("erfcx", "log_ndtr", "i0", "i0e", "i1", "i1e")}, "airy_ai": "airy",
            **{n: n for n in ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1")},
            **{f"modified_bessel_{n}": n for n in ("i0", "i1", "k0", "k1")},
            "scaled_modified_bessel_k0": "k0e", "scaled_modified_bessel_k1": "k1e", "spherical_bessel_j0": "spherical_j0",
        }.items()
    }
)  # fmt: skip
_EXPRESSIONS.update(
    {
        name: (f"{function}(x, n)", ("x", "n"))
        for name, function in {
            "polygamma_of": "polygamma", "igamma": "gammainc", "igammac": "gammaincc", "zeta": "zeta",
            **{f"chebyshev_polynomial_{k}": f"chebyshev_{k}" for k in "tuvw"},
            "hermite_polynomial_h": "hermite_h", "hermite_polynomial_he": "hermite_he", "laguerre_polynomial_l": "laguerre_l",
            "legendre_polynomial_p": "legendre_p",
        }.items()
    }
)  # fmt: skip
_EXPRESSIONS.update(
    {f"shifted_chebyshev_polynomial_{k}": (f"chebyshev_{k}(2.0 * x - 1.0, n)", ("x", "n")) for k in "tuvw"}
)


class Small:
    """The operators that take a few pointwise launches."""

    def __init__(self, backend: Any):
        self.backend = backend
        made = {
            "logit": ("log(x / (1 - x))", ("x",), "same"),
            "logit_clamped": ("log(clamp(x, low, high) / (1 - clamp(x, low, high)))", ("x", "low", "high"), "same"),
            "replace": (
                "where(isnan(x), nan, where(isinf(x), where(x > 0, above, below), x))", ("x", "nan", "above", "below"), "same",
            ),
            "gate": ("x * sigmoid(y)", ("x", "y"), "same"),
            "size": ("abs(x)", ("x",), "same"),
            "square": ("x * x", ("x",), "same"),
            "root": ("sqrt(x)", ("x",), "same"),
            "power": ("pow(abs(x), p)", ("x", "p"), "same"),
            "there": ("where(x == 0, 0.0, 1.0)", ("x",), "same"),
            "turn": ("a * d - b * c", ("a", "b", "c", "d"), "same"),
            "mantissa": ("mantissa(x)", ("x",), "same"),
            "exponent": ("exponent(x)", ("x",), dtypes.int32),
        }  # fmt: skip
        self.parts = {n: Pointwise(backend, n, e, p, r) for n, (e, p, r) in made.items()}

    def logit(self, x: GpuArray, eps: float | None, out: GpuArray | None = None) -> GpuArray:
        """log(x / (1 - x)), with x clamped to [eps, 1 - eps] where eps is given."""
        if eps is None:
            return self.parts["logit"](x, out=out)
        return self.parts["logit_clamped"](x, float(eps), 1.0 - float(eps), out=out)

    def nan_to_num(self, x: GpuArray, nan: Any, posinf: Any, neginf: Any, out: GpuArray | None = None) -> GpuArray:
        """NaN and infinities replaced; None means 0 and the largest and smallest finite numbers."""
        if not x.dtype.is_floating_point:
            return self.backend.kernels["positive_copy"](x, out=out)
        most = dtypes.finfo(x.dtype).max
        values = [d if v is None else float(v) for v, d in ((nan, 0.0), (posinf, most), (neginf, -most))]
        return self.parts["replace"](x, *values, out=out)

    def glu(self, x: GpuArray, dim: int) -> GpuArray:
        """The first half along `dim` times the sigmoid of the second."""
        half = x.shape[dim] // 2
        shape = (*x.shape[:dim], half, *x.shape[dim + 1 :])
        a = GpuArray(x.block, x.dtype, shape, x.strides, x.offset, False)
        b = GpuArray(x.block, x.dtype, shape, x.strides, x.offset + half * x.strides[dim], False)
        return self.parts["gate"](a, b)

    def frexp(self, x: GpuArray) -> tuple[GpuArray, GpuArray]:
        """Mantissas and exponents."""
        return self.parts["mantissa"](x), self.parts["exponent"](x)

    def vector_norm(self, x: GpuArray, order: float, dims: tuple[int, ...], keepdim: bool) -> GpuArray:
        """The `order`-norm over dimensions. Half precision is squared and summed as float32."""
        kernels, parts = self.backend.kernels, self.parts
        kind, narrow = x.dtype, x.dtype.itemsize < 4 and not math.isinf(order) and order != 0
        x = self.backend.cast(x, dtypes.float32) if narrow else x
        if order == 0:
            made = kernels["sum"](parts["there"](x), dims, keepdim)
        elif math.isinf(order):
            made = kernels["amax" if order > 0 else "amin"](parts["size"](x), dims, keepdim)
        elif order == 1:
            made = kernels["sum"](parts["size"](x), dims, keepdim)
        elif order == 2:
            made = parts["root"](kernels["sum"](parts["square"](x), dims, keepdim))
        else:
            made = parts["power"](kernels["sum"](parts["power"](x, order), dims, keepdim), 1.0 / order)
        return self.backend.cast(made, kind) if narrow else made

    def cross(self, x: GpuArray, y: GpuArray, dim: int) -> GpuArray:
        """Cross products along a dimension of three."""
        shape = broadcast(x.shape, y.shape)
        out = self.backend.empty(shape, x.dtype)
        dim %= len(shape)

        def row(a: GpuArray, i: int) -> GpuArray:
            strides = spread(a.shape, a.strides, shape)
            sizes = (*shape[:dim], *shape[dim + 1 :])
            return GpuArray(
                a.block, a.dtype, sizes, (*strides[:dim], *strides[dim + 1 :]), a.offset + (i % 3) * strides[dim], False
            )

        if numel(shape):
            for i in range(3):
                self.parts["turn"](row(x, i + 1), row(x, i + 2), row(y, i + 1), row(y, i + 2), out=row(out, i))
        return out

    def nonzero(self, x: GpuArray) -> GpuArray:
        """The coordinates of the true elements, a row each, as int64. Waits for the device."""
        backend = self.backend
        device = backend.device
        n, rank = numel(x.shape), len(x.shape)
        if not n:
            return backend.empty((0, rank), dtypes.int64)
        words, group = compact.words(x.shape, x.offset, x.strides)
        code = backend.code(x.dtype)
        counts = device.pool.take(4 * compact.chunks(n))
        device.launch(
            device.pipeline(compact.build(code, group, False)), compact.grid(n), [x.block.handle, counts.handle], words
        )  # fmt: skip
        found = np.frombuffer(device.read(counts, 0, 4 * compact.chunks(n)), np.uint32)
        total = int(found.sum())
        out = backend.empty((total, rank), dtypes.int64)
        if total and rank:
            starts = (np.cumsum(found, dtype=np.uint32) - found).astype(np.uint32)
            begin = device.upload(starts, starts.nbytes)
            device.launch(
                device.pipeline(compact.build(code, group, True)), compact.grid(n),
                [x.block.handle, begin.handle, out.block.handle], words,
            )  # fmt: skip
        return out


def register(backend: Any) -> None:
    """Enter the kernels into the backend's table."""
    small = Small(backend)
    for name, (expression, parameters) in _EXPRESSIONS.items():
        backend.kernels[name] = Pointwise(backend, name, expression, parameters, "same")
    backend.kernels["positive_copy"] = Pointwise(backend, "positive_copy", "x", ("x",), "same")
    for name in ("logit", "nan_to_num", "glu", "frexp", "nonzero"):
        backend.kernels[name] = getattr(small, name)
    backend.kernels["linalg_vector_norm"] = small.vector_norm
    backend.kernels["linalg_cross"] = small.cross
