"""The recorder: how work is batched, when it is submitted, what is told, and what happens when things fail."""

import signal

import numpy as np
import pytest

from tapescope.engine import dtypes as D
from tapescope.engine.backends.webgpu import device as device_module
from tapescope.engine.backends.webgpu.backend import WebGPUBackend
from tapescope.engine.backends.webgpu.gpu import (
    CLEAR,
    COPY,
    DISPATCH,
    DeviceError,
    DeviceLost,
    NoAdapter,
    StaleBuffer,
    validate,
)
from tapescope.engine.backends.webgpu.native import NativeGpu, adapters, choose
from tapescope.engine.observe import bus
from tapescope.webgpu_kernels.wgsl import Kernel

from .conftest import Bench


@pytest.fixture
def own(need_vulkan):
    """A backend that a test may ruin."""
    need_vulkan()
    bench = Bench(WebGPUBackend())
    yield bench
    bench.backend._device.close()


def test_nothing_is_submitted_until_a_value_is_read(bench):
    device = bench.backend.device
    device.flush()
    before = device.submissions
    x = bench.up(np.zeros(16, np.float32))
    one = bench.up(np.ones(16, np.float32))
    add = bench.expression("x + y", "x", "y")
    for _ in range(100):
        x = add(x, one)
    assert device.submissions == before
    assert (bench.down(x) == 100).all()
    assert device.submissions == before + 1


def test_a_long_chain_is_submitted_in_parts(bench):
    device = bench.backend.device
    device.flush()
    before = device.submissions
    x, one = bench.up(np.zeros(4, np.float32)), bench.up(np.ones(4, np.float32))
    add = bench.expression("x + y", "x", "y")
    for _ in range(2000):
        x = add(x, one)
    submissions = device.submissions - before
    assert 2 <= submissions <= 12
    assert bench.down(x)[0] == 2000


def test_heavy_launches_are_submitted_early(bench, monkeypatch):
    monkeypatch.setattr(device_module, "MAX_WORK", 1000)
    device = bench.backend.device
    device.flush()
    before = device.submissions
    a = bench.up(np.ones((16, 16), np.float32))
    for _ in range(3):
        bench.op("mm")(a, a)
    assert device.submissions == before + 3


def test_bind_groups_are_made_once(bench):
    x, y = bench.up(np.zeros(16, np.float32)), bench.up(np.ones(16, np.float32))
    add = bench.expression("x + y", "x", "y")
    for _ in range(3):
        add(x, y, out=x)
    bench.backend.device.flush()
    groups = len(bench.backend.device.gpu._groups)
    for _ in range(50):
        add(x, y, out=x)
    assert bench.down(x)[0] == 53
    assert len(bench.backend.device.gpu._groups) == groups


def test_pipelines_do_not_depend_on_shapes(bench):
    """Fifty shapes of a small network's operators build no more pipelines than a few of them."""
    rng = np.random.default_rng(0)
    device = bench.backend.device

    def step(batch, width):
        x = bench.up(rng.standard_normal((batch, width)).astype(np.float32))
        w = bench.up(rng.standard_normal((40, width)).astype(np.float32))
        hidden = bench.op("mm")(x, bench.backend.view(w, (width, 40), (1, width), 0))
        hidden = bench.op("relu")(bench.op("add")(hidden, bench.up(np.ones(40, np.float32)), 1))
        soft = bench.op("log_softmax")(hidden, 1)
        loss = bench.op("mean")(soft, (0, 1), False)
        grad = bench.op("mm")(bench.backend.view(soft, (40, batch), (1, 40), 0), x)
        bench.op("add")(w, grad, -0.1, out=w)
        bench.op("sum")(soft, (0,), False)
        return float(bench.down(loss))

    for batch, width in ((3, 5), (32, 64), (64, 64), (100, 12), (8, 128), (257, 100), (50, 31)):
        step(batch, width)
    warm = device.pipelines
    for i in range(50):
        step(3 + 5 * i, 8 + 4 * (i % 13) + (i % 3))
    assert device.pipelines <= warm + 25


def test_listeners_hear_of_kernels_and_launches(own):
    told = []
    stop = bus.subscribe(told.append, ["kernel", "launch"])
    try:
        x = own.up(np.ones((8, 8), np.float32))
        own.op("exp")(x)
        own.op("exp")(x)
        own.backend.device.flush()
    finally:
        stop()
    built = [r for r in told if r.kind == "kernel"]
    launched = [r for r in told if r.kind == "launch"]
    assert len(built) == 1 and built[0].device == "webgpu" and "fn main(" in built[0].text and built[0].seconds > 0
    assert [r.op for r in launched] == ["exp", "exp"] and launched[0].workgroups == (1, 1, 1)
    assert launched[0].name == built[0].name == "exp.flat.wide" and launched[0].seconds is None


def test_timing_tells_seconds(own):
    device = own.backend.device
    if "timestamp-query" not in device.gpu.features:
        pytest.skip("this adapter has no timestamps")
    device.timing = True
    told = []
    stop = bus.subscribe(told.append, ["launch"])
    try:
        x = own.up(np.ones((64, 64), np.float32))
        y = own.op("mm")(own.op("exp")(x), x)
        assert own.down(y).shape == (64, 64)
    finally:
        stop()
    assert [r.op for r in told] == ["exp", "matmul"]
    assert all(r.seconds is not None and 0 <= r.seconds < 10 for r in told)


def test_a_kernel_that_does_not_compile_names_itself(own):
    with pytest.raises(DeviceError, match=r"refused the kernel 'broken'.*wgsl"):
        own.backend.device.pipeline(Kernel("broken", "fn main( {", "rw", 64))
    assert own.down(own.op("exp")(own.up(np.zeros(3, np.float32)))).tolist() == [1, 1, 1]


def test_debug_surfaces_an_error_at_its_launch(need_vulkan):
    need_vulkan()
    bench = Bench(WebGPUBackend(debug=True))
    device = bench.backend.device
    try:
        x = bench.up(np.ones(4, np.float32))
        before = device.submissions
        bench.op("exp")(x)
        assert device.submissions == before + 1
        with pytest.raises(StaleBuffer, match="Buffer 123456789"):
            device.launch(device.pipeline(_copy_kernel()), (1, 1, 1), [123456789, x.block.handle], [1])
        assert bench.down(bench.op("exp")(x))[0] == pytest.approx(np.e)
    finally:
        device.close()


def _copy_kernel():
    from tapescope.webgpu_kernels import pointwise

    return pointwise.build("copy", "x", ("x",), (("f32", "array"),), "f32", "flat")


def test_a_bad_command_does_not_take_the_others_along(own):
    device = own.backend.device
    x = own.up(np.ones(4, np.float32))
    y = own.op("exp")(x)
    device.launch(device.pipeline(_copy_kernel()), (1, 1, 1), [987654321, x.block.handle], [0, 0, 1])
    with pytest.raises(StaleBuffer):
        own.down(y)
    assert own.down(y)[0] == pytest.approx(np.e)


def test_a_lost_device_says_so_and_the_next_use_opens_another(own):
    x = own.up(np.ones((4, 4), np.float32))
    y = own.op("exp")(x)
    own.backend.device.gpu.destroy()
    with pytest.raises(DeviceLost, match=r"was lost \(destroyed.*opens a new one"):
        own.down(y)
    for call in (lambda: own.down(x), lambda: own.op("exp")(x), lambda: own.op("sum")(x, (0,), False)):
        with pytest.raises(StaleBuffer, match="was lost"):
            call()
    assert own.down(own.op("exp")(own.up(np.zeros((4, 4), np.float32)))).tolist() == [[1] * 4] * 4
    assert own.backend.device.gpu.lost is None


@pytest.mark.parametrize("doing", ["upload", "read", "launch", "wait"])
def test_a_loss_is_found_whatever_comes_next(own, doing):
    x = own.up(np.ones(4, np.float32))
    device = own.backend.device
    device.gpu.destroy()
    with pytest.raises(DeviceLost):
        if doing == "upload":
            own.up(np.ones(3, np.float32))
            own.up(np.ones(3, np.float32))
        elif doing == "read":
            own.down(x)
        elif doing == "launch":
            own.op("exp")(x)
            device.flush()
        else:
            device.wait()


def test_training_goes_on_from_host_copies_after_a_loss(own):
    weights = np.ones((3, 3), np.float32)
    for step in range(4):
        w = own.up(weights)
        if step == 2:
            own.backend.device.gpu.destroy()
        try:
            weights = own.down(own.expression("w * 2", "w")(w))
        except DeviceLost:
            weights = own.down(own.expression("w * 2", "w")(own.up(weights)))
    assert (weights == 16).all()


def test_the_device_keeps_to_the_browsers_limits(bench):
    gpu = bench.backend.device.gpu
    limits = gpu._calls.limits_of(gpu._device)
    assert limits["maxStorageBuffersPerShaderStage"] == 8
    assert limits["maxComputeInvocationsPerWorkgroup"] == 256
    assert limits["maxComputeWorkgroupStorageSize"] == 16_384
    assert limits["maxStorageBufferBindingSize"] == 128 << 20
    assert limits["maxBufferSize"] == 256 << 20
    assert limits["maxComputeWorkgroupsPerDimension"] == 65_535
    assert limits["minStorageBufferOffsetAlignment"] == limits["minUniformBufferOffsetAlignment"] == 256


def test_adapters_are_listed_and_chosen_by_name(need_vulkan):
    need_vulkan()
    found = adapters()
    assert found and all(a.name and a.backend in ("Vulkan", "Metal", "D3D12") for a in found)
    assert choose(found[0].name[:4].upper())[0] == found[0]
    with pytest.raises(NoAdapter, match="has 'no such card' in its name; there are '"):
        choose("no such card")


def test_an_adapter_that_the_environment_asks_for(need_vulkan, monkeypatch):
    need_vulkan()
    monkeypatch.setenv("TAPESCOPE_ADAPTER", "no such card")
    with pytest.raises(
        NoAdapter, match=r"has 'no such card' in its name; there are '.*TAPESCOPE_ADAPTER asks for it: set it to"
    ):
        choose()
    monkeypatch.setenv("TAPESCOPE_ADAPTER", adapters()[-1].name)
    assert choose()[0] == adapters()[-1]


def test_no_adapter_at_all(monkeypatch):
    from tapescope.engine.backends.webgpu import native

    monkeypatch.setattr(native, "_found", list)
    with pytest.raises(NoAdapter, match=r"No WebGPU adapter was found.*device='cpu'"):
        choose()
    monkeypatch.setattr(native.sys, "platform", "linux")
    with pytest.raises(NoAdapter, match="apt-get install libvulkan1 mesa-vulkan-drivers"):
        NativeGpu()


def test_command_lists_are_checked():
    good = [DISPATCH, 7, 1, 1, 1, 2, 10, 11, 3, 1, 2, 3, COPY, 1, 0, 2, 0, 16, CLEAR, 1, 0, 4]
    assert validate(good) == 3
    for bad in ([9], [COPY, 1], [DISPATCH, 7, 1, 1, 1, 2, 10], good[:-1]):
        with pytest.raises(ValueError):
            validate(bad)


def test_copies_and_clears(own):
    device = own.backend.device
    x, y = own.up(np.arange(8, dtype=np.float32)), own.up(np.zeros(8, np.float32))
    device.copy_bytes(x.block.handle, 8, y.block.handle, 0, 16)
    device.clear_bytes(x.block.handle, 0, 8)
    assert own.down(y).tolist() == [2, 3, 4, 5, 0, 0, 0, 0]
    assert own.down(x).tolist() == [0, 0, 2, 3, 4, 5, 6, 7]


def test_ctrl_c_waits_until_a_submission_is_whole(own, monkeypatch):
    device = own.backend.device
    x = own.up(np.zeros(4, np.float32))
    for _ in range(5):
        x = own.expression("x + 1", "x")(x)
    submit = device.gpu.submit

    def interrupted(commands):
        signal.raise_signal(signal.SIGINT)
        submit(commands)

    monkeypatch.setattr(device.gpu, "submit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        device.flush()
    monkeypatch.setattr(device.gpu, "submit", submit)
    assert own.down(x).tolist() == [5] * 4


def test_values_of_every_dtype_come_back_as_they_went(bench):
    rng = np.random.default_rng(0)
    for name in (
        "float32",
        "float16",
        "int64",
        "int32",
        "int16",
        "int8",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "bool",
    ):
        kind = D.DTYPES[name]
        for shape in ((), (1,), (3,), (5, 7), (0, 2)):
            x = rng.integers(0, 100, shape).astype(kind.numpy)
            made = bench.backend.download(bench.backend.upload(x, kind), kind)
            assert made.dtype == kind.numpy and made.shape == shape
            np.testing.assert_array_equal(made, x)


def test_reading_a_window_of_half_precision_at_an_odd_place(bench):
    x = np.arange(9, dtype=np.float16)
    a = bench.backend.view(bench.up(x), (3,), (1,), 5)
    assert bench.down(a).tolist() == [5, 6, 7]
    assert bench.down(bench.backend.view(bench.up(x), (3,), (3,), 1)).tolist() == [1, 4, 7]
