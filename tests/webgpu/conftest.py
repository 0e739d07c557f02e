"""One WebGPU device for the tests of this folder.

Mesa's software driver computes tiny kernels six times faster without threads of its own; it reads the variable when it is
loaded, which is later than this.
"""

import os

os.environ.setdefault("LP_NUM_THREADS", "0")

import numpy as np
import pytest

from tapescope.engine import dtypes


@pytest.fixture(scope="session")
def shared(need_vulkan):
    """The backend that all tests of a process share."""
    need_vulkan()
    from tapescope.engine.backends.webgpu.backend import WebGPUBackend

    made = WebGPUBackend()
    yield made
    if made._device is not None:
        made._device.close()


class Bench:
    """Short names for what tests do: arrays up and down, and operators of the table."""

    def __init__(self, backend):
        self.backend = backend

    def up(self, array, dtype=None):
        array = np.asarray(array)
        return self.backend.upload(array, dtype or dtypes.of_numpy(array.dtype))

    def down(self, array):
        return self.backend.download(array, array.dtype)

    def strided(self, array):
        """The array with the strides it has in numpy, on memory that was uploaded as a whole."""
        base = array
        while base.base is not None and isinstance(base.base, np.ndarray):
            base = base.base
        root = self.up(np.ascontiguousarray(base).reshape(-1))
        size = array.itemsize
        offset = (array.__array_interface__["data"][0] - base.__array_interface__["data"][0]) // size
        return self.backend.view(root, array.shape, tuple(s // size for s in array.strides), offset)

    def op(self, name):
        from tapescope.engine.ops.table import OPS

        found = self.backend.kernels.get(name)
        return found if found is not None else self.backend.kernel(OPS[name])

    def expression(self, text, *parameters, result="same", first=None):
        from tapescope.engine.backends.webgpu.pointwise import Pointwise

        return Pointwise(self.backend, "test", text, parameters, result, first)


@pytest.fixture
def bench(shared):
    return Bench(shared)


@pytest.fixture(params=["serial", "tree"])
def rows(request, shared):
    """Run a test with the kernels of software adapters and with those of GPUs."""
    from tapescope.webgpu_kernels.tuning import HARDWARE, SOFTWARE

    before = shared.profile
    shared.profile = SOFTWARE if request.param == "serial" else HARDWARE
    for cache in shared._caches:
        cache.clear()
    yield request.param
    shared.profile = before
    for cache in shared._caches:
        cache.clear()
