"""Modules of the engine's own tests once more, with `webgpu` as the default device.

Each module is loaded a second time, so that what it makes when it is loaded lies on the device too. A test of the CPU takes for
granted that values are in memory at hand: here `numpy()` copies them, `from_numpy` puts them on the device, and a tensor prints
without naming it. What is left out, and why, stands in two tables.
"""

import importlib
import sys
import types
import warnings
from pathlib import Path

import pytest
from conftest import need_vulkan as find_adapters

from tapescope import engine as torch

ENGINE = Path(__file__).parents[1] / "engine"
PACKAGE = "engine_on_the_device"
MODULES = (
    "test_views", "test_tensor", "test_autograd", "test_dispatch", "test_func", "test_failed_tapes", "test_printing", "test_parts_and_inference",
    "test_random", "ops.test_arrays", "ops.test_expressions", "ops.test_masked", "ops.test_movement", "ops.test_numerics",
    "ops.test_pointwise", "ops.test_reduction", "ops.test_sorting", "ops.test_values", "ops.test_windows",
)  # fmt: skip

MODULES_LEFT_OUT = {
    "test_gradients": "checks in double precision, which the CPU computes; `test_properties` and the conformance run have gradients",
    "ops.test_composed": "checks in double precision, which the CPU computes",
    "ops.test_linalg": "factorisations run on the CPU",
    "ops.test_fourier": "transforms run on the CPU",
    "nn.test_layers": "frozen weights were drawn with the CPU's generator",
    "optim.test_steps": "frozen weights were drawn with the CPU's generator; `test_optimizers` steps here",
    "test_serialization": "files name the CPU; `test_device` has those of the device",
    "test_mistakes": "sentences about mistakes do not depend on the device",
    "test_surface": "names do not depend on the device",
    "test_tapescope_namespace": "names do not depend on the device",
    "test_distributed": "processes exchange arrays of the CPU",
    "test_jit": "archives hold arrays of the CPU",
    "test_onnx": "files hold arrays of the CPU",
    "test_programs": "programs in processes of their own",
    "data.test_loading": "data sets are read on the CPU",
    "data.test_workers": "data sets are read on the CPU",
    "distributions.test_distributions": "densities in double precision, which the CPU computes",
    "distributions.test_samplers": "frozen draws of the CPU's generator",
    "nn.test_module_path": "names do not depend on the device",
}

_HOST = "is about memory of the CPU"
_INDEX = "an index out of range is noticed when a value is read, and named in the device's words"
LEFT_OUT = {
    "tensor__facts": "names the device",
    "tensor__memory_is_shared_with_numpy_both_ways": _HOST,
    "tensor__views_of_arrays_with_gaps": _HOST,
    "tensor__copies_and_pickles": "a pickle comes back on the CPU",
    "dispatch__gradients_cross_devices": "is about two other devices",
    "dispatch__tensors_of_two_devices_do_not_mix": "is about two other devices",
    "dispatch__rules_for_shapes_and_dtypes_hold": "asks numpy's arrays what was computed",
    "reduction__gradients": "checks in double precision, which the CPU computes",
    "arrays__expressions[indexing]": _INDEX,
    "arrays__expressions[movement]": _INDEX,
    "expressions__expressions[forms]": "mixes arrays of numpy with tensors, which are on another device here; integers above 32 bits",
    "expressions__expressions[nodes]": "lines break by the length of the printed device",
    "movement__writing_by_index_is_in_place": _HOST,
    "pointwise__views_of_complex_numbers_share_memory": _HOST,
    "pointwise__integers_are_computed_in_double_precision": "single precision is the widest here",
    "windows__refused_as_in_pytorch[F.max_unpool1d": _INDEX,
    "windows__refused_as_in_pytorch[F.embedding": _INDEX,
}
"""By the beginning of a test's name."""


class OnDevice:
    """While entered: the default device, and what a test of the CPU takes for granted."""

    def __enter__(self):
        self.kept = torch.Tensor.numpy, torch.from_numpy, torch.Tensor.__repr__
        numpy, from_numpy, text = self.kept
        torch.Tensor.numpy = lambda t, *a, **k: numpy(t.cpu() if t.device.type == "webgpu" else t, *a, **k)
        torch.from_numpy = lambda a: from_numpy(a).to("webgpu")
        torch.Tensor.__repr__ = lambda t, *a, **k: text(t, *a, **k).replace(", device='webgpu:0'", "")
        torch.set_default_device("webgpu")
        self.calm = warnings.catch_warnings()
        self.calm.__enter__()
        warnings.simplefilter("ignore")

    def __exit__(self, *_):
        self.calm.__exit__(None, None, None)
        torch.set_default_device("cpu")
        torch.Tensor.numpy, torch.from_numpy, torch.Tensor.__repr__ = self.kept


@pytest.fixture(autouse=True, scope="module")
def on_the_device():
    find_adapters()
    with OnDevice():
        yield


@pytest.fixture(autouse=True)
def left_out(request):
    name = request.node.name.removeprefix("test_")
    for beginning, reason in LEFT_OUT.items():
        if name.startswith(beginning):
            pytest.skip(reason)


def enter():
    """Load the modules, and enter their tests and fixtures here."""
    for name in ("", ".ops"):
        package = sys.modules[PACKAGE + name] = types.ModuleType(PACKAGE + name)
        package.__path__ = [str(ENGINE.joinpath(*name.split(".")))]
    with OnDevice():
        for name in MODULES:
            module = importlib.import_module(f"{PACKAGE}.{name}")
            short = name.rpartition("test_")[2]
            for key, value in vars(module).items():
                if key.startswith("test_"):
                    globals()[f"test_{short}__{key[5:]}"] = value
                elif type(value).__name__ == "FixtureFunctionDefinition":
                    globals()[key] = value


if find_adapters():
    enter()


def test_every_module_is_here_or_left_out_with_a_reason():
    there = {".".join(p.relative_to(ENGINE).with_suffix("").parts) for p in ENGINE.rglob("test_*.py")}
    assert there == {*MODULES, *MODULES_LEFT_OUT} and not set(MODULES) & set(MODULES_LEFT_OUT)


def test_what_is_left_out_is_there():
    names = [n.removeprefix("test_") for n in globals() if n.startswith("test_")]
    for beginning in LEFT_OUT:
        assert beginning.partition("[")[0] in names, beginning
