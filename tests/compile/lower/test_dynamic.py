"""Symbolic sizes: one kernel for all sizes."""

from __future__ import annotations

import pytest

from tapescope import engine as torch

from .harness import PRINTERS, agree, lowered

F = torch.nn.functional
R = torch.randn

PROGRAMS = {
    "softmax": (lambda x: F.softmax(x * 2, -1), True, [(R(n, m),) for n, m in ((5, 7), (40, 100), (3, 9000), (2, 2))]),
    "layer norm": (
        lambda x: F.layer_norm(x, (32,)),
        {0: (0, 1)},
        [(R(n, m, 32),) for n, m in ((5, 7), (40, 100), (2, 3))],
    ),
    "product and sum": (lambda x, w: F.relu(x @ w.t()).sum(0), {0: (0,)}, [(R(n, 16), R(8, 16)) for n in (4, 5, 700)]),
    "reshape": (lambda x: x.reshape(x.shape[0], -1).mean(1), {0: (0,)}, [(R(n, 4, 6),) for n in (4, 5, 700)]),
    "transpose": (
        lambda x: (x.transpose(0, 1) + 1).contiguous().view(-1),
        True,
        [(R(n, m),) for n, m in ((4, 5), (7, 3))],
    ),
    "cat": (lambda x, y: torch.cat([x, y], 0) * 2, True, [(R(n, 3), R(m, 3)) for n, m in ((4, 5), (7, 3))]),
    "sum": (lambda x: x.sum(), True, [(R(n),) for n in (4, 5, 70_000)]),
    "index": (lambda x, i: x[i], True, [(R(n, 4), torch.randint(0, 4, (m,))) for n, m in ((4, 5), (9, 20))]),
}


@pytest.mark.parametrize("printer", PRINTERS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_one_kernel_for_all_sizes(name, printer, need):
    if printer == "c":
        need("cc")
    function, dynamic, calls = PROGRAMS[name]
    segment = lowered(function, *calls[0], printer=printer, dynamic=dynamic)
    assert segment.symbols
    for args in [*calls, calls[0]]:
        agree(segment(*args), function(*args))


@pytest.mark.parametrize("compiler", ["cc", ""], ids=["c", "numpy"])
def test_a_float_that_changes_is_read_anew(compiler, monkeypatch):
    if not compiler:
        monkeypatch.setenv("TAPESCOPE_CC", "")
    scaled = torch.compile(lambda x, k: x * k + k)
    for k in (1.0, 2.0, 3.0, 4.5):
        assert scaled(torch.ones(2), k).tolist() == [2 * k, 2 * k]
