"""Captures one segment: runs the symbolic interpreter from a place to the next end of a graph, and has the segment's function written.

A break in code that ran nested, or in a frame that cannot be put together again outside, starts the capture anew with the order to end
before the instruction of the outer frame that led there: capturing is deterministic.
"""

from __future__ import annotations

import sys
import time
from types import CellType
from typing import Any

from ...autograd.node import ENGINE_FOLDER
from ...device import get_default_device
from ...dtypes import get_default_dtype
from ...nn.module import Module
from ...observe import Source as Place_
from ...observe import characters
from ...random import default_generator
from ...state import state as engine_state
from ..breaks import BREAKS, BackendCompilerFailed, describe
from ..checking import Mismatch
from ..fake import SymFloat, SymInt
from ..graph import effects
from ..graph.purity import is_random
from ..interpreter.frame import Control, Frame, Returned
from ..interpreter.loop import Interpreter
from . import tape
from .calls import paths_below
from .codegen import Writer
from .domain import SymbolicDomain
from .involved import involved
from .kinds import Note
from .rebuild import Escapes, Rebuilder
from .recorder import Recorder
from .segments import Entry, Exit, symbolic_chain
from .stops import Stop, Turn
from .tables import Dirty
from .values import AttrsFacet, Misused, Obj
from .world import Dynamic, World

_DEVICES: Any = sys.modules[get_default_device.__module__]
_DTYPES: Any = sys.modules[get_default_dtype.__module__]

MAX_STEPS = 400_000
"""How many instructions one graph may come from."""

_RETRIES = 40


class Failed(Exception):
    """The capture itself failed. `reason` says how."""

    def __init__(self, reason: str, cause: BaseException | None = None, id: str = "internal") -> None:
        super().__init__(reason)
        self.reason, self.cause, self.id = reason, cause, id


class _Raising(Stop):
    """The program's own exception comes out here."""

    counted = False


class SymbolicInterpreter(Interpreter):
    """Notices breaks that Python would swallow: those in generators that are closed because nobody refers to them any more."""

    def execute(self, frame: Frame) -> Any:
        domain: Any = self.domain
        if domain.nesting:
            return super().execute(frame)
        try:
            return super().execute(frame)
        except Stop as stop:
            domain.lost = stop
            raise
        except Dirty as dirty:
            domain.lost = dirty.stop
            raise


class Capture:
    """One attempt."""

    def __init__(
        self,
        frame: Frame,
        labels: list[str],
        dynamic: Dynamic,
        all_dynamic: bool | None,
        native: Interpreter,
        module: str = "",
        scalars: bool = False,
    ) -> None:
        self.real = frame
        self.recorder = Recorder()
        self.world = World(self.recorder, dynamic, all_dynamic)
        self.domain = SymbolicDomain(self.world, self.recorder)
        self.domain.scalars = scalars
        self.interpreter = SymbolicInterpreter(self.domain)
        self.native = native
        self.recorder.place = self.place
        self.recorder.step = lambda: self.domain.steps
        self.world.guards.place = lambda: self.place()[0]
        sources = self.world.sources
        self.frame = symbolic_chain(
            frame, lambda v, i: self.world.slot(v, sources.slot(i, labels[i])), lambda: Note(0, module)
        )
        outermost = list(frame.chain())[-1]
        if module and outermost.locals and isinstance(outermost.locals[0], Module):
            self.domain.paths = paths_below(outermost.locals[0], module)
        first = next(iter(reversed(list(self.frame.chain()))))
        if first.ip == 0 and first.function is not None and first.closure:
            first.closure = self.domain.brought_closure(first.function)

    # -- where we are ---------------------------------------------------------------------------

    def place(self) -> tuple[Place_ | None, str]:
        """The user's source range that runs now, and the path of the module."""
        frame = self.domain.where or self.domain.now
        module = frame.note.module if frame is not None and frame.note is not None else ""
        # Code that runs nested, within one instruction, is not linked to the frame that runs it.
        return source_of(frame if _users(frame) else self.domain.now), module

    # -- running --------------------------------------------------------------------------------

    def run(self, stop_at: int, planned: Stop | None) -> tuple[str, Any, Stop | None]:
        """("return", value, None) or ("frames", innermost frame, the stop)."""
        domain, step = self.domain, self.interpreter.step
        frame: Any = self.frame
        while True:
            domain.now, domain.where = frame, None
            if domain.steps == stop_at:
                return "frames", frame, planned
            if domain.steps > MAX_STEPS:
                return "frames", frame, Stop("length", f"{MAX_STEPS:,}")
            try:
                result = step(frame)
            except Stop as stop:
                return "frames", frame, _light(stop)
            except Dirty as dirty:
                raise Again(domain.steps, _light(dirty.stop)) from None
            except (Control, Misused, Failed):
                raise
            except Exception as error:
                known = domain.raised_at.get(id(error))
                raise Again(
                    known[1] if known is not None else domain.steps,
                    _Raising("exception", _said(error)),
                ) from None
            if type(result) is Returned:
                # The function is over: what only it referred to goes now, generators with open `finally` clauses among it.
                value, frame = result.value, None
                if self.frame is not None and not self.frame.program.is_generator:
                    self.frame.locals.clear()
                self.frame = None  # type: ignore[assignment]
                result = None
            if domain.lost is not None:
                raise Again(domain.steps, _light(domain.lost))
            domain.steps += 1
            if frame is None:
                return "return", value, None
            frame = result  # type: ignore[assignment]

    def dispose(self) -> None:
        """Let go of everything: no object of the program is kept alive, no generator of this attempt runs any more."""
        for known in self.domain.generators:
            generator = known()
            if generator is not None:
                generator.state = "closed"
        world, domain = self.world, self.domain
        for table in (
            world.memo, world.from_symbol, world.shadows, world.marked, world._own, world.told_apart, world.absent, world.elsewhere, world.owners,
            domain.class_cache, domain.global_cache,
            domain.own_dicts, domain.tape_nodes, domain.grads_known, domain.cells, domain.stand_ins, domain.raised_at, domain.builtin_cache,
            domain.keepers, domain.leaves_made, domain.parameters, domain.tensor_written,
        ):  # fmt: skip
            table.clear()
        world.keep.clear()
        self.recorder.nodes.clear()
        for entry in self.recorder.inputs:
            entry.example = None
        domain.now = domain.where = world.domain = None
        self.frame = self.real = None  # type: ignore[assignment]

    def awkward(self, frame: Frame) -> int | None:
        """The step before which the graph must end because a frame of the chain cannot be put together outside; None where all can."""
        found = None
        for f in frame.chain():
            if (
                f.generator is not None
                or f.names is not None
                or (f.convert is not None and f.convert.name != "init")
                or (f.convert is not None and f.back is None)
            ):
                if type(f.note) is Note:
                    found = f.note.step
        return found


def _light(stop: Stop) -> Stop:
    """A break without its traceback, whose frames would keep objects of the program alive."""
    stop.__traceback__ = stop.__context__ = stop.__cause__ = None
    return stop


def _said(error: BaseException) -> str:
    """An exception in words; its arguments may be symbolic."""
    try:
        return f"{type(error).__name__}: {error}"
    except (Control, Exception):
        return type(error).__name__


class Again(Exception):
    """Capture from the start and end before step `step`, because of `stop`."""

    def __init__(self, step: int, stop: Stop) -> None:
        super().__init__(str(stop))
        self.step, self.stop = step, stop


def _users(frame: Frame | None) -> bool:
    """Whether code of the user is in a chain of frames."""
    return frame is not None and any(not f.code.co_filename.startswith(ENGINE_FOLDER) for f in frame.chain())


def source_of(frame: Frame | None) -> Place_ | None:
    """The source range of the innermost frame outside of the engine."""
    first = frame
    while frame is not None and frame.code.co_filename.startswith(ENGINE_FOLDER):
        frame = frame.back
    frame = frame or first
    if frame is None:
        return None
    steps = frame.program.instructions
    ip = frame.ip
    if frame is not first and ip > 0:
        ip -= 1  # a frame that waits stands after its call
    line, end, column, end_column = steps[min(ip, len(steps) - 1)].position
    code = frame.code
    if line is None:
        return Place_(code.co_filename, code.co_firstlineno, code.co_firstlineno, 0, 0, code.co_qualname)
    file, end = code.co_filename, end or line
    return Place_(
        file, line, end, characters(file, line, column or 0), characters(file, end, end_column or 0), code.co_qualname
    )


def source_of_code(code: Any) -> Place_:
    """Where a function is defined."""
    return Place_(code.co_filename, code.co_firstlineno, code.co_firstlineno, 0, 0, code.co_qualname)


def capture(
    frame: Frame, labels: list[str], dynamic: Dynamic, all_dynamic: bool | None, native: Interpreter, backend: Any, id: str,
    module: str = "",
    scalars: bool = False,
) -> Entry:  # fmt: skip
    """The entry for the place at which a chain of real frames stands. Raises `Failed`."""
    began = time.perf_counter()
    stop_at, planned = -1, None
    for _ in range(_RETRIES):
        attempt = Capture(frame, labels, dynamic, all_dynamic, native, module, scalars)
        before = {n: getattr(engine_state, n) for n in ("grad_enabled", "inference", "modes", "fakes")}
        engine_state.fakes = attempt.recorder.backend
        try:
            kind, value, stop = attempt.run(stop_at, planned)
            if kind == "frames":
                step = attempt.awkward(value)
                if step is not None and step != stop_at:
                    assert stop is not None
                    raise Again(step, stop)
        except Again as again:
            attempt.dispose()
            if stop_at >= 0 and again.step >= stop_at:
                raise Failed("the capture did not come to the same end again") from None
            stop_at, planned = again.step, again.stop
            continue
        except Misused as error:
            attempt.dispose()
            raise Failed(str(error), error) from error
        except Control as error:
            attempt.dispose()
            raise Failed(f"{type(error).__name__}: {error}", error) from error
        finally:
            after_state = {n: getattr(engine_state, n) for n in before}
            for n, v in before.items():
                setattr(engine_state, n, v)
        try:
            entry = finish(attempt, kind, value, stop, backend, id, before, after_state)
        except Again as again:
            if stop_at >= 0 and again.step >= stop_at:
                raise Failed("the capture did not come to the same end again") from None
            stop_at, planned = again.step, again.stop
            continue
        except Escapes as escape:
            step = attempt.domain.made_at.get(builtin_id(escape.value))
            if step is None or step == stop_at:
                raise Failed(escape.what, escape, "escape") from escape
            stop_at, planned = step, Stop("escape", escape.what)
            continue
        except (Failed, Control):
            raise
        except BackendCompilerFailed as error:
            inner = error.inner_exception
            raise Failed(f"{type(inner).__name__}: {inner}", error) from inner
        except Exception as error:
            raise Failed(f"{type(error).__name__}: {error}", error) from error
        finally:
            attempt.dispose()
        entry.seconds = time.perf_counter() - began
        return entry
    raise Failed("the capture did not come to an end")


builtin_id = id


def finish(
    attempt: Capture,
    kind: str,
    value: Any,
    stop: Stop | None,
    backend: Any,
    id: str,
    before: dict[str, Any],
    after: dict[str, Any],
    guarded: bool = True,
) -> Entry:
    """Write the entry's function."""
    world, recorder, domain = attempt.world, attempt.recorder, attempt.domain
    entry = Entry(id)
    writer = Writer(world)
    builder = Rebuilder(writer, world, recorder.node_of, attempt.native, domain.made_classes)
    builder.made_functions, builder.stand_ins = domain.made_functions, domain.stand_ins
    # Values first: they say which outputs the graph has. Effects come before what is returned, both after the graph.
    entry.effects = builder.effects(list(world.marked))
    for f in domain.after:
        writer.line(f"{writer.constant(f)}()")
    if kind == "return":
        result = builder.value(value)
        entry.returns = True
    else:
        names: list[str] = []
        back = "None"
        for f in reversed(list(value.chain())):
            back = builder.frame(f, back)
            names.append(back)
        result = back
    entry.effects += builder.hung(domain.tensor_written)
    outputs = [t for t, _ in builder.outputs.values()]
    early = tape.too_long(domain, outputs)
    if early is not None:
        raise Again(*early)
    numbers = numbers_of(builder, recorder)
    gm = recorder.finish(outputs + [n for _, n in numbers])
    lines: list[str] = []
    if gm is not None:
        inputs = recorder.inputs
        arguments = ", ".join(
            i.symbol.symbol_name() if type(i.symbol) in (SymInt, SymFloat) else writer.source(i.source) for i in inputs
        )
        gm.meta["inputs"] = [i.source.label for i in inputs]
        entry.graph, entry.inputs = gm, list(inputs)
        entry.compiled = compiled_by(backend, gm, [i.example for i in inputs])
        writer.extra["_G"] = entry.compiled
        targets = [name for _, name in builder.outputs.values()] + [name for name, _ in numbers]
        call = f"_G({arguments})"
        if targets:
            call = f"({', '.join(targets)},) = {call}"
        switches = any(n.meta.get("switch") for n in gm.graph)
        random = any(n.op.startswith("call") and is_random(n) for n in gm.graph)
        writer.extra.update(_st=engine_state, _F=failed_run, _D=default_generator)
        if switches:
            lines.append("    _s = _st.grad_enabled, _st.inference, _st.modes")
        if random:
            lines.append("    _r = _D.state_bytes()")
        lines += ["    try:", f"        {call}", "    except Exception as _e:"]
        if switches:
            lines.append("        _st.grad_enabled, _st.inference, _st.modes = _s")
        lines += [f"        _F(_E, _e, {'_r' if random else 'None'})", "        raise"]
    elif after["grad_enabled"] != before["grad_enabled"]:
        writer.extra["_st"] = engine_state
        lines.append(f"    _st.grad_enabled = {after['grad_enabled']}")
    writer.extra["_E"] = entry
    writer.body[:0] = ["    _E.calls += 1", *lines]
    writer.line(f"return {result}")
    guards = world.guards
    for source in world.expected:
        writer.source(source)
    state_guards(world, domain, recorder, before, gm is not None or recorder.operators > 0)
    distinct(world)
    absences(world)
    entry.guards = list(guards.guards.values())
    entry.symbols = dict(recorder.symbols)
    entry.sources = world.sources
    relations = recorder.env.guards
    entry.relations = list(relations)
    if not guarded:
        entry.guards, relations = [], []
    entry.run, entry.text = writer.finish(entry.guards, recorder.symbols, relations, "segment")
    entry.operators = recorder.operators
    assert attempt.real is not None
    entry.function_name = attempt.real.code.co_qualname
    entry.source = source_of(attempt.real)
    if kind == "return":
        entry.exit = Exit("return")
    else:
        assert stop is not None
        how = "turn" if isinstance(stop, Turn) else "raise" if isinstance(stop, _Raising) else "break"
        hint, category = ("", "") if how == "turn" else (BREAKS[stop.id].hint, BREAKS[stop.id].category)
        entry.exit = Exit(
            how,
            stop.id,
            category,
            stop.reason if how == "turn" else describe(stop.id, stop.what),
            hint,
            source_of(value),
            stop.values or (involved(world, value) if how == "break" else ()),
        )
    return entry


def compiled_by(backend: Any, gm: Any, examples: list[Any]) -> Any:
    """What a backend makes of a graph. Raises `BackendCompilerFailed`."""
    try:
        made = backend(gm, examples)
        if not callable(made):
            raise TypeError(f"it must give back something that can be called, not {type(made).__name__}")
    except Exception as error:
        raise BackendCompilerFailed(getattr(backend, "__name__", type(backend).__name__), error) from error
    return made


def failed_run(entry: Entry, error: Exception, random_state: Any) -> None:
    """An operator raised while a graph ran: the segment is run again by Python, where that comes to the same.

    It does where nothing was written before the operator: then the error arises at the user's line, after the effects that stand before
    it, and the user's `except` clauses see it (`Rerun`). Where something was written, the frames are put together as they stand at the
    operator, from the values that the graph had (`Resume`).
    """
    gm = entry.graph
    at = gm.node_of(error)
    if (at is None and entry.foreign) or isinstance(error, Mismatch):
        return  # it is no operator of the graph that raised, but the user's backend, or the check of a result
    for node in gm.graph:
        if node is at:
            break
        if node.op.startswith("call") and node.is_impure() and not node.meta.get("switch") and not _repeatable(node):
            if is_random(node) and not node.meta.get("impure"):
                continue
            if at is not None and "step" in at.meta:
                raise Resume(error, at.meta["step"], _values(gm, error))
            return
    if random_state is not None:
        default_generator.load_state_bytes(random_state)
    raise Rerun()


def _values(gm: Any, error: BaseException) -> dict[str, Any]:
    """The values of a graph's nodes at the moment at which it failed, by their names."""
    trace, found = error.__traceback__, {}
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == gm.filename:
            found = dict(trace.tb_frame.f_locals)
        trace = trace.tb_next
    return found


class Resume(BaseException):
    """The frames of the segment are to be resumed at the instruction of step `step`; `values` are those of the graph's nodes there."""

    def __init__(self, error: Exception, step: int, values: dict[str, Any]) -> None:
        super().__init__(str(error))
        self.error, self.step, self.values = error, step, values


def resume_point(
    frame: Frame, labels: list[str], dynamic: Dynamic, all_dynamic: bool | None, native: Interpreter, module: str, scalars: bool, point: Resume
) -> Entry:  # fmt: skip
    """An entry that puts the frames together as they stand at a step, with given values in the place of the graph. Raises `Failed`."""
    attempt = Capture(frame, labels, dynamic, all_dynamic, native, module, scalars)
    before = {n: getattr(engine_state, n) for n in ("grad_enabled", "inference", "modes", "fakes")}
    engine_state.fakes = attempt.recorder.backend
    try:
        kind, value, stop = attempt.run(point.step, Stop("exception", _said(point.error)))
    finally:
        after = {n: getattr(engine_state, n) for n in before}
        for n, v in before.items():
            setattr(engine_state, n, v)
    if kind != "frames" or attempt.awkward(value) is not None:
        raise Failed("the frames cannot be put together at the operator that failed")

    def given(gm: Any, inputs: Any) -> Any:
        names = [n.name for n in gm.graph.output_node.args[0]]
        return lambda *xs: tuple([point.values[n] for n in names])

    entry = finish(attempt, kind, value, stop, given, "", before, after, guarded=False)
    attempt.dispose()
    for n in ("grad_enabled", "inference", "modes"):
        setattr(engine_state, n, after[n])
    return entry


def _repeatable(node: Any) -> bool:
    """Whether running a node twice is the same as running it once."""
    return (node.target is effects.set_grad and node.args[1] is None) or node.target in (
        "item",
        "requires_grad_",
        "retain_grad",
    )


class Rerun(BaseException):
    """The segment is to be run by Python itself."""


def numbers_of(builder: Rebuilder, recorder: Recorder) -> list[tuple[str, Any]]:
    """Numbers that nodes of the graph give and that are needed outside: (name, the node's number)."""
    out = []
    for name in builder.numbers:
        if name not in recorder.symbols:
            out.append((name, recorder.numbers[name]))
    return out


def state_guards(world: World, domain: SymbolicDomain, recorder: Recorder, before: dict[str, Any], graph: bool) -> None:
    """Guard the engine's switches as far as they were read; those that all operators read where there is a graph."""
    sources, guards = world.sources, world.guards
    reads = dict(domain.state_reads)
    if graph:
        for name in ("grad_enabled", "inference"):
            reads.setdefault(name, before[name])
    home = sources.const(engine_state, "torch")
    for name in reads:
        if name in ("grad_enabled", "inference"):
            guards.value(sources.attr(home, name), before[name], "a switch of the engine")
    if graph:
        modes = before["modes"]
        if not modes:
            guards.condition(
                sources.attr(home, "modes"), "no transform or autocast is on", "{e}", "a switch of the engine"
            )
        else:
            key = world.sources.constant(tuple((m.kind, m.dtype, m.enabled) for m in modes))
            test = f"tuple((m.kind, m.dtype, m.enabled) for m in {{e}}) != {key}"
            guards.condition(sources.attr(home, "modes"), "the same autocast is on", test, "a switch of the engine")
    if graph or domain.asked_defaults:
        dtype = sources.item(sources.const(_DTYPES.__dict__, "dtypes"), "_default", False, "the default dtype")
        guards.is_(dtype, _DTYPES._default, "the default dtype")
        device = sources.item(sources.const(_DEVICES.__dict__, "device"), "_default", False, "the default device")
        guards.is_(device, _DEVICES._default, "the default device")


def absences(world: World) -> None:
    """Guard that classes did not get names of their own that were looked for in them."""
    for cls, names in world.absent.items():
        home = world.sources.const(cls, cls.__qualname__)
        if len(names) == 1:
            test = f"{next(iter(names))!r} in {{e}}.__dict__"
        else:
            test = f"not {{e}}.__dict__.keys().isdisjoint({world.sources.constant(tuple(names))})"
        shown = ", ".join(map(repr, names))
        world.guards.condition(home, f"no {shown} in vars({{e}})", test, "which names a class has")


def distinct(world: World) -> None:
    """Where something changes, objects of its kind that were different must be different again."""
    if len(world.told_apart) > 1:
        first, *rest = world.told_apart
        world.guards.distinct(first, tuple(rest))
    apart_from_attributes(world)
    dirty = [o for o in world.marked if o.source.kind != "const"]
    if not dirty:
        return
    kinds = {o.kind for o in dirty}
    objects = [
        s
        for s, _, _ in list(world.from_symbol.values())
        if type(s) is Obj and s.touched and s.kind in kinds and s.source.kind != "const"
    ]
    if len(objects) > 1:
        first, *rest = [o.source for o in objects]
        world.guards.distinct(first, tuple(rest))


def apart_from_attributes(world: World) -> None:
    """Where something changes, a dictionary that was no object's attributes must be none's again."""
    seen = [
        s for s, _, _ in list(world.from_symbol.values()) if type(s) is Obj and s.touched and s.source.kind != "const"
    ]
    dicts = [o for o in seen if o.kind is dict and type(o.items) is not AttrsFacet and not o.source.covered]
    owners = [o for o in seen if o.written or o.attrs] if dicts else []
    owners = [o for o in owners if o.kind is not CellType and hasattr(o.real, "__dict__")]
    if any(o.dirty for o in dicts):
        pairs = dicts, owners
    else:
        pairs = dicts, [o for o in owners if o.written]
    if pairs[0] and pairs[1]:
        homes = [world.sources.attr(o.source, "__dict__") for o in pairs[1]]
        world.guards.apart([o.source for o in pairs[0]], homes)


__all__ = ["Failed", "Rerun", "Resume", "capture", "resume_point", "source_of"]
