"""Freeze what PyTorch's CPU generator draws, as tests/golden/random/*.json.

Run with an interpreter that has PyTorch:  python tests/golden/make_random.py
Each case holds the first values (floats as hexadecimal text), a SHA-256 of all bytes, and where the stream stands
afterwards.  `exact` is false where a function of the C library is part of the formula; the last bit may then differ.
"""

import hashlib
import json
from pathlib import Path

import torch

HERE = Path(__file__).parent / "random"


def position() -> int:
    state = torch.get_rng_state().numpy().tobytes()
    return int.from_bytes(state[16:24], "little")


def frozen(name, seed, dtype, shape, args, t, exact):
    flat = t.reshape(-1)
    if t.is_complex():
        flat = torch.view_as_real(t).reshape(-1)
    head = flat[:16].tolist()
    return {
        "name": name,
        "seed": seed,
        "dtype": dtype,
        "shape": list(shape),
        "args": list(args),
        "exact": exact,
        "head": [v.hex() if isinstance(v, float) else v for v in head],
        "sha256": hashlib.sha256(t.contiguous().numpy().tobytes()).hexdigest(),
        "position": position(),
    }


def fills():
    floats = ["float32", "float64"]
    plans = [
        ("uniform", [(), (-3.3, 1.7)], [*floats, "float16", "complex64", "complex128"], True),
        ("normal", [(), (0.3, 1.7)], [*floats, "complex64"], None),
        ("exponential", [(), (2.5,)], floats, False),
        ("cauchy", [(), (0.5, 2.0)], floats, False),
        ("log_normal", [(), (0.5, 0.5)], floats, False),
        ("geometric", [(0.2,)], [*floats, "int64"], True),
        ("bernoulli", [(0.2,)], [*floats, "int64", "bool"], True),
        ("randint", [(0, 10), (-5, 100)], ["int64", "int32", "int8", "float32"], True),
        ("randint", [(0, 2**28 - 1), (0, 2**28), (-5, 2**40), (-(2**63), None), (2**62, 2**63 - 1)], ["int64"], True),
        ("random", [()], [*floats, "float16", "bool", "uint8", "int8", "int16", "int32", "int64"], True),
    ]
    for name, arguments, dtypes, exact in plans:
        method = {"randint": "random_"}.get(name, name + "_")
        for args in arguments:
            for dtype in dtypes:
                for shape in [(3,), (16,), (7, 9), (1003,)]:
                    for seed in (0, 2**40 + 3)[: 1 if shape == (16,) else 2]:
                        torch.manual_seed(seed)
                        t = torch.zeros(shape, dtype=getattr(torch, dtype))
                        getattr(t, method)(*args)
                        small = t.numel() * (2 if t.is_complex() else 1) < 16
                        ok = (dtype in ("float32", "complex64") and not small) if exact is None else exact
                        yield frozen(name, seed, dtype, shape, args, t, ok)


def others():
    for n in (0, 1, 2, 10, 1000):
        torch.manual_seed(1)
        yield frozen("randperm", 1, "int64", (n,), (n,), torch.randperm(n), True)
    for dtype in ("float32", "float64"):
        for shape in ((50,), (3, 50)):
            p = torch.rand(shape, dtype=getattr(torch, dtype), generator=torch.Generator().manual_seed(3))
            for count, replacement in ((1, False), (1, True), (20, False), (200, True)):
                torch.manual_seed(2)
                drawn = torch.multinomial(p, count, replacement)
                yield frozen("multinomial", 2, dtype, shape, (count, replacement), drawn, True)
    for dtype in ("float32", "float64"):
        p = torch.linspace(0, 1, 63, dtype=getattr(torch, dtype)).reshape(7, 9)
        torch.manual_seed(4)
        yield frozen("bernoulli_each", 4, dtype, (7, 9), (), torch.bernoulli(p), True)
    torch.manual_seed(5)
    yield frozen("normal_transposed", 5, "float32", (7, 9), (), torch.zeros(7, 9).t().normal_(0.3, 1.7), False)
    torch.manual_seed(5)
    yield frozen("uniform_transposed", 5, "float32", (7, 9), (), torch.zeros(7, 9).t().uniform_(0.3, 1.7), True)
    torch.manual_seed(6)
    yield frozen("dropout", 6, "float32", (33,), (0.3,), torch.nn.functional.dropout(torch.ones(33), 0.3), True)


def states():
    """Whole states, to be taken over and gone on with."""
    out = []
    for label, warm in (("fresh", None), ("drawn", 5), ("half a pair", 3), ("a whole block", 624)):
        torch.manual_seed(11)
        if label == "half a pair":
            torch.randn(3)
        elif warm:
            torch.rand(warm)
        state = torch.get_rng_state().numpy().tobytes()
        after = torch.randn(5).tolist()
        out.append({"label": label, "state": hashlib.sha256(state).hexdigest(), "after": [v.hex() for v in after]})
    torch.manual_seed(12)
    torch.randn(3)
    state = torch.get_rng_state().numpy().tobytes()
    words = [int.from_bytes(state[24 + 8 * i : 32 + 8 * i], "little") for i in range(624)]
    head = {"head": state[:24].hex(), "words": words, "tail": state[24 + 8 * 624 :].hex()}
    return {"known": out, "foreign": {**head, "after": [v.hex() for v in torch.randn(5).tolist()]}}


def main():
    HERE.mkdir(exist_ok=True)
    for name, cases in (("fills", list(fills())), ("others", list(others()))):
        lines = ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases)
        (HERE / f"{name}.json").write_text(f"[\n{lines}\n]\n")
    (HERE / "states.json").write_text(json.dumps(states(), separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
