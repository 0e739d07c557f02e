"""The own functions of generated C: units in the last place against double precision, and their edges."""

from __future__ import annotations

import ctypes
import math

import numpy as np
import pytest

from tapescope.engine.compile.lower.cache.compiler import find
from tapescope.engine.compile.lower.print_c.functions import HEADER

REFERENCE = {
    "exp": np.exp, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "tanh": np.tanh,
    "erf": np.vectorize(math.erf, otypes=[float]),
}  # fmt: skip


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    compiler = find()
    if compiler is None:
        from conftest import missing

        missing("there is no C compiler")
    loops = "".join(
        f"void v_{n}(const float *x, float *y, long n) {{\n#pragma omp simd\n  for (long i = 0; i < n; i++) y[i] = ts_{n}f(x[i]);\n}}\n"
        for n in REFERENCE
    )
    path, _ = compiler.build(HEADER + loops, "functions")
    return ctypes.CDLL(str(path))


def points():
    r = np.random.default_rng(0)
    edges = [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 88.7, 89, -87.5, 1e-30, -1e-30, 40, -40, 9.9, -9.9]
    spread = [
        r.uniform(-12, 12, 60_000),
        r.uniform(-80, 88, 20_000),
        r.uniform(-1.5, 1.5, 60_000),
        10.0 ** r.uniform(-37, 38, 40_000),
    ]
    return np.concatenate([*spread, -(10.0 ** r.uniform(-37, 0, 20_000)), edges]).astype(np.float32)


@pytest.mark.parametrize("name", REFERENCE)
def test_within_three_units(library, name):
    x = points()
    y = np.empty_like(x)
    getattr(library, f"v_{name}")(
        x.ctypes.data_as(ctypes.c_void_p), y.ctypes.data_as(ctypes.c_void_p), ctypes.c_long(x.size)
    )
    with np.errstate(all="ignore"):
        exact = REFERENCE[name](x.astype(np.float64))
        rounded = exact.astype(np.float32)
        apart = np.abs(y.astype(np.float64) - exact)
        same = (y == rounded) | (np.isnan(y) & np.isnan(rounded)) | (np.abs(y - rounded) < 1e-40)
    normal = np.isfinite(rounded) & (np.abs(rounded) > 1.2e-38)
    units = apart[normal] / np.spacing(np.abs(rounded[normal])).astype(np.float64)
    assert units.max() < 3
    assert same[~normal].all()
    if name != "exp":
        zero = (x == 0) & np.signbit(x)
        assert name == "log" or np.signbit(y[zero]).all()
