"""Runs compiled functions: finds the entry whose guards hold, goes on after breaks, and captures what is not known yet.

The hot path is `call` of the wrapper: bind the arguments, try the entries of the first place.  Everything else (a place met for the first
time, a guard that fails, a limit that is reached) goes through `slow`, under one lock.  A break's instruction is done by the concrete
interpreter on real values, calls in it natively.
"""

from __future__ import annotations

import functools
import itertools
import linecache
import threading
import weakref
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from ... import overrides
from ...amp.autocast_mode import AutocastMode
from ...autograd.node import ENGINE_FOLDER
from ...observe import GraphBroken, GuardFailed, SegmentCaptured, bus
from ...state import state as engine_state
from .. import api
from ..breaks import BREAKS, BackendCompilerFailed, FailOnRecompileLimitHit, RecompileError, Unsupported, describe
from ..bytecode import decode
from ..collector import Still
from ..interpreter.concrete import ConcreteDomain
from ..interpreter.frame import EXHAUSTED, Control, Frame, Returned
from ..interpreter.generators import InterpretedGenerator
from ..interpreter.loop import Interpreter
from . import builtins_table as _builtins_table  # fills the tables of calls
from . import engine_table
from . import library_table as _library_table
from . import subgraphs as _subgraphs
from .capture import Again, Failed, Rerun, Resume, capture, resume_point, source_of
from .codegen import MISS
from .guards import Failure, explain_failure, failures
from .patches import watch
from .segments import Entry, Place, flatten, labels_of
from .sources import STEPS, full
from .tables import OBJECT_CALLS, STRICT
from .world import path_of

_lock = threading.RLock()
_all: weakref.WeakSet[Compiled] = weakref.WeakSet()


class NativeDomain(ConcreteDomain):
    """Python's own semantics, everything called natively."""

    def __init__(self) -> None:
        super().__init__(lambda function: False)

    def for_iter(self, frame: Frame, iterator: Any) -> Any:
        return next(iterator, EXHAUSTED)

    def send(self, frame: Frame, receiver: Any, value: Any) -> Any:
        if isinstance(receiver, InterpretedGenerator):
            try:
                return False, receiver.send(value)
            except StopIteration as stop:
                return True, stop.value
        return super().send(frame, receiver, value)


native = Interpreter(NativeDomain())
"""Does the instructions at which graphs break."""


class Options:
    """What `torch.compile` was called with. `spec` are dimensions that change, by the name of the argument."""

    __slots__ = ("backend", "backend_name", "dynamic", "foreign", "fullgraph", "limit", "spec")

    def __init__(
        self,
        backend: Any,
        backend_name: str,
        dynamic: bool | None,
        fullgraph: bool,
        limit: int | None = None,
        spec: Any = None,
    ) -> None:
        self.backend, self.backend_name, self.dynamic, self.fullgraph = backend, backend_name, dynamic, fullgraph
        self.limit, self.spec = limit, spec
        self.foreign = False
        """Whether the backend is a function of the user."""


class Compiled:
    """One compiled function and all that was captured of it."""

    def __init__(self, function: FunctionType, options: Options) -> None:
        self.function, self.options = function, options
        self.name = function.__qualname__
        self.places: dict[Any, Place] = {}
        self.numbers = itertools.count()
        self.by_id: dict[str, Entry] = {}
        self.recompiles: list[dict[str, Any]] = []
        self.native_reason = ""
        self.bind: Callable[..., list[Any]] = _unbound
        self.code: Any = None
        self.defaults: Any = None
        self.kwdefaults: Any = None
        self.entries: list[Entry] = []
        self.first: Place | None = None
        self.module_path = ""
        _all.add(self)
        self.refresh()

    # -- arguments ------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Take over code and defaults of the function, which may have been exchanged."""
        f = self.function
        if self.code is not f.__code__:
            self.code = f.__code__
            self.program = decode(self.code)
            self.places.clear()
            self.entries = []
            self.first = None
            self.native_reason = ""
            if self.program.refusal is not None:
                self.give_up(
                    "native" if "asynchronous" not in self.program.refusal else "coroutine", self.program.refusal
                )
        self.defaults, self.kwdefaults = f.__defaults__, f.__kwdefaults__
        self.bind = binder(f)

    def frame(self, S: list[Any]) -> Frame:
        """The frame of a call, with the slots' values."""
        f = self.function
        from ..interpreter.frame import UNBOUND

        locals = S + [UNBOUND] * (len(self.program.slots) - len(S))
        return Frame(self.program, f.__globals__, f.__builtins__, locals, closure=f.__closure__ or (), function=f)

    # -- calling --------------------------------------------------------------------------------

    def call(self, *args: Any, **kwargs: Any) -> Any:
        f = self.function
        if _off.depth or overrides.modes():
            return f(*args, **kwargs)
        if (
            f.__code__ is not self.code
            or f.__defaults__ is not self.defaults
            or f.__kwdefaults__ is not self.kwdefaults
        ):
            self.refresh()
        S = self.bind(*args, **kwargs)
        out: Any
        try:
            for entry in self.entries:
                out = entry.run(S)
                if out is not MISS:
                    break
            else:
                entry, out = self.enter(S)
        except Rerun:
            entry, out = None, MISS
        except Resume as again:
            entry, out = None, again
        # Outside of the `except` clauses: the user's exceptions have no context of ours.
        if entry is not None:
            if entry.returns:
                return out
            chain = [out]
            out = None  # the frames are `go_on`'s alone: what the program lets go of is gone
            return self.go_on(chain, entry)
        if out is MISS:
            return self.run_natively(S)
        assert self.first is not None
        return self.resume(self.first, self.frame(list(S)), S, out)

    def enter(self, S: list[Any]) -> tuple[Any, Any]:
        """A call that no entry fits: (entry, what its run gave). Raises `Rerun` where the function is to run natively."""
        if self.native_reason or engine_state.fakes is not None or _off.depth or not autocast_only(engine_state.modes):
            raise Rerun()
        frame = self.frame(list(S))
        if self.first is None:
            key, _ = flatten(frame)
            self.first = self.places.setdefault(key, Place(key, labels_of(frame)))
            self.first.entries = self.entries
            names = list(self.code.co_varnames)
            for name, dims in (self.options.spec or {}).items():
                if name in names:
                    self.first.dynamic.sizes[f"S[{names.index(name)}]"] = {int(d) for d in dims}
        place = self.first
        found = None if place.eager else self.slow(place, frame, S)
        if found is None:
            raise Rerun()
        return found

    def run_natively(self, S: list[Any]) -> Any:
        """Call the function itself with bound slots."""
        code = self.code
        count, only = code.co_argcount, code.co_kwonlyargcount
        args = list(S[:count])
        kwargs = dict(zip(code.co_varnames[count : count + only], S[count : count + only], strict=True))
        rest = S[count + only :]
        if code.co_flags & 0x04:
            args += rest[0]
            rest = rest[1:]
        if code.co_flags & 0x08:
            kwargs.update(rest[0])
        return self.function(*args, **kwargs)

    def go_on(self, chain: list[Frame], entry: Entry) -> Any:
        """What follows a segment that did not return: the instruction at its end, then the next segment. Takes the frame out of `chain`."""
        frame: Any = chain.pop()
        while True:
            outcome = native.step(frame)
            if self.options.fullgraph and entry.exit.kind == "break":
                raise self.unsupported(entry)  # an operator's error would have come out, but the program caught it
            if type(outcome) is Returned:
                return outcome.value
            frame = outcome
            key, S = flatten(frame)
            place = self.places.get(key)
            if place is None:
                place = self.places[key] = Place(key, labels_of(frame))
            if entry.exit.break_id == "item" and frame.stack and type(frame.stack[-1]) is float:
                # A number read from a tensor is another one at the next call: an input at once.
                place.dynamic.scalars.add(f"S[{len(S) - 1 - (frame.handled is not None)}]")
            if place.eager or engine_state.fakes is not None:
                S = outcome = None  # type: ignore[assignment]  # no reference of ours keeps an object of the program alive
                return native.run(frame)
            out: Any = MISS
            found = got = None
            point: Any = None
            try:
                for following in place.entries:
                    out = following.run(S)
                    if out is not MISS:
                        found = following
                        break
                if found is None:
                    got = self.slow(place, frame, S)
                    if got is None:
                        S = outcome = None  # type: ignore[assignment]
                        return native.run(frame)
                    found, out = got
            except Rerun:
                point = MISS
            except Resume as again:
                point = again
            if point is MISS:
                S = outcome = None  # type: ignore[assignment]
                return native.run(frame)
            if point is not None:
                return self.resume(place, frame, S, point)
            assert found is not None
            entry.following.setdefault(found.id)
            if found.returns:
                return out
            frame, entry = out, found
            S = out = outcome = got = None  # type: ignore[assignment]  # as above: what the program lets go of is gone

    def resume(self, place: Place, frame: Frame, S: Any, point: Resume) -> Any:
        """Go on at an operator that raised while a graph ran, with the frames as they stand there: it raises again, now in its frame."""
        grad = engine_state.grad_enabled, engine_state.inference, engine_state.modes
        try:
            with _lock:
                entry = resume_point(
                    frame, place.labels, place.dynamic, self._dynamic(), native, self.module_path,
                    self.options.fullgraph or api.config.capture_scalar_outputs, point,
                )  # fmt: skip
                out: Any = entry.run(S)
        except (Control, Exception, Again):
            out = MISS
        if out is MISS:
            engine_state.grad_enabled, engine_state.inference, engine_state.modes = grad
            raise point.error from None
        chain = [out]
        del out, frame, S
        return self.go_on(chain, entry)

    # -- capturing ------------------------------------------------------------------------------

    def slow(self, place: Place, frame: Frame, S: list[Any]) -> tuple[Entry, Any] | None:
        """Capture at a place; (entry, what its run gave), or None where the place runs eagerly from now on."""
        with _lock:
            for entry in place.entries:  # another thread may have been here
                out = entry.run(S)
                if out is not MISS:
                    return entry, out
            limit = self.options.limit or api.config.recompile_limit
            failure = self.why(place, S)
            if _off.stance != "default" or (failure is not None and api.config.error_on_recompile):
                if _off.stance == "eager_on_recompile":
                    return None
                raise RecompileError(self.recompile_refused(failure))
            if len(place.entries) >= limit:
                self.at_limit(place, limit)
                return None
            dies = next((v for v in S if _has_finalizer(type(v))), None)
            if dies is not None:
                self._broken(place, "finalizer", f"A {type(dies).__name__}", source_of(frame))
                return None
            id = str(next(self.numbers))
            if failure is not None:
                self.tell_failure(place, failure, id)
            try:
                with Still():
                    entry = capture(
                        frame,
                        place.labels,
                        place.dynamic,
                        self._dynamic(),
                        native,
                        self.options.backend,
                        id,
                        self.module_path,
                        self.options.fullgraph or api.config.capture_scalar_outputs,
                    )
            except Failed as failed:
                if self.options.foreign and type(failed.cause) is BackendCompilerFailed:
                    raise failed.cause from failed.cause.inner_exception
                self.internal(place, failed, frame)
                return None
            if entry.exit.kind == "break" and self.options.fullgraph and entry.exit.break_id != "exception":
                raise self.unsupported(entry)
            entry.foreign = self.options.foreign
            place.entries.insert(0, entry)
            self.by_id[id] = entry
            self.tell(entry)
            out = entry.run(S)
            if out is MISS:
                place.entries.remove(entry)
                self.by_id.pop(id, None)
                self.internal(
                    place, Failed("the guards of a new segment do not hold: " + self.first_failing(entry, S)), frame
                )
                return None
            return entry, out

    def first_failing(self, entry: Entry, S: list[Any]) -> str:
        assert entry.sources is not None
        failure = explain_failure(entry.guards, entry.sources, S, _space())
        return f"{failure.guard.text} (sees {failure.new})" if failure is not None else "a relation between sizes"

    def why(self, place: Place, S: list[Any]) -> tuple[Entry, Failure] | None:
        """Why the newest entry of a place does not fit; what is known to change is noted."""
        if not place.entries:
            return None
        result = None
        for entry in place.entries:
            assert entry.sources is not None
            failed = list(failures(entry.guards, entry.sources, S, _space()))
            if not failed:
                relation = self.relation_failure(entry, S)
                failed = [relation] if relation is not None else []
            if not failed:
                continue
            if result is None:
                for failure in failed:
                    self.note_change(place, failure)
                result = (entry, failed[0])
        return result

    def note_change(self, place: Place, failure: Failure) -> None:
        if not api.config.automatic_dynamic_shapes:
            return
        guard = failure.guard
        if failure.dimension is not None:
            source, dim = failure.dimension
            place.dynamic.sizes.setdefault(path_of(source), set()).add(dim)
            # Other dimensions that moved in the same tensor are symbolic at once.
            new = failure.value
            for i, (a, b) in enumerate(zip(guard.payload.shape, tuple(new._data.shape), strict=False)):
                if a != b:
                    place.dynamic.sizes[path_of(source)].add(i)
        elif (
            guard.kind == "value" and type(guard.payload) in (int, float) and type(failure.value) is type(guard.payload)
        ):
            place.dynamic.scalars.add(path_of(guard.source))

    def relation_failure(self, entry: Entry, S: list[Any]) -> Failure | None:
        """A relation between symbolic sizes that does not hold."""
        from .guards import Guard

        assert entry.sources is not None
        space = {**entry.sources.namespace(), **_space(), "S": S}
        values: dict[str, Any] = {}
        for symbol, (source, dim) in entry.symbols.items():
            try:
                v = eval(full(source, entry.sources.constant), space)
                values[symbol] = v._data.shape[dim] if dim is not None else v
            except Exception:
                return None
        for text in entry.relations:
            try:
                if eval(text, {"math": __import__("math")}, values):
                    continue
            except Exception:
                pass
            symbol = next((s for s in values if s in text), None)
            source = entry.symbols[symbol][0] if symbol is not None else None
            if source is None:
                return None
            guard = Guard(
                source,
                "relation",
                text,
                f"{text}, where {symbol} is {_symbol_label(entry, symbol)}",
                "a relation of sizes",
                lambda e, k, s: "",
            )
            return Failure(guard, "holds", ", ".join(f"{s} = {v}" for s, v in values.items() if s in text))
        return None

    # -- telling --------------------------------------------------------------------------------

    def tell(self, entry: Entry) -> None:
        if bus.segment:
            from .story import Latest, segment_json

            told, latest = segment_json(self, entry), Latest(self, entry)
            bus.publish(SegmentCaptured(self.name, entry.id, entry.source, entry.seconds, told, latest))
        if bus.graph_break and entry.exit.kind == "break":
            e = entry.exit
            bus.publish(GraphBroken(self.name, entry.id, e.break_id, e.category, e.reason, e.hint, e.source, e.values))

    def tell_failure(self, place: Place, failed: tuple[Entry, Failure], id: str) -> None:
        entry, failure = failed
        dimension = None
        if failure.dimension is not None:
            dimension = (failure.dimension[0].label, failure.dimension[1])
        self.recompiles.append(
            {
                "segment": id, "instead_of": entry.id, "guard": failure.guard.text, "old": failure.old, "new": failure.new,
                "source": failure.guard.place.to_json() if failure.guard.place is not None else None, "dimension": dimension,
            }
        )  # fmt: skip
        if bus.guard:
            bus.publish(
                GuardFailed(
                    self.name, entry.id, failure.guard.text, failure.old, failure.new, failure.guard.place, dimension
                )
            )

    def _dynamic(self) -> bool | None:
        """Whether sizes are symbolic from the first call on (True), never (False), or once they changed (None)."""
        if self.options.dynamic is None:
            if not api.config.dynamic_shapes:
                return False
            return None if api.config.assume_static_by_default else True
        return self.options.dynamic

    def recompile_refused(self, failed: tuple[Entry, Failure] | None) -> str:
        """Why a call would be captured anew, and what forbids it."""
        why = (
            f"{failed[1].guard.text} held for the graph of segment {failed[0].id} and does not now: it was {failed[1].old}, and is {failed[1].new}"
            if failed is not None
            else "nothing was captured for it yet"
        )
        stance = _off.stance
        rule = f'the stance "{stance}"' if stance != "default" else "torch._dynamo.config.error_on_recompile"
        return f"{self.name} would be captured anew, which {rule} forbids: {why}."

    def _broken(self, place: Place, id: str, what: str, source: Any) -> None:
        place.eager = describe(id, what)
        if bus.graph_break:
            kind = BREAKS[id]
            bus.publish(GraphBroken(self.name, "", id, kind.category, place.eager, kind.hint, source))

    def at_limit(self, place: Place, limit: int) -> None:
        if self.options.fullgraph:
            raise FailOnRecompileLimitHit(
                f"{self.name} was captured {limit} times for different arguments, which is the limit with fullgraph=True. "
                f"The last guard that failed: {self.recompiles[-1]['guard'] if self.recompiles else 'none'}"
            )
        self._broken(place, "recompile-limit", str(limit), place.entries[0].source)

    def internal(self, place: Place, failed: Failed, frame: Frame) -> None:
        """The capture failed: the place runs natively from now on."""
        if self.options.fullgraph:
            raise Unsupported(describe(failed.id, failed.reason), failed.id, source_of(frame)) from failed.cause
        if STRICT.on and failed.id == "internal":
            raise RuntimeError(f"capture of {self.name} failed: {failed.reason}") from failed.cause
        self._broken(place, failed.id, failed.reason, source_of(frame))

    def give_up(self, id: str, what: str) -> None:
        self.native_reason = describe(id, what)

    def unsupported(self, entry: Entry) -> Unsupported:
        e = entry.exit
        where = f"{e.source.file}:{e.source.line}" if e.source is not None else "an unknown place"
        text = ""
        if e.source is not None:
            line = linecache.getline(e.source.file, e.source.line).strip()
            text = f"\n    {line}" if line else ""
        return Unsupported(
            f"{e.reason} ({where}, in {self.name}; fullgraph=True allows no break){text}\n{e.hint}",
            e.break_id,
            e.source,
        )

    def reset(self) -> None:
        """Forget everything that was captured."""
        self.places.clear()
        self.entries = []
        self.first = None
        self.by_id.clear()
        self.recompiles.clear()


def _has_finalizer(kind: type) -> bool:
    """Whether objects of a class of the program run code when they go: no reference to them may be kept longer than Python would."""
    if kind.__module__ == "builtins" or kind is InterpretedGenerator:
        return False
    return any("__del__" in c.__dict__ for c in kind.__mro__)


def _symbol_label(entry: Entry, symbol: Any) -> str:
    source, dim = entry.symbols[symbol]
    return source.label if dim is None else f"{source.label}.shape[{dim}]"


def _space() -> dict[str, Any]:
    return dict(STEPS)


def autocast_only(modes: tuple[Any, ...]) -> bool:
    """Whether nothing but autocast is on: under transforms, functions run natively."""
    return not modes or all(type(m) is AutocastMode for m in modes)


class _Off(threading.local):
    """Whether compiled functions run natively in this thread."""

    depth = 0
    stance = "default"
    """What a call does that no graph fits: is captured, runs natively ("eager_on_recompile"), fails ("fail_on_recompile")."""


_off = _Off()


def _unbound(*args: Any, **kwargs: Any) -> list[Any]:
    raise RuntimeError("not ready")


def binder(f: FunctionType) -> Callable[..., list[Any]]:
    """A function with the signature of `f` that returns its bound slots: CPython binds, with its own messages."""
    code = f.__code__
    count, only = code.co_argcount, code.co_kwonlyargcount
    names = [f"_a{i}" if not n.isidentifier() else n for i, n in enumerate(code.co_varnames)]
    total = count + only
    parts: list[str] = []
    defaults = len(f.__defaults__ or ())
    for i in range(count):
        parts.append(names[i] + ("=None" if i >= count - defaults else ""))
        if i == code.co_posonlyargcount - 1:
            parts.append("/")
    slots = names[:total]
    at = total
    if code.co_flags & 0x04:
        parts.append("*" + names[at])
        slots.append(names[at])
        at += 1
    elif only:
        parts.append("*")
    for name in names[count:total]:
        parts.append(name + ("=None" if f.__kwdefaults__ and name in f.__kwdefaults__ else ""))
    if code.co_flags & 0x08:
        parts.append("**" + names[at])
        slots.append(names[at])
    space: dict[str, Any] = {}
    text = f"def bind({', '.join(parts)}):\n    return [{', '.join(slots)}]\n"
    exec(compile(text, f"{ENGINE_FOLDER}generated/bind.py", "exec"), space)
    bind = space["bind"]
    out = FunctionType(bind.__code__, space, f.__name__, f.__defaults__)
    out.__kwdefaults__ = f.__kwdefaults__
    out.__qualname__ = f.__qualname__
    return out


def reset_all() -> None:
    """Forget everything that was captured of all functions."""
    with _lock:
        for compiled in list(_all):
            compiled.reset()


watch(reset_all)


class CompiledFunction:
    """The function that users call instead of the one that was compiled. Works as a method, too."""

    def __init__(self, compiled: Compiled) -> None:
        functools.update_wrapper(self, compiled.function)
        self._compiled = compiled
        self._torchdynamo_orig_callable = compiled.function
        self._call = compiled.call

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<compiled function {self._compiled.name}>"

    def __reduce__(self) -> Any:
        return self._compiled.function.__qualname__

    def _tapescope_records_(self) -> Any:
        from .story import records

        return "capture", records(self._compiled)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        from ...display import bundle
        from .story import Explanation, records

        if not self._compiled.by_id:
            return {"text/plain": repr(self)}
        return bundle("capture", lambda: records(self._compiled), str(Explanation(self._compiled)))


def _inline(domain: Any, frame: Frame, obj: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A compiled function called within another one is a part of it."""
    domain.world.guards.is_(obj.source, obj.real, "which function it is")
    f = obj.real._compiled.function
    source = domain.world.sources.const(f, f.__qualname__)
    return domain.call(frame, domain.world.wrap(f, source, guarded=True), args, kwargs)


OBJECT_CALLS[CompiledFunction] = _inline


def wrap_function(compiled: Compiled) -> Any:
    """The function that users call instead."""
    return CompiledFunction(compiled)


engine_table.install()
_ = _builtins_table, _library_table, _subgraphs

__all__ = ["Compiled", "CompiledFunction", "Options", "binder", "native", "reset_all", "wrap_function"]
