"""Freeze how PyTorch prints tensors, as tests/golden/printing/cases.json.

Run with an interpreter that has PyTorch:  python tests/golden/make_printing.py
A case is a dtype, a shape, values (floats as hexadecimal text, or a rule for large ones), options, and the text.
"""

import json
import math
import random
from pathlib import Path

import torch

HERE = Path(__file__).parent / "printing"
nan, inf = math.nan, math.inf

CURATED = [
    ("float32", values)
    for values in [
        3.5, 0.0, -0.0, nan, inf, -inf, 1e10, 1e8, 1e-4, 9.9e-5, 123456789.0, 0.1,
        [], [[], []], [1.0, 2.0], [1.5, 2.0], [1e-5, 1.0], [1e5, 1.0], [1e8, 1.0], [1e9], [1000.0, 0.1], [1000.0, 1.0],
        [1001.0, 1.0], [100.0, 0.1], [99999.0, 0.001], [nan, 1.0], [inf, -1.5], [nan, inf, -inf], [0.0, -0.0],
        [1e-45, 1.0],        [1e30, 1e-30], [3.4e38, 1e-45], [0.00012, 0.5], [1e-4, 0.5], [99.99999, 0.1], [0.99999, 0.5], [[1.0], [-2.25]],
        [[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.5]]], [[[[1.0]]]], [2.5, nan, 1000000.0],
    ]
] + [
    ("int64", 3), ("int64", []), ("int64", [[1, -2], [300, 4]]), ("int64", [-(2**63), 2**63 - 1]), ("int32", [1, 2]),
    ("uint8", [0, 255]), ("int8", [-128, 127]), ("int16", 7), ("bool", True), ("bool", [True, False]), ("bool", []),
    ("bool", [[True], [True]]), ("float64", 1.0), ("float64", [0.1, 1e-5]), ("float64", []),
    ("float16", [0.1, 65504.0]),    ("float16", [6e-8, 1.0]), ("float16", []),
    ("complex64", 1 + 2j), ("complex64", [1 + 2j, 3.5 - 1j]), ("complex64", [complex(nan, -inf), 0j]),
    ("complex64", [1e-5 + 1j, 1 + 1e9j]), ("complex128", [1j, -1j]), ("complex64", []),
    ("complex64", [complex(0.0, -0.0)]),
]  # fmt: skip

LARGE = [
    ("float32", (1001,)), ("float32", (1000,)), ("int64", (2000,)), ("float32", (3, 4, 1000)), ("float32", (50, 50)),
    ("float64", (7, 200)), ("complex64", (40, 40)), ("bool", (2000,)), ("int32", (6, 6, 6, 6)),
    ("float32", (1, 1, 1, 1200)),    ("float32", (1200, 1)), ("float16", (1200,)), ("int64", (30, 0, 4)), ("float32", (26,)), ("int64", (40,)),
]  # fmt: skip


def large(dtype: str, shape) -> torch.Tensor:
    """A rule that the test repeats: i * i modulo 1009, less 300, over 7 for floats."""
    i = torch.arange(math.prod(shape), dtype=torch.int64)
    v = (i * i) % 1009 - 300
    if dtype == "bool":
        v = v % 2 == 0
    elif dtype.startswith(("float", "complex")):
        v = v.to(torch.float64) / 7
        if dtype.startswith("complex"):
            v = torch.complex(v, -v * 2)
    return v.to(getattr(torch, dtype)).reshape(shape)


def spell(value):
    if isinstance(value, list):
        return [spell(v) for v in value]
    if isinstance(value, complex):
        return [value.real.hex(), value.imag.hex()]
    return value.hex() if isinstance(value, float) else value


def options():
    yield {}
    yield {"precision": 2}
    yield {"precision": 0}
    yield {"sci_mode": True}
    yield {"sci_mode": False}
    yield {"profile": "short"}
    yield {"linewidth": 30, "edgeitems": 1, "threshold": 4}
    yield {"edgeitems": 0}


def case(t, given, **how):
    torch.set_printoptions(profile="default")
    torch.set_printoptions(**given)
    return {"dtype": str(t.dtype)[6:], "shape": list(t.shape), **how, "options": given, "text": repr(t)}


def cases():
    for dtype, values in CURATED:
        t = torch.tensor(values, dtype=getattr(torch, dtype))
        for given in options():
            yield case(t, given, values=[spell(v) for v in t.reshape(-1).tolist()])
    for dtype, shape in LARGE:
        for given in [{}, {"precision": 2}, {"edgeitems": 1, "linewidth": 60}, {"profile": "short", "sci_mode": True}]:
            yield case(large(dtype, shape), given)
    yield case(large("float32", (1100,)), {"profile": "full"})
    random.seed(0)
    for _ in range(120):
        shape = [random.choice([1, 2, 3, 5]) for _ in range(random.randint(0, 3))]
        scale = 10.0 ** random.choice([-6, -4, 0, 0, 3, 8])
        values = [random.gauss(0, 1) * scale * random.choice([1, 1, 1, 10, 0]) for _ in range(math.prod(shape))]
        if random.random() < 0.3:
            values = [float(round(v)) for v in values]
        t = torch.tensor(values, dtype=random.choice([torch.float32, torch.float64])).reshape(shape)
        given = random.choice(list(options()))
        yield case(t, given, values=[spell(v) for v in t.reshape(-1).tolist()])


def main():
    HERE.mkdir(exist_ok=True)
    lines = ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases())
    (HERE / "cases.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
