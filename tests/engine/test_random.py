"""The CPU generator draws PyTorch's numbers: frozen values, the state's layout, bad arguments."""

from __future__ import annotations

import copy
import hashlib
import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from tapescope.engine import random as rnd

GOLDEN = Path(__file__).parents[1] / "golden" / "random"


def load(name: str):
    return json.loads((GOLDEN / f"{name}.json").read_text())


def label(case) -> str:
    return f"{case['name']}-{case['dtype']}-{'x'.join(map(str, case['shape']))}-{case['seed']}-{case['args']}"


def position() -> int:
    return int.from_bytes(rnd.default_generator.state_bytes()[16:24], "little")


def hold(case, array: np.ndarray) -> None:
    """The array is the frozen one: exactly, or but for the last bit of a library function."""
    flat = np.ascontiguousarray(array).reshape(-1)
    flat = flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat
    want = np.array([float.fromhex(v) if isinstance(v, str) else v for v in case["head"]], dtype=flat.dtype)
    got = flat[: len(want)]
    if case["exact"]:
        np.testing.assert_array_equal(got, want)
        assert hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest() == case["sha256"]
    else:
        np.testing.assert_array_max_ulp(got, want, maxulp=2)
    assert position() == case["position"]


@pytest.mark.parametrize("case", load("fills"), ids=label)
def test_fills(case):
    rnd.manual_seed(case["seed"])
    array = np.zeros(case["shape"], case["dtype"])
    getattr(rnd, case["name"])(array, *case["args"])
    hold(case, array)


@pytest.mark.parametrize("case", load("others"), ids=label)
def test_others(case):
    rnd.manual_seed(case["seed"])
    name, args = case["name"], case["args"]
    if name == "randperm":
        array = rnd.randperm(*args)
    elif name == "multinomial":
        p = np.zeros(case["shape"], case["dtype"])
        rnd.uniform(p, generator=rnd.Generator().manual_seed(3))
        array = rnd.multinomial(p, *args)
    elif name == "bernoulli_each":
        array = np.zeros((7, 9), np.float32)
        rnd.bernoulli(array, (np.arange(63) / 62).astype(case["dtype"]).reshape(7, 9))
        array = array.astype(case["dtype"])
    elif name == "dropout":
        array = np.zeros(33, np.float32)
        rnd.dropout_mask(array, *args)
    else:
        array = np.zeros((7, 9), np.float32).T
        getattr(rnd, name.partition("_")[0])(array, 0.3, 1.7)
    hold(case, array)


@pytest.mark.parametrize("case", load("states")["known"], ids=lambda c: c["label"])
def test_state_has_pytorchs_layout(case):
    rnd.manual_seed(11)
    if case["label"] == "half a pair":
        rnd.normal(np.zeros(3, np.float32))
    elif case["label"] != "fresh":
        rnd.uniform(np.zeros(5 if case["label"] == "drawn" else 624, np.float32))
    state = rnd.default_generator.state_bytes()
    if case["label"] != "half a pair":  # there a library function's last bit stands in the state
        assert hashlib.sha256(state).hexdigest() == case["state"]
    other = rnd.Generator()
    other.load_state_bytes(state)
    out = np.zeros(5, np.float32)
    rnd.normal(out, generator=other)
    want = np.array([float.fromhex(v) for v in case["after"]], np.float32)
    np.testing.assert_array_max_ulp(out, want, maxulp=2)


def test_a_state_from_pytorch_goes_on_there():
    case = load("states")["foreign"]
    words = b"".join(w.to_bytes(8, "little") for w in case["words"])
    rnd.default_generator.load_state_bytes(bytes.fromhex(case["head"]) + words + bytes.fromhex(case["tail"]))
    assert rnd.initial_seed() == 12
    out = np.zeros(5, np.float32)
    rnd.normal(out)
    np.testing.assert_array_max_ulp(out, np.array([float.fromhex(v) for v in case["after"]], np.float32), maxulp=2)


@pytest.mark.parametrize("copier", [copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g)), rnd.Generator.clone_state])
def test_copies_draw_the_same(copier):
    g = rnd.Generator().manual_seed(7)
    g.words(700)
    rnd.normal(np.zeros(1), generator=g)
    other = copier(g)
    a, b = np.zeros(9), np.zeros(9)
    rnd.normal(a, generator=g)
    rnd.normal(b, generator=other)
    np.testing.assert_array_equal(a, b)
    assert other.initial_seed() == 7


def test_generators_do_not_disturb_each_other():
    rnd.manual_seed(0)
    first = rnd.default_generator.clone_state().words(3)
    rnd.Generator().manual_seed(1).words(10)
    with rnd.fork_rng():
        rnd.default_generator.words(1000)
    np.testing.assert_array_equal(rnd.default_generator.words(3), first)


def test_words_do_not_depend_on_how_many_are_asked_for():
    g, h = rnd.Generator().manual_seed(3), rnd.Generator().manual_seed(3)
    np.testing.assert_array_equal(g.words(10_000), np.concatenate([h.words(n) for n in (1, 623, 4000, 5376)]))


def test_seeds():
    assert rnd.Generator().initial_seed() == rnd.DEFAULT_SEED
    g = rnd.Generator()
    assert g.manual_seed(-1) is g and g.initial_seed() == 2**64 - 1
    assert g.seed() == g.initial_seed() < 2**53
    with pytest.raises(ValueError, match="Overflow"):
        g.manual_seed(2**64)
    with pytest.raises(RuntimeError, match="manual_seed expected a long, but got float"):
        g.manual_seed(1.5)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="no Generator draws on device 'cuda'; there are those of cpu"):
        rnd.Generator("cuda")


F = np.zeros(4, np.float32)
I = np.zeros(4, np.int64)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: rnd.uniform(F, 2, 1), RuntimeError, r"found from=2 > to=1"),
        (lambda: rnd.uniform(F, 0, 1e39), RuntimeError, "to is out of bounds for float"),
        (lambda: rnd.uniform(F, -3e38, 3e38), RuntimeError, "exceed the limit"),
        (lambda: rnd.uniform(I), NotImplementedError, "\"check_uniform_bounds\" not implemented for 'Long'"),
        (lambda: rnd.normal(F, 0, -1), RuntimeError, r"normal expects std >= 0.0, but found std -1"),
        (lambda: rnd.normal(I), NotImplementedError, "\"normal_kernel_cpu\" not implemented for 'Long'"),
        (lambda: rnd.exponential(F, 0), RuntimeError, r"expects lambda > 0.0, but found lambda=0"),
        (lambda: rnd.exponential(I), RuntimeError, "dtype must be a floating point but you specified Long"),
        (lambda: rnd.cauchy(F, 0, -1), RuntimeError, "found sigma=-1"),
        (lambda: rnd.log_normal(F, 0, -1), RuntimeError, "found std=-1"),
        (lambda: rnd.geometric(F, 1), RuntimeError, r"p to be in \(0, 1\), but got p=1"),
        (lambda: rnd.bernoulli(F, 1.5), RuntimeError, r"p to be in \[0, 1\], but got p=1.5"),
        (lambda: rnd.bernoulli(F, np.array([2.0, 0, 0, 0])), RuntimeError, "Expected p_in >= 0 && p_in <= 1"),
        (lambda: rnd.randint(I, 5, 5), RuntimeError, "got from=5 >= to=5"),
        (lambda: rnd.randint(np.zeros(2, np.uint8), 0, 300), RuntimeError, "to - 1 is out of bounds for unsigned char"),
        (lambda: rnd.randint(np.zeros(2, np.uint8), -1, 3), RuntimeError, "from is out of bounds for unsigned char"),
        (lambda: rnd.random(np.zeros(2, np.uint16)), NotImplementedError, "not implemented for 'UInt16'"),
        (lambda: rnd.randperm(-1), RuntimeError, "negative dimension -1"),
        (lambda: rnd.multinomial(I, 1), RuntimeError, "only supports floating-point dtypes for input, got: Long"),
        (lambda: rnd.multinomial(F, 1), RuntimeError, r"\(sum of probabilities <= 0\)"),
        (
            lambda: rnd.multinomial(F - 1, 1),
            RuntimeError,
            "probability tensor contains either `inf`, `nan` or element < 0",
        ),
        (lambda: rnd.multinomial(F - 1, 2, True), RuntimeError, "encountering probability entry < 0"),
        (lambda: rnd.multinomial(F + np.inf, 2, True), RuntimeError, "probability entry = infinity or NaN"),
        (
            lambda: rnd.multinomial(F + 1, 5),
            RuntimeError,
            r"n_sample > prob_dist.size\(-1\) samples without replacement",
        ),
        (lambda: rnd.multinomial(F + 1, 0), RuntimeError, "cannot sample n_sample <= 0 samples"),
        (lambda: rnd.multinomial(np.zeros((1, 1, 1)), 1), RuntimeError, "prob_dist must be 1 or 2 dim"),
        (lambda: rnd.Generator().load_state_bytes(b"12"), RuntimeError, "found the input RNG state size to be 2"),
        (lambda: rnd.Generator().load_state_bytes(bytes(5056)), RuntimeError, "Invalid mt19937 state"),
    ],
)
def test_bad_arguments(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_uniform_never_reaches_its_upper_end():
    out = np.zeros(1_000_000, np.float16)
    rnd.manual_seed(0)
    rnd.uniform(out, -3, 2.5)
    assert out.min() >= -3 and out.max() < 2.5
