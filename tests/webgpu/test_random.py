"""Numbers drawn on the device: the words of Philox 4x32-10, and the distributions made of them."""

import pickle

import numpy as np
import pytest

from tapescope import engine as torch
from tapescope.engine import dtypes as D
from tapescope.webgpu_kernels import random as kernels

MASK = 0xFFFFFFFF


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & MASK, (a >> 32) ^ c[3] ^ k[1], a & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return c


def test_the_reference_gives_the_published_words():
    assert philox([0] * 4, [0] * 2) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert philox([MASK] * 4, [MASK] * 2) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]


@pytest.mark.parametrize(("seed", "start"), [(0, 0), (12345, 7), (2**64 - 1, 2**32 - 2), (1 << 40, 1 << 33)])
def test_uniform_numbers_are_the_words(bench, seed, start):
    got = bench.down(bench.backend.philox("uniform", (4, 5), D.float32, seed, start)).reshape(-1)
    words = []
    for block in range(kernels.counters(20)):
        at = start + block
        words += philox([at & MASK, at >> 32, 0, 0], [seed & MASK, seed >> 32])
    np.testing.assert_array_equal(got, (np.array(words, np.uint32) >> 8).astype(np.float32) * np.float32(2.0**-24))


def test_a_draw_continues_where_another_ended(bench):
    whole = bench.down(bench.backend.philox("normal", (64,), D.float32, 3, 0))
    rest = bench.down(bench.backend.philox("normal", (32,), D.float32, 3, kernels.counters(32)))
    np.testing.assert_array_equal(whole[32:], rest)


def test_distributions(bench):
    n = 200_000
    uniform = bench.down(bench.backend.philox("uniform", (n,), D.float32, 1, 0, -2.0, 3.0))
    assert uniform.min() >= -2 and uniform.max() < 3
    assert abs(uniform.mean() - 0.5) < 0.02 and abs(uniform.var() - 25 / 12) < 0.03
    normal = bench.down(bench.backend.philox("normal", (n,), D.float32, 1, 0, 1.0, 2.0))
    assert np.isfinite(normal).all()
    assert abs(normal.mean() - 1) < 0.02 and abs(normal.std() - 2) < 0.02
    assert abs((np.abs(normal - 1) < 2).mean() - 0.6827) < 0.005
    coin = bench.down(bench.backend.philox("bernoulli", (n,), D.bool_, 1, 0, 0.3))
    assert coin.dtype == np.bool_ and abs(coin.mean() - 0.3) < 0.005
    mask = bench.down(bench.backend.philox("bernoulli", (n,), D.float32, 1, 0, 0.3))
    np.testing.assert_array_equal(mask, coin.astype(np.float32))


def test_a_narrow_range_never_gives_its_upper_bound(bench):
    drawn = bench.down(
        bench.backend.philox(
            "uniform", (100_000,), D.float32, 5, 0, 1.0, float(np.nextafter(np.float32(1), np.float32(2)))
        )
    )
    assert (drawn == 1).all()


def test_unknown_distribution():
    with pytest.raises(ValueError, match="no distribution 'cauchy'"):
        kernels.build("cauchy", "f32")


# -- through the engine -----------------------------------------------------------------------------------------


@pytest.fixture
def seeded(need_vulkan):
    need_vulkan()
    state, own = torch.get_rng_state(), torch.webgpu.get_rng_state()
    torch.manual_seed(7)
    yield
    torch.set_rng_state(state)
    torch.webgpu.set_rng_state(own)


def test_one_seed_gives_the_same_tensors_again(seeded):
    def draws():
        return [
            torch.randn(5, device="webgpu").tolist(),
            torch.rand(3, 2, device="webgpu").tolist(),
            torch.randint(-3, 9, (20,), device="webgpu").tolist(),
            torch.nn.functional.dropout(torch.ones(50, device="webgpu"), 0.3).tolist(),
            torch.randperm(9, device="webgpu").tolist(),
            torch.empty(4, device="webgpu").exponential_().tolist(),
            torch.bernoulli(torch.full((9,), 0.4, device="webgpu")).tolist(),
        ]

    first = draws()
    state = torch.webgpu.get_rng_state()
    more = draws()
    assert more != first
    torch.webgpu.set_rng_state(state)
    assert draws() == more
    torch.manual_seed(7)
    assert draws() == first
    assert sorted(first[4]) == list(range(9)) and set(first[2]) <= set(range(-3, 9))
    assert torch.webgpu.initial_seed() == 7


def test_the_words_on_the_cpu_are_those_of_the_device(seeded):
    a, b = (torch.Generator(device="webgpu").manual_seed(2**63 + 5) for _ in range(2))
    assert a.device.type == "webgpu" and isinstance(a, torch.Generator)
    drawn = torch.rand(7, device="webgpu", generator=a).tolist()
    assert drawn == ((b.words(7) >> 8).astype(np.float32) * np.float32(2.0**-24)).tolist()
    assert a.get_state().tolist() == b.get_state().tolist() == pickle.loads(pickle.dumps(a)).get_state().tolist()
    c = a.clone_state()
    assert torch.rand(3, device="webgpu", generator=a).tolist() == torch.rand(3, device="webgpu", generator=c).tolist()
    with pytest.raises(RuntimeError, match="has 16 bytes, got 3"):
        a.set_state(torch.zeros(3, dtype=torch.uint8))


def test_a_cpu_generator_gives_the_cpus_numbers(seeded):
    a, b = (torch.Generator().manual_seed(1) for _ in range(2))
    assert torch.randn(20, generator=a, device="webgpu").tolist() == torch.randn(20, generator=b).tolist()


def test_forked_draws_leave_no_trace(seeded):
    state = torch.webgpu.get_rng_state().tolist()
    with torch.random.fork_rng():
        torch.rand(100, device="webgpu")
    assert torch.webgpu.get_rng_state().tolist() == state


def test_half_precision_never_reaches_the_upper_bound(seeded):
    for kind in (torch.float16, torch.bfloat16):
        drawn = torch.rand(200_000, device="webgpu", dtype=kind)
        assert drawn.dtype is kind and drawn.max().item() < 1 and drawn.min().item() >= 0


def test_bad_arguments_are_refused_as_on_the_cpu(seeded):
    x = torch.empty(3, device="webgpu")
    with pytest.raises(RuntimeError, match="expects to return a"):
        x.uniform_(2, 1)
    with pytest.raises(RuntimeError, match="expects std >= 0.0"):
        x.normal_(0, -1)
    with pytest.raises(RuntimeError, match="out of bounds"):
        torch.randint(0, 300, (3,), dtype=torch.uint8, device="webgpu")
