"""What an adapter was found to want: the choice, the file that keeps it, and that results do not depend on it."""

import json

import numpy as np
import pytest

from tapescope.engine.backends.webgpu import tuning
from tapescope.engine.backends.webgpu.gpu import AdapterInfo
from tapescope.webgpu_kernels.tuning import CANDIDATES, HARDWARE, ROWS, SHAPES, SOFTWARE, chosen, profile_for


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TAPESCOPE_CACHE", str(tmp_path))
    return tmp_path / "kernels.json"


def figures(best):
    products = {name: dict.fromkeys(SHAPES, 1.0 if name == best else 2.0) for name in CANDIDATES}
    return products, {"serial": dict.fromkeys(ROWS, 3.0), "tree": dict.fromkeys(ROWS, 1.0)}


def test_the_choice_is_the_nearest_to_the_best_of_each_shape():
    for name, (tiles, threads) in CANDIDATES.items():
        made = chosen(*figures(name))
        assert (made.tiles, made.threads, made.rows) == (tiles, threads, "tree")
    products, rows = figures("none of them")
    first, second, *_ = CANDIDATES
    products[first]["square"], products[second]["small"] = 1.9, 0.1
    assert chosen(products, rows).tiles == CANDIDATES[second][0] and second in chosen(products, rows).name
    assert profile_for("cpu") is SOFTWARE and profile_for("discrete") is HARDWARE


def test_a_probe_is_kept_by_adapter_and_driver(shared, cache, monkeypatch):
    before = shared.profile
    try:
        profile, entry = tuning.measure(shared)
        assert shared.profile is profile and entry["products"].keys() == CANDIDATES.keys()
        info = shared.device.gpu.info
        assert tuning.load(info) == profile and json.loads(cache.read_text())[tuning.key(info)] == entry
        other = AdapterInfo(info.name, info.backend, info.kind, driver="another")
        assert tuning.load(other) is None
        lines = tuning.report(shared)
        assert any(info.name in line for line in lines) and any("small tiles" in line for line in lines)
        # A damaged file is as none.
        for text in ("{", "[]", json.dumps({tuning.key(info): {"products": 3}})):
            cache.write_text(text)
            assert tuning.load(info) is None
    finally:
        shared.profile = before
        tuning._forget(shared)


def test_who_is_probed_at_its_opening(monkeypatch):
    assert not tuning.wanted(AdapterInfo("llvmpipe", "Vulkan", "cpu"))
    assert tuning.wanted(AdapterInfo("card", "Vulkan", "discrete"))
    monkeypatch.setenv("TAPESCOPE_PROBE", "0")
    assert not tuning.wanted(AdapterInfo("card", "Vulkan", "discrete"))


@pytest.mark.parametrize("name", CANDIDATES)
def test_every_choice_computes_the_same(bench, name):
    from tapescope.webgpu_kernels.tuning import Profile

    tiles, threads = CANDIDATES[name]
    rng = np.random.default_rng(0)
    with tuning._profile(bench.backend, Profile("test", "serial", tiles, threads)):
        for m, k, n in ((1, 40, 33), (5, 600, 9), (70, 12, 65), (40, 40, 40)):
            a, b = rng.standard_normal((m, k)).astype(np.float32), rng.standard_normal((k, n)).astype(np.float32)
            np.testing.assert_allclose(
                bench.down(bench.op("mm")(bench.up(a), bench.up(b))), a @ b, rtol=1e-4, atol=1e-4
            )
