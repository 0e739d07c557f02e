"""`torch.compile` and `torch.compiler`: options, errors, marks, records, explanations."""

from __future__ import annotations

import copy
import json
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tapescope import engine as torch
from tapescope.engine.compile.breaks import BREAKS, FailOnRecompileLimitHit, Unsupported
from tapescope.engine.compile.capture.runtime import Compiled
from tapescope.engine.observe import bus

nn = torch.nn


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch.compiler.reset()
    yield
    torch.compiler.reset()


class Graphs:
    """A backend that keeps its graphs."""

    def __init__(self) -> None:
        self.graphs: list[Any] = []

    def __call__(self, gm: Any, inputs: Any) -> Any:
        self.graphs.append(gm)
        return gm.forward


def guards_of(f: Any) -> list[str]:
    return [g.text for g in f._compiled.entries[0].guards]


def test_backend_gets_a_graph_and_its_inputs() -> None:
    seen = []

    def backend(gm: Any, inputs: Any) -> Any:
        seen.append((gm, inputs))
        return lambda *xs: (xs[0] * 100,)

    f = torch.compile(lambda x: x + 1, backend=backend)
    assert f(torch.ones(2)).tolist() == [100.0, 100.0]
    (gm, inputs) = seen[0]
    assert len(inputs) == 1 and inputs[0].tolist() == [1.0, 1.0]
    assert gm(torch.ones(2))[0].tolist() == [2.0, 2.0]


def test_unknown_backend_and_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="no backend 'fast'"):
        torch.compile(lambda x: x, backend="fast")
    with pytest.raises(TypeError, match="A callable function is expected"):
        torch.compile(3)
    with pytest.raises(RuntimeError, match="mode or options"):
        torch.compile(lambda x: x, mode="default", options={})


def test_wrong_arguments_of_the_call_are_the_functions_own_error() -> None:
    def f(x: Any, y: Any) -> Any:
        return x + y

    with pytest.raises(TypeError, match=r"f\(\) missing 1 required positional argument: 'y'"):
        torch.compile(f)(torch.ones(1))


def test_decorator_forms_and_names() -> None:
    @torch.compile
    def f(x: Any) -> Any:
        "Doc."
        return x + 1

    @torch.compile(backend="eager", dynamic=True)
    def g(x: Any) -> Any:
        return f(x) * 2

    class C:
        k = 3

        @torch.compile
        def h(self, x: Any) -> Any:
            return x * self.k

    assert f.__name__ == "f" and f.__doc__ == "Doc."
    assert g(torch.ones(1)).item() == 4
    c = C()
    assert c.h(torch.ones(1)).item() == 3
    c.k = 4
    assert c.h(torch.ones(1)).item() == 4
    assert torch.compile(c.h)(torch.ones(1)).item() == 4


def test_fullgraph_names_the_line() -> None:
    def f(x: Any) -> Any:
        y = x + 1
        print("no")
        return y

    with pytest.raises(Unsupported) as caught:
        torch.compile(f, fullgraph=True)(torch.ones(1))
    line = f.__code__.co_firstlineno + 2
    assert f"test_api.py:{line}" in str(caught.value) and 'print("no")' in str(caught.value)
    assert caught.value.break_id == "print"


def test_limit_then_eager_with_a_visible_reason() -> None:
    graphs = Graphs()
    f = torch.compile(lambda x: x * 2, backend=graphs, dynamic=False)
    told: list[Any] = []
    stop = bus.subscribe(told.append, ["graph_break"])
    try:
        for n in range(1, 15):
            assert f(torch.ones(n)).sum().item() == 2 * n
    finally:
        stop()
    assert len(graphs.graphs) == 8
    assert [r.break_id for r in told] == ["recompile-limit"]
    assert "captured 8 times" in torch.compiler.explain(f)(torch.ones(20)).eager[0]


def test_limit_is_an_error_with_fullgraph() -> None:
    f = torch.compile(lambda x: x * 2, dynamic=False, fullgraph=True)
    with pytest.raises(FailOnRecompileLimitHit):
        for n in range(1, 15):
            f(torch.ones(n))


def test_limit_can_be_moved() -> None:
    graphs = Graphs()
    f = torch.compile(lambda x: x * 2, backend=graphs, dynamic=False)
    with torch._dynamo.config.patch(recompile_limit=3):
        for n in range(1, 9):
            f(torch.ones(n))
    assert len(graphs.graphs) == 3


def test_what_is_not_read_is_not_guarded() -> None:
    class Box:
        used = 1
        unused = 2

    def f(x: Any, box: Any, xs: Any, d: Any, flag: Any) -> Any:
        xs.append(1)
        return x * box.used + d["a"], flag

    c = torch.compile(f)
    c(torch.ones(1), Box(), [1, 2], {"a": 1, "b": 2}, True)
    text = "\n".join(guards_of(c))
    assert "box.used" in text or "Box.used" in text
    assert "unused" not in text and "len(xs)" not in text and "'b'" not in text and "flag" not in text


def test_hundreds_of_module_attributes_cost_one_comparison() -> None:
    m = nn.Sequential(*[nn.Linear(2, 2) for _ in range(20)])
    c = torch.compile(m)
    c(torch.ones(1, 2))
    entry = type(c)._module_call.forward.entries[0]
    always = [g for g in entry.guards if not g.covered]
    assert len(entry.guards) > 100 and len(always) < 15


def test_guard_failures_are_told_with_the_dimension() -> None:
    told: list[Any] = []
    stop = bus.subscribe(told.append, ["guard", "segment"])
    try:
        f = torch.compile(lambda x, n: x * n)
        f(torch.ones(2, 3), 2)
        f(torch.ones(5, 3), 2)
        f(torch.ones(5, 3), 4)
    finally:
        stop()
    failed = [r for r in told if r.kind == "guard"]
    assert failed[0].dimension == ("x", 0) and "2" in failed[0].old and "5" in failed[0].new
    assert failed[1].guard == "n == 2" and (failed[1].old, failed[1].new) == ("2", "4")
    assert [r.kind for r in told].count("segment") == 3
    json.dumps([r.to_json() for r in told])


def test_explanation_is_data_and_text() -> None:
    def f(x: Any) -> Any:
        y = x + 1
        print("hi")
        return y * 2

    e = torch.compiler.explain(f)(torch.ones(2))
    assert e.graph_count == 2 and e.graph_break_count == 1 and e.op_count == 2
    assert e.breaks[0]["id"] == "print" and e.breaks[0]["source"].line == f.__code__.co_firstlineno + 2
    assert e.result.tolist() == [4.0, 4.0]
    data = e.to_json()
    json.dumps(data)
    first, second = data["segments"]
    assert first["exit"]["kind"] == "break" and first["exit"]["next"] == [second["id"]]
    assert first["inputs"][0]["source"] == "x" and first["nodes"][1]["target"] == "add"
    assert second["exit"] == {"kind": "return", "break": None, "next": []}
    assert "breaks at test_api.py" in str(e)
    assert torch.tapescope.view(torch.compile(f)).kind == "capture"


def test_readable_graph() -> None:
    graphs = Graphs()
    m = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
    torch.compile(m, backend=graphs)(torch.ones(4, 3))
    code = graphs.graphs[0].code
    lines = [line.split("  #")[0].rstrip() for line in code.splitlines() if not line.strip().startswith("#")]
    assert lines == [
        "def forward(self, self_0_weight, self_0_bias, input_1):",
        "    linear = torch.nn.functional.linear(input_1, self_0_weight, self_0_bias)",
        "    relu = torch.nn.functional.relu(linear, inplace=False); del linear",
        "    return (relu,)",
    ]
    compile(code, "graph", "exec")


def test_reset_forgets() -> None:
    graphs = Graphs()
    f = torch.compile(lambda x: x * 2, backend=graphs)
    f(torch.ones(1))
    torch.compiler.reset()
    f(torch.ones(1))
    assert len(graphs.graphs) == 2


def test_disable_and_stance() -> None:
    graphs = Graphs()

    @torch.compiler.disable
    def g(x: Any) -> Any:
        return torch.compiler.is_compiling(), x + 1

    f = torch.compile(lambda x: (torch.compiler.is_compiling(), g(x)), backend=graphs)
    assert f(torch.ones(1))[0] is True and f(torch.ones(1))[1][0] is False
    n = len(graphs.graphs)
    with torch.compiler.set_stance("force_eager"):
        assert f(torch.ones(3))[0] is False
    assert len(graphs.graphs) == n
    assert torch.compile(g) is g


def test_stances_that_capture_nothing_anew() -> None:
    graphs = Graphs()

    def g(x: Any, k: int) -> Any:
        return x * k, torch.compiler.is_compiling()

    f = torch.compile(g, backend=graphs)
    with torch.compiler.set_stance("eager_on_recompile"):
        assert f(torch.ones(2), 3)[1] is False
    assert not graphs.graphs
    f(torch.ones(2), 3)
    with torch.compiler.set_stance("eager_on_recompile"):
        assert f(torch.ones(2), 3)[1] is True
        assert f(torch.ones(2), True)[1] is False
    with (
        torch.compiler.set_stance("fail_on_recompile"),
        pytest.raises(torch._dynamo.exc.RecompileError, match="fail_on_recompile"),
    ):
        assert f(torch.ones(2), 3)[0].tolist() == [3, 3]
        f(torch.ones(2), True)
    with (
        torch._dynamo.config.patch(error_on_recompile=True),
        pytest.raises(torch._dynamo.exc.RecompileError, match="it was 3, and is True"),
    ):
        f(torch.ones(2), True)
    assert len(graphs.graphs) == 1
    assert f(torch.ones(2), True)[1] is True and len(graphs.graphs) == 2
    with pytest.raises(RuntimeError, match="takes no 'force_backend'"):
        torch.compiler.set_stance("default", force_backend="eager")


@pytest.mark.parametrize(
    ("switches", "captured"),
    [({}, 2), ({"automatic_dynamic_shapes": False}, 3), ({"dynamic_shapes": False}, 3), ({"assume_static_by_default": False}, 1)],
    ids=["default", "not by change", "never", "from the first call"],
)  # fmt: skip
def test_when_sizes_become_symbolic(switches: dict[str, bool], captured: int) -> None:
    graphs = Graphs()
    f = torch.compile(lambda x: x * 2, backend=graphs)
    with torch._dynamo.config.patch(**switches):
        for n in (3, 4, 5):
            f(torch.ones(n))
    assert len(graphs.graphs) == captured


def test_compiled_module_is_the_module() -> None:
    m = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5))
    c = torch.compile(m)
    assert list(c.state_dict()) == list(m.state_dict()) == ["0.weight", "0.bias"]
    assert repr(c) == repr(m) and isinstance(c, nn.Sequential) and c[0] is m[0]
    c.eval()
    assert not m.training and not m[1].training
    c.extra = 5
    assert m.extra == 5
    assert [p is q for p, q in zip(c.parameters(), m.parameters(), strict=True)] == [True, True]
    c.load_state_dict({k: v * 0 for k, v in m.state_dict().items()})
    assert c(torch.ones(1, 2)).tolist() == [[0.0, 0.0]]
    twin = copy.deepcopy(c)
    assert type(twin) is nn.Sequential and twin[0] is not m[0]


def test_module_compiled_in_place() -> None:
    m, graphs = nn.Linear(2, 2), Graphs()
    want = m(torch.ones(1, 2))
    m.compile(backend=graphs)
    assert torch.equal(m(torch.ones(1, 2)), want) and len(graphs.graphs) == 1
    handle = m.register_forward_hook(lambda mod, args, out: out + 1)
    assert torch.equal(m(torch.ones(1, 2)), want + 1)
    handle.remove()
    assert torch.equal(copy.deepcopy(m)(torch.ones(1, 2)), want)


def test_marks() -> None:
    graphs = Graphs()
    f = torch.compile(lambda x: x.sum(0), backend=graphs)
    for n in (2, 3, 4):
        x = torch.ones(n, 2)
        torch._dynamo.mark_dynamic(x, 0)
        assert f(x).tolist() == [n, n]
    assert len(graphs.graphs) == 1
    with pytest.raises(IndexError, match="dimension 5"):
        torch._dynamo.mark_dynamic(torch.ones(2), 5)


def test_failure_inside_capture_runs_natively(monkeypatch: pytest.MonkeyPatch) -> None:
    from tapescope.engine.compile.capture.domain import SymbolicDomain
    from tapescope.engine.compile.capture.values import Misused

    def broken(self: Any, *args: Any) -> Any:
        raise Misused("made to fail")

    monkeypatch.setattr(SymbolicDomain, "unpack", broken)
    log: list[int] = []

    def f(x: Any) -> Any:
        log.append(1)
        a, b = x, x
        p, q = [a, b]
        return p + q

    e = torch.compiler.explain(f)(torch.ones(1))
    assert e.result.item() == 2 and log == [1]
    assert "Capturing failed" in e.eager[0]


def test_nobody_listening_builds_no_records(monkeypatch: pytest.MonkeyPatch) -> None:
    from tapescope.engine.compile.capture import story

    monkeypatch.setattr(story, "segment_json", lambda *a: pytest.fail("built without a listener"))
    f = torch.compile(lambda x: x * 2)
    f(torch.ones(1))
    f(torch.ones(2))


def test_threads_share_captures() -> None:
    graphs = Graphs()
    f = torch.compile(lambda x: x * 2, backend=graphs)
    out: list[Any] = []
    threads = [threading.Thread(target=lambda: out.append(f(torch.ones(3)).sum().item())) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert out == [6.0] * 8 and len(graphs.graphs) == 1


def test_engine_is_as_it_was_after_a_failed_capture() -> None:
    def f(x: Any) -> Any:
        with torch.no_grad():
            raise ValueError("out")

    with pytest.raises(ValueError, match="out"):
        torch.compile(f)(torch.ones(1))
    assert torch.is_grad_enabled()


def test_traceback_is_the_users() -> None:
    def inner(x: Any) -> Any:
        raise KeyError("here")

    def f(x: Any) -> Any:
        return inner(x + 1)

    with pytest.raises(KeyError) as caught:
        torch.compile(f)(torch.ones(1))
    names = [entry.name for entry in caught.traceback]
    assert names[-2:] == ["f", "inner"]


def test_every_break_has_a_sentence_and_a_hint() -> None:
    for b in BREAKS.values():
        assert b.sentence.endswith(".") and b.hint.endswith(".")


def test_page_of_breaks_is_up_to_date() -> None:
    import runpy
    from pathlib import Path

    root = Path(__file__).resolve().parents[2] / "docs"
    space = runpy.run_path(str(root / "make_breaks.py"))
    assert (root / "breaks.md").read_text(encoding="utf-8") == space["page"]()


def test_compiled_objects_are_forgotten() -> None:
    import gc
    import weakref

    f = torch.compile(lambda x: x * 2)
    f(torch.ones(1))
    known = weakref.ref(f._compiled)
    assert isinstance(known(), Compiled)
    del f
    gc.collect()
    assert known() is None


def test_sizes_declared_by_name() -> None:
    graphs = Graphs()
    f = torch.compile(lambda x, y: x.sum(0) + y, backend=graphs, dynamic_spec={"x": [0]})
    for n in (2, 3, 4):
        assert f(torch.ones(n, 2), torch.ones(2)).tolist() == [n + 1, n + 1]
    assert len(graphs.graphs) == 1


def test_export() -> None:
    m = nn.Linear(3, 2)
    program = torch.export.export(m, (torch.ones(4, 3),), dynamic_shapes={"input": {0: torch.export.Dim("batch")}})
    for n in (4, 7):
        x = torch.randn(n, 3)
        assert torch.equal(program.module()(x), m(x))
    assert list(program.state_dict) == ["weight", "bias"] and "torch.nn.functional.linear" in str(program)
    with pytest.raises(torch.export.PreconditionError, match="size 3 in dimension 1|input"):
        program(torch.ones(4, 5))
    export: Any = torch.export
    fixed = export(lambda x, k: x * k, (torch.ones(2), 3))
    with pytest.raises(torch.export.PreconditionError, match="k == 3"):
        fixed(torch.ones(2), 4)


def test_export_refuses_breaks() -> None:
    def f(x: Any) -> Any:
        print(x)
        return x

    with pytest.raises(Unsupported, match="print"):
        torch.export.export(f, (torch.ones(1),))
    with pytest.raises(ValueError, match="names 'z'"):
        torch.export.export(lambda x: x, (torch.ones(1),), dynamic_shapes={"z": {0: torch.export.Dim("b")}})


def test_errors_of_a_backend_come_out() -> None:
    """A backend that raises, or gives back nothing, is not passed over in silence; what is written in place is written once."""

    def compiling(gm: Any, inputs: Any) -> Any:
        raise KeyError("broken")

    def running(gm: Any, inputs: Any) -> Any:
        def run(*args: Any) -> Any:
            gm.forward(*args)
            raise ValueError("run broken")

        return run

    for backend in (compiling, lambda gm, inputs: None):
        x = torch.zeros(1)
        with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match="broken|NoneType"):
            torch.compile(lambda x: x.add_(1) * 2, backend=backend)(x)
        assert x.item() == 0
    for f in (lambda x: x.add_(1) * 2, lambda x: x + 1):
        with pytest.raises(ValueError, match="run broken"):
            torch.compile(f, backend=running)(torch.zeros(1))


def test_errors_have_no_context_of_the_compiler() -> None:
    """An exception of a place that runs natively is as in eager: nothing was being handled."""

    def f(x: Any, s: str) -> Any:
        x = x + len(s)
        return x.view(7)

    g = torch.compile(f)
    for i in range(11):
        with pytest.raises(RuntimeError) as caught:
            g(torch.ones(1), "a" * i)
        assert caught.value.__context__ is None


def test_caught_error_is_a_break_under_fullgraph() -> None:
    """An operator's error comes out under fullgraph=True; where the program catches it, it is a break."""

    def f(x: Any) -> Any:
        try:
            return x.view(9)
        except RuntimeError:
            return x

    with pytest.raises(RuntimeError, match="invalid for input"):
        torch.compile(lambda x: x.view(9), fullgraph=True)(torch.ones(2))
    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch.compile(f, fullgraph=True)(torch.ones(2))


def test_values_involved_in_a_break() -> None:
    seen: dict[str, tuple[str, ...]] = {}

    def note(record: Any) -> None:
        seen[record.break_id] = record.values

    stop = bus.subscribe(note, ["graph_break"])
    try:

        def f(x: Any, name: str, more: Any) -> Any:
            y = x.sum()
            print(name, y, *more)
            if x.sum() > 100 and y:
                return y
            return x * y.item()

        torch.compile(f, backend="eager")(torch.ones(2, 3), "q" * 200, [1, {"k": 2}])
    finally:
        stop()
    long = "str '" + "q" * 56 + "..."
    assert seen["print"] == (f"name: {long}", "y: Tensor float32 ()", "more[0]: int 1", "more[1]: dict of 1")
    assert seen["branch"] == ("x.sum() > 100: Tensor bool ()",)
    assert seen["item"] == ("y: Tensor float32 ()",)


def test_columns_count_characters() -> None:
    seen: list[Any] = []

    def note(record: Any) -> None:
        seen.append(record.source)

    stop = bus.subscribe(note, ["graph_break"])
    try:

        def f(x: Any) -> Any:
            é = "üü"; return x * x.sum().item(), é  # fmt: skip  # noqa: E702

        torch.compile(f, backend="eager")(torch.ones(1))
    finally:
        stop()
    line = Path(seen[0].file).read_text(encoding="utf-8").splitlines()[seen[0].line - 1]
    assert line[seen[0].column : seen[0].end_column] == "x.sum().item()"
    y = torch.ones(1, requires_grad=True); ü = "ö"; z = y * 2, ü  # fmt: skip  # noqa: E702
    source = z[0].grad_fn.source
    line = Path(source.file).read_text(encoding="utf-8").splitlines()[source.line - 1]
    assert line[source.column : source.end_column] == "y * 2"


def test_tape_of_a_compiled_call_names_the_users_lines_and_modules() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
            self.head = nn.Linear(4, 2)

        def forward(self, x: Any) -> Any:
            y = self.body(x)
            return self.head(y) * 2

    class Outer(nn.Module):
        def __init__(self, inner: Any) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, x: Any) -> Any:
            return self.inner(x).sum()

    def places(t: Any) -> list[Any]:
        found, todo, seen = [], [t.grad_fn], set()
        while todo:
            n = todo.pop()
            if n in seen:
                continue
            seen.add(n)
            if n.op is not None:
                found.append((n.name(), n.module, n.source))
            todo += [e[0] for e in n.edges if e is not None]
        return found

    m, x = Net(), torch.randn(2, 3)
    compiled = torch.compile(m, backend="eager")
    assert places(compiled(x)) == places(m(x))
    assert {"Net.body.0", "Net.body.1", "Net.head", "Net"} == {p[1] for p in places(compiled(x))}

    def f(x: Any) -> Any:
        return m(x).sum() + torch.func.vmap(lambda r: (r * 2).sum())(x).sum()

    x.requires_grad_()
    g = torch.compile(f, backend="eager")
    assert places(g(x)) == places(f(x))
    seen: list[Any] = []

    def note(record: Any) -> None:
        seen.append((record.op, record.module, record.source))

    stop = bus.subscribe(note, ["op"])
    try:
        f(x)
        eager, seen[:] = list(seen), []
        g(x)
    finally:
        stop()
    assert seen == eager
    assert "Outer.Net.body.0" in {p[1] for p in places(Outer(compiled)(x))}


def test_traceback_of_a_cause_that_was_raised_and_caught_inside() -> None:
    def deep(n: int) -> None:
        if n == 0:
            raise KeyError("deep")
        deep(n - 1)

    def f(x: Any) -> Any:
        try:
            deep(2)
        except KeyError as error:
            raise ValueError("of f") from error
        return x

    def places(error: BaseException | None) -> list[Any]:
        assert error is not None
        mine = [s for s in traceback.extract_tb(error.__traceback__) if s.filename == __file__]
        return [(s.name, s.lineno, s.colno, s.end_colno) for s in mine if s.name in ("f", "deep")]

    def raised(g: Any) -> list[Any]:
        with pytest.raises(ValueError, match="of f") as info:
            g(torch.ones(1))
        return [places(info.value), places(info.value.__cause__)]

    g = torch.compile(f, backend="eager")
    assert raised(g) == raised(f) and len(raised(f)[1]) == 4
    assert raised(g) == raised(f)


def test_unknown_options_are_named():
    with pytest.raises(
        RuntimeError, match="Unexpected optimization option nonsense, known options are check, fast_math"
    ):
        torch.compile(lambda x: x, options={"nonsense": True})
    x = torch.randn(3)
    for options in ({"triton.cudagraphs": True}, {"epilogue_fusion": True}, {"max_autotune": True}, {"check": True}):
        assert torch.equal(torch.compile(lambda x: x * 2, options=options)(x), x * 2)


def test_fast_math_changes_last_digits_only(need):
    need("cc")
    x = torch.randn(64, 64)
    x[0, 0], x[1, 1] = float("inf"), float("nan")

    def f(x):
        return (x * 3 + 1) / 7, x.isnan(), (x * x).sum(1)

    exact, fast = torch.compile(f), torch.compile(f, options={"fast_math": True})
    for a, b in zip(exact(x), fast(x), strict=True):
        torch.testing.assert_close(a, b, equal_nan=True, rtol=1e-5, atol=1e-5)
    (one,), (other,) = (
        [e.compiled.segments()[0].path for e in torch.compiler.explain(c)(x).entries] for c in (exact, fast)
    )
    assert one != other, "compiled with other flags"
