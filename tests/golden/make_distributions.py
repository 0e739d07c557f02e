"""Freeze what PyTorch's distributions answer, as tests/golden/distributions/*.json.

Run with an interpreter that has PyTorch:  python tests/golden/make_distributions.py
The questions stand in distribution_case.py.
"""

import json
from pathlib import Path

import distribution_case as case
import torch

HERE = Path(__file__).parent / "distributions"


def put(name, answers):
    lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in answers.items())
    (HERE / name).write_text("{\n" + lines + "\n}\n")


def main():
    HERE.mkdir(exist_ok=True)
    put("cases.json", {e: case.distribution(torch, e) for e in case.CASES})
    put("refused.json", {e: case.tried(lambda: case.evaluate(torch, e)) for e in case.REFUSED})  # noqa: B023
    put("drawn.json", {e: case.drawn(torch, e) for e in case.CASES if "Wishart" not in e})
    put("samplers.json", {e: case.sampler(torch, e) for e in case.SAMPLERS})
    divergences = {}
    for pair in case.PAIRS:
        t = case.Leaves(torch)
        value = case.evaluate(torch, f"D.kl_divergence({pair})", t)
        divergences[pair] = [case.plain(value), case.tried(lambda: t.grads(value))]  # noqa: B023
    put("divergences.json", divergences)
    put("transforms.json", {f"{e} at {x}": case.transform(torch, e, x) for e, x in case.TRANSFORMS})
    constraints = torch.distributions.constraints
    put(
        "constraints.json",
        {
            n: repr(getattr(constraints, n))
            for n in constraints.__all__
            if isinstance(getattr(constraints, n), constraints.Constraint)
        },
    )


if __name__ == "__main__":
    main()
