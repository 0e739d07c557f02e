"""Guards: what must still be so at a later call for a captured segment to hold, and the Python text that checks it.

Each guard is a condition about one source; only what was read is guarded.  All of them become the first part of the generated
function of a segment (`codegen.py`).  What depends on the structure of modules only is checked again when the structure epoch has moved.
A guard that fails is explained here too: what it saw when the segment was captured, and what it sees now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .sources import STEPS, Source, Sources, full

Emit = Callable[[Source], str]
Test = Callable[[str, Callable[[Any], str], Emit], str]


@dataclass(slots=True)
class Guard:
    """One condition. `test(e, constant, emit)` is the text of an expression that is true where the guard FAILS: `e` is the value
    checked, `emit` gives the expression of another source (one of `others`)."""

    source: Source
    kind: str
    payload: Any
    text: str
    why: str
    test: Test = field(repr=False)
    covered: bool = False
    place: Any = None
    others: tuple[Source, ...] = ()


class GuardSet:
    """The guards of one capture, in the order in which they were needed; equal ones once."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self.guards: dict[Any, Guard] = {}
        self.place: Callable[[], Any] = lambda: None

    def _put(
        self, source: Source, kind: str, payload: Any, text: str, why: str,
        test: Test, key: Any = None, covered: bool | None = None,
        others: tuple[Source, ...] = (),
    ) -> None:  # fmt: skip
        known = (source.number, kind, key)
        if known not in self.guards:
            covers = source.covered if covered is None else covered
            if any(o.anchor() is not source.anchor() or not o.covered for o in others):
                covers = False
            self.guards[known] = Guard(source, kind, payload, text, why, test, covers, self.place(), others)

    def is_(self, source: Source, value: Any, why: str = "which object it is") -> None:
        """The object is the same."""
        if source.kind == "const":
            return
        name = _short(value)
        self._put(source, "is", value, f"{source.label} is {name}", why, lambda e, k, s: f"{e} is not {k(value)}")

    def type(self, source: Source, kind: Any, why: str = "its type") -> None:
        """The type is the same."""
        self._put(
            source, "type", kind, f"type({source.label}) is {kind.__qualname__}", why,
            lambda e, k, s: f"type({e}) is not {k(kind)}",
        )  # fmt: skip

    def value(self, source: Source, value: Any, why: str = "its value") -> None:
        """A plain value is equal and of the same type."""
        if value is None or value is True or value is False or value is ... or value is NotImplemented:
            self.is_(source, value, why)
            return
        kind = type(value)
        if kind is float and (value != value or value == 0.0):
            test = lambda e, k, s: f"type({e}) is not float or repr({e}) != {repr(value)!r}"  # noqa: E731
        elif kind is frozenset:
            kinds = frozenset(map(type, value))
            test = lambda e, k, s: (  # noqa: E731
                f"{e} != {k(value)} or type({e}) is not {k(kind)} or {{*map(type, {e})}} != {k(kinds)}"
            )
        else:
            test = lambda e, k, s: f"{e} != {k(value)} or type({e}) is not {k(kind)}"  # noqa: E731
        self._put(source, "value", value, f"{source.label} == {value!r}", why, test)

    def length(self, source: Source, n: int) -> None:
        """The number of elements is the same."""
        self._put(
            source,
            "len",
            n,
            f"len({source.label}) == {n}",
            "how many elements it has",
            lambda e, k, s: f"len({e}) != {n}",
        )

    def keys(self, source: Source, keys: tuple[Any, ...]) -> None:
        """The keys of a dictionary (elements of a set) are the same, in the same order."""
        if all(type(k) is str for k in keys):
            test = lambda e, k, s: f"tuple({e}) != {k(keys)}"  # noqa: E731
        else:  # 1, 1.0 and True are equal
            kinds = tuple(map(type, keys))
            test = lambda e, k, s: f"tuple({e}) != {k(keys)} or tuple(map(type, {e})) != {k(kinds)}"  # noqa: E731
        self._put(
            source, "keys", keys, f"list({source.label}) == {[_short(k) for k in keys]}", "which keys it has", test
        )

    def has(self, source: Source, key: Any, yes: bool, by: Source | None = None) -> None:
        """A key is there, or is not."""
        words = "in" if yes else "not in"
        wrong = "not in" if yes else "in"
        if by is None:
            test = lambda e, k, s: f"{k(key)} {wrong} {e}"  # noqa: E731
            shown, ident = _short(key), ("has", id(key) if not isinstance(key, (str, int)) else key)
        else:
            test = lambda e, k, s: f"{s(by)} {wrong} {e}"  # noqa: E731
            shown, ident = by.label, ("by", by.number)
        self._put(
            source, "has", yes, f"{shown} {words} {source.label}", "whether the key is there", test, ident,
            others=(by,) if by is not None else (),
        )  # fmt: skip

    def has_own(self, source: Source, name: str, yes: bool, covered: bool = False) -> None:
        """An object has an attribute of its own, or has not."""
        words, wrong = ("in", "not in") if yes else ("not in", "in")
        self._put(
            source, "has_own", yes, f"{name!r} {words} vars({source.label})", "whether the attribute is there",
            lambda e, k, s: f"{name!r} {wrong} {e}.__dict__", name, covered,
        )  # fmt: skip

    def condition(
        self, source: Source, text: str, failing: str, why: str, payload: Any = None, covered: bool | None = None
    ) -> None:
        """Any condition about one value; `failing` has `{e}` for its expression, `text` has `{e}` for its name."""
        self._put(
            source, "condition", payload, text.replace("{e}", source.label), why, lambda e, k, s: failing.replace("{e}", e),
            failing, covered,
        )  # fmt: skip

    def same(self, source: Source, other: Source, yes: bool) -> None:
        """Two paths lead to one object, or to two."""
        words, wrong = ("is", "is not") if yes else ("is not", "is")
        self._put(
            source, "same", yes, f"{source.label} {words} {other.label}", "which objects are the same",
            lambda e, k, s: f"{e} {wrong} {s(other)}", (other.number, yes), others=(other,),
        )  # fmt: skip

    def distinct(self, source: Source, others: tuple[Source, ...]) -> None:
        """Several paths lead to as many objects."""
        self._put(
            source, "same", False, "all of " + ", ".join(o.label for o in (source, *others)) + " are different objects", "which objects are the same",
            lambda e, k, s: f"len({{id({e}), {', '.join(f'id({s(o)})' for o in others)}}}) != {len(others) + 1}", ("distinct", len(others)),
            others=others,
        )  # fmt: skip

    def apart(self, some: list[Source], others: list[Source]) -> None:
        """None of some paths lead to an object that one of others leads to."""
        first, *rest = some
        shown = ", ".join(s.label for s in some), ", ".join(s.label for s in others)
        self._put(
            first, "same", False, f"none of {shown[0]} is one of {shown[1]}", "which objects are the same",
            lambda e, k, s: (
                f"not {{id({e}){''.join(f', id({s(o)})' for o in rest)}}}.isdisjoint([{', '.join(f'id({s(o)})' for o in others)}])"
            ),
            ("apart", len(some), len(others)), others=(*rest, *others),
        )  # fmt: skip

    def tensor(self, source: Source, t: Any, dynamic: frozenset[int] = frozenset()) -> None:
        """Everything but the values of a tensor is the same; sizes of `dynamic` dimensions may differ."""
        shape = tuple(t._data.shape)
        spec = TensorFacts(t, dynamic)
        shown = "(" + ", ".join("*" if i in dynamic else str(n) for i, n in enumerate(shape)) + ")"
        grads = ", requires grad" if t.requires_grad else ""
        self._put(
            source, "tensor", spec, f"{source.label}: {t._dtype.name} {shown}{grads}", "its type, shape and layout",
            lambda e, k, s: spec.failing(e, k), frozenset(dynamic),
        )  # fmt: skip


class TensorFacts:
    """What a tensor guard compares."""

    def __init__(self, t: Any, dynamic: frozenset[int]) -> None:
        self.kind, self.dtype, self.backend = type(t), t._dtype, t._storage.backend
        self.shape, self.dynamic = tuple(t._data.shape), dynamic
        self.requires_grad = t.requires_grad
        self.leaf, self.view, self.creation = t.grad_fn is None, t._base is not None, t._creation
        self.strides, self.contiguous = tuple(t.stride()), t.is_contiguous()
        self.raw = getattr(t._data, "strides", None) if t.is_cpu else None

    def failing(self, e: str, k: Callable[[Any], str]) -> str:
        tests = [f"type({e}) is not {k(self.kind)}", f"{e}._dtype is not {k(self.dtype)}"]
        if self.dynamic:
            tests.append(f"len({e}._data.shape) != {len(self.shape)}")
            tests += [f"{e}._data.shape[{i}] != {n}" for i, n in enumerate(self.shape) if i not in self.dynamic]
            if self.contiguous:
                tests.append(f"not {e}.is_contiguous()")
            else:
                tests.append(f"{e}.is_contiguous()")
        else:
            tests.append(f"{e}._data.shape != {self.shape}")
            if self.raw is not None:
                tests.append(f"{e}._data.strides != {self.raw}" if self.shape else "False")
            else:
                tests.append(f"tuple({e}.stride()) != {self.strides}")
        tests.append(f"{e}._storage.backend is not {k(self.backend)}")
        if self.view:
            tests.append(f"{e}._base is None or {e}.requires_grad is not {self.requires_grad}")
            tests.append(f"({e}.grad_fn is None) is not {self.leaf}")
        else:
            tests.append(f"{e}._base is not None or {e}._requires_grad is not {self.requires_grad}")
            tests.append(f"({e}._grad_fn is None) is not {self.leaf}")
        tests.append(f"{e}._creation != {self.creation!r}")
        return " or ".join(t for t in tests if t != "False")

    def difference(self, new: Any) -> tuple[str, str, int | None]:
        """What differs in `new`, in words, and the dimension where it is one size."""
        from ...tensor import Tensor

        if not isinstance(new, Tensor):
            return "a tensor", _short(new), None
        if type(new) is not self.kind:
            return self.kind.__name__, type(new).__name__, None
        if new._dtype is not self.dtype:
            return self.dtype.name, new._dtype.name, None
        shape = tuple(new._data.shape)
        if len(shape) != len(self.shape):
            return f"shape {self.shape}", f"shape {shape}", None
        for i, (a, b) in enumerate(zip(self.shape, shape, strict=True)):
            if a != b and i not in self.dynamic:
                return f"size {a} in dimension {i}", f"size {b} in dimension {i}", i
        if new._storage.backend is not self.backend:
            return f"device {self.backend.name}", f"device {new._storage.backend.name}", None
        if new.requires_grad is not self.requires_grad:
            return f"requires_grad={self.requires_grad}", f"requires_grad={new.requires_grad}", None
        if (new.grad_fn is None) is not self.leaf:
            return "a leaf" if self.leaf else "no leaf", "no leaf" if self.leaf else "a leaf", None
        if tuple(new.stride()) != self.strides:
            return f"strides {self.strides}", f"strides {tuple(new.stride())}", None
        return "another kind of view", "this view", None


@dataclass(slots=True)
class Failure:
    """A guard that did not hold: the guard, what it saw, what it sees, and (source, dimension) where a size moved."""

    guard: Guard
    old: str
    new: str
    dimension: tuple[Source, int] | None = None
    value: Any = None


def explain_failure(guards: list[Guard], sources: Sources, values: list[Any], extra: dict[str, Any]) -> Failure | None:
    """The first guard that does not hold for `values` (the slots of an entry), or None where all do."""
    return next(failures(guards, sources, values, extra), None)


def failures(guards: list[Guard], sources: Sources, values: list[Any], extra: dict[str, Any]) -> Iterator[Failure]:
    """The guards that do not hold."""
    space = {**sources.namespace(), **extra, "S": values, **STEPS}
    for guard in guards:
        text = full(guard.source, sources.constant)
        try:
            now = eval(text, space)
        except Exception as error:
            yield Failure(guard, _seen(guard), f"nothing ({type(error).__name__})")
            continue
        space["_now"] = now
        try:
            failed = eval(
                guard.test("_now", sources.constant, lambda s: full(s, sources.constant)),
                {**space, **sources.namespace()},
            )
        except Exception:
            failed = True
        if failed:
            yield _failure(guard, now)


def _failure(guard: Guard, now: Any) -> Failure:
    if guard.kind == "tensor":
        old, new, dim = guard.payload.difference(now)
        return Failure(guard, old, new, (guard.source, dim) if dim is not None else None, now)
    if guard.kind == "len":
        return Failure(guard, str(guard.payload), str(len(now)) if hasattr(now, "__len__") else "no length", None, now)
    if guard.kind == "type":
        return Failure(guard, guard.payload.__qualname__, type(now).__qualname__, None, now)
    if guard.kind == "keys":
        return Failure(
            guard,
            _short(list(guard.payload)),
            _short(list(now)) if hasattr(now, "__iter__") else _short(now),
            None,
            now,
        )
    if guard.kind == "same":
        words = ("one object", "different objects")
        return Failure(guard, words[not guard.payload], words[bool(guard.payload)], None, now)
    if guard.kind in ("has", "has_own"):
        words = ("not there", "there")
        return Failure(guard, words[bool(guard.payload)], words[not guard.payload], None, now)
    return Failure(guard, _seen(guard), _short(now), None, now)


def _seen(guard: Guard) -> str:
    return _short(guard.payload)


def _short(value: Any) -> str:
    if isinstance(value, type):
        return value.__qualname__
    name = getattr(value, "__qualname__", None)
    if isinstance(name, str) and callable(value):
        return name
    if type(value) in (int, float, str, bool, bytes, complex, type(None)):
        text = repr(value)
    elif type(value) in (list, tuple):
        text = ", ".join(_short(v) for v in value[:8]) + (", ..." if len(value) > 8 else "")
        text = f"[{text}]" if type(value) is list else f"({text})"
    else:
        text = f"<{type(value).__qualname__}>"
    return text if len(text) <= 80 else text[:77] + "..."
