"""How a layer's case is run, by the script that freezes PyTorch's answers and by the test that asks for the same."""

from __future__ import annotations

import math
import warnings

INTEGERS = "ints"
"""The mark of an input that is given by its values; others are shapes of drawn floats."""


def tuples(v):
    return tuple(tuples(x) for x in v) if isinstance(v, list) else v


def tensors(out):
    if hasattr(out, "grad_fn"):
        return [out]
    if isinstance(out, (tuple, list)):
        return [t for o in out for t in tensors(o)]
    return []


def numbers(t):
    """All numbers of a small tensor, three weighted sums of a large one, in six digits."""
    flat = t.detach().reshape(-1).tolist()
    if len(flat) > 24:
        flat = [math.fsum(v * ((i * k) % 7 - 3) for i, v in enumerate(flat)) for k in (1, 2, 3)]
    return [float(f"{v:.6g}") for v in flat]


def run(torch, name, args, options, inputs):
    """What is frozen of a case; the test does the same with the engine."""
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        keep = name.endswith("Loss") or name == "Unflatten"
        layer = getattr(torch.nn, name)(*[tuples(a) for a in args], **{k: tuples(v) for k, v in options.items()})
        given = []
        for i in inputs:
            if i[0] == INTEGERS:
                given.append(torch.tensor(i[1]))
            else:
                given.append(torch.randn(*i, requires_grad=not (keep and given)))
        if name == "CTCLoss":
            given[0] = given[0].log_softmax(2)
            given[0].retain_grad()
        if name in ("KLDivLoss", "PoissonNLLLoss") or (name == "CrossEntropyLoss" and given[1].is_floating_point()):
            given[1] = given[1].softmax(-1)
        out = tensors(layer(*given))
        total = sum((o * (torch.arange(o.numel()).reshape(o.shape) % 5 + 1)).sum() for o in out if o.requires_grad)
        if hasattr(total, "grad_fn"):
            total.backward()
    grads = [g.grad for g in given] + [p.grad for p in layer.parameters()]
    return {
        "repr": repr(layer),
        "state": {k: numbers(v) for k, v in layer.state_dict().items()},
        "out": [[list(o.shape), o.grad_fn is not None, numbers(o)] for o in out],
        "grads": [None if g is None else numbers(g) for g in grads],
    }
