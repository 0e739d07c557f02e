"""Freezes what PyTorch makes of expressions that move elements, index, multiply, solve and transform: tests/golden/ops/arrays/*.json.

    python tests/golden/make_arrays.py          # with torch 2.13 installed

The expressions stand in the .txt files beside the results: some on a line between `;;`, lines with `!` before them are statements. Kept
are dtype, shape, elements (to five digits) and the name of the tape node of tensors; of an error its type and its first words.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).parent / "ops" / "arrays"
WORDS = 50


def statements(text: str) -> Iterator[tuple[str, bool]]:
    """The lines of a file in order: statements (True) and expressions (False)."""
    for line in text.splitlines():
        if line.startswith("!"):
            yield line[1:], True
        elif line.strip():
            for expression in line.split(" ;; "):
                yield expression.strip(), False


def number(v):
    if isinstance(v, complex):
        return [number(v.real), number(v.imag)]
    if isinstance(v, float):
        return float(f"{v:.5g}") if v == v and abs(v) != float("inf") else repr(v)
    return v


def kept(v, torch):
    """A result as JSON: tensors as dtype, shape, elements and node; tuples as lists, named ones with their name first."""
    if isinstance(v, torch.Tensor):
        node = type(v.grad_fn).__name__ if v.grad_fn is not None else None
        return {"tensor": [str(v.dtype), list(v.shape), [number(x) for x in v.detach().reshape(-1).tolist()], node]}
    if isinstance(v, (tuple, list)):
        name = type(v).__name__.split(".")[-1]
        return [name if name not in ("tuple", "list", "Size") else "", *[kept(x, torch) for x in v]]
    return number(v) if isinstance(v, (bool, int, float, complex, str)) or v is None else type(v).__name__


def outcome(torch, names, expression):
    """["ok", result], or the type of the error and its first words, without punctuation."""
    try:
        return ["ok", kept(eval(expression, names), torch)]
    except Exception as error:
        words = re.sub(r"[^A-Za-z0-9 ]+", " ", str(error).splitlines()[0] if str(error) else "")
        return [type(error).__name__.lstrip("_"), re.sub(r" +", " ", words).strip()[:WORDS]]


def run(torch, text):
    """Every expression of a file with its outcome."""
    names = {"torch": torch}
    out = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for code, statement in statements(text):
            if statement:
                exec(code, names)
            else:
                out.append([code, *outcome(torch, names, code)])
    return out


def main():
    import torch

    for source in sorted(FOLDER.glob("*.txt")):
        rows = run(torch, source.read_text())
        lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
        source.with_suffix(".json").write_text(f"[\n{lines}\n]\n")
        print(f"{source.stem}: {len(rows)} expressions")


if __name__ == "__main__":
    main()
