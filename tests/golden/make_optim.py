"""Freeze where PyTorch's optimizers lead in ten steps, as tests/golden/optim/steps.json.

Run with an interpreter that has PyTorch:  python tests/golden/make_optim.py
Two parameters start at numbers of seed 0; gradient t is 0.3 p plus a number of the same stream.  Values are float32 as
integers (their bits), so that a test can count units in the last place.
"""

import json
from pathlib import Path

import torch

HERE = Path(__file__).parent / "optim"

CONFIGURATIONS = [
    ("SGD", {"lr": 0.1}), ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}), ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.5}),
    ("SGD", {"lr": 0.1, "maximize": True}), ("Adam", {"lr": 0.1}), ("Adam", {"lr": 0.1, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.1, "amsgrad": True, "betas": (0.8, 0.9), "maximize": True}), ("AdamW", {"lr": 0.1}),
    ("RMSprop", {}), ("RMSprop", {"momentum": 0.9, "centered": True, "weight_decay": 0.1}), ("Adagrad", {"lr": 0.1}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 1.0}), ("Adadelta", {}),
    ("Adadelta", {"rho": 0.5, "weight_decay": 0.1}), ("Adamax", {"lr": 0.1, "weight_decay": 0.1}), ("NAdam", {"lr": 0.1}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}), ("RAdam", {"lr": 0.1}),
    ("RAdam", {"lr": 0.1, "betas": (0.5, 0.6), "weight_decay": 0.1}), ("ASGD", {"lr": 0.1, "weight_decay": 0.1, "t0": 3}),
    ("Rprop", {}), ("Adafactor", {"lr": 0.1}), ("Adafactor", {"lr": 0.1, "weight_decay": 0.1, "d": 2.0}),
    ("Muon", {"lr": 0.1}), ("Muon", {"lr": 0.1, "nesterov": False, "adjust_lr_fn": "match_rms_adamw"}),
]  # fmt: skip


def bits(t):
    return t.detach().reshape(-1).view(torch.int32).tolist()


def main():
    cases = []
    for name, options in CONFIGURATIONS:
        torch.manual_seed(0)
        params = [torch.nn.Parameter(torch.randn(s)) for s in ([(4, 3), (2, 5)] if name == "Muon" else [(5,), (3, 4)])]
        optimizer = getattr(torch.optim, name)(params, **options)
        for _ in range(10):
            for p in params:
                p.grad = p.detach() * 0.3 + torch.randn(p.shape)
            optimizer.step()
        cases.append({"name": name, "options": options, "end": [bits(p) for p in params]})
    HERE.mkdir(exist_ok=True)
    lines = ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases)
    (HERE / "steps.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
