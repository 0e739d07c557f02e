"""Two domains that a test of the interpreter needs: one that interprets operators, one that breaks everywhere.

`with_dunders` makes a domain whose operators, attributes, items and iterators answer frames where a class defines
them in Python, so that every way in which a frame can be pushed is used.  `with_breaks` makes one that refuses each
instruction once, so that a test can see that nothing has happened.  Both take the module `interpreter`, because the
same file runs where the package has another name.
"""

from __future__ import annotations

import types
from typing import Any

REFLECTED = {
    "+": ("__add__", "__radd__"), "-": ("__sub__", "__rsub__"), "*": ("__mul__", "__rmul__"),
    "@": ("__matmul__", "__rmatmul__"), "/": ("__truediv__", "__rtruediv__"), "|": ("__or__", "__ror__"),
}  # fmt: skip
ORDER = {"<": "__lt__", "<=": "__le__", "==": "__eq__", "!=": "__ne__", ">": "__gt__", ">=": "__ge__"}
UNARY = {"-": "__neg__", "+": "__pos__", "~": "__invert__"}


def lookup(obj: Any, name: str) -> Any:
    """The function of Python that the type of `obj` has under a name, else None."""
    for base in type(obj).__mro__:
        if name in base.__dict__:
            found = base.__dict__[name]
            return found if type(found) is types.FunctionType else None
    return None


def with_dunders(machine: Any) -> Any:
    """A domain that pushes frames for methods written in Python; it counts them in `pushed`."""
    Convert, EXHAUSTED = machine.Convert, machine.EXHAUSTED

    class Domain(machine.ConcreteDomain):
        pushed = 0

        def _push(self, function: Any, *args: Any) -> Any:
            if not self.interprets(function):
                return None
            self.pushed += 1
            return self.make_frame(function, list(args), {})

        def binary(self, frame: Any, op: str, a: Any, b: Any) -> Any:
            names = REFLECTED.get(op)
            # A subclass on the right goes first, and a missing one falls back: left to Python.
            function = lookup(a, names[0]) if names and not issubclass(type(b), type(a)) else None
            pushed = function and self._push(function, a, b)
            if not pushed:
                return super().binary(frame, op, a, b)

            def finish(frame: Any, value: Any) -> Any:
                if value is not NotImplemented:
                    return value
                other = getattr(type(b), names[1], None)
                result = NotImplemented if other is None else other(b, a)
                if result is NotImplemented:
                    kinds = f"'{type(a).__name__}' and '{type(b).__name__}'"
                    raise TypeError(f"unsupported operand type(s) for {op}: {kinds}")
                return result

            pushed.convert = Convert("binary", finish)
            return pushed

        def unary(self, frame: Any, op: str, a: Any) -> Any:
            if op == "not":
                answer = self.truth(frame, a)
                if type(answer) is not machine.Frame:
                    return not answer
                checked = answer.convert.finish
                answer.convert = Convert("not", lambda frame, value: not checked(frame, value))
                return answer
            function = lookup(a, UNARY[op])
            return (function and self._push(function, a)) or super().unary(frame, op, a)

        def compare(self, frame: Any, op: str, a: Any, b: Any) -> Any:
            function = lookup(a, ORDER[op])
            pushed = function and type(a) is not type(b) and self._push(function, a, b)
            if not pushed:
                return super().compare(frame, op, a, b)

            def finish(frame: Any, value: Any) -> Any:
                return super(Domain, self).compare(frame, op, a, b) if value is NotImplemented else value

            pushed.convert = Convert("compare", finish)
            return pushed

        def truth(self, frame: Any, value: Any) -> Any:
            function = lookup(value, "__bool__")
            pushed = function and self._push(function, value)
            if not pushed:
                return super().truth(frame, value)

            def finish(frame: Any, answer: Any) -> bool:
                if type(answer) is not bool:
                    raise TypeError(f"__bool__ should return bool, returned {type(answer).__name__}")
                return answer

            pushed.convert = Convert("bool", finish)
            return pushed

        def contains(self, frame: Any, container: Any, item: Any, invert: bool) -> Any:
            function = lookup(container, "__contains__")
            pushed = function and self._push(function, container, item)
            if not pushed:
                return super().contains(frame, container, item, invert)

            def finish(frame: Any, value: Any) -> Any:
                return not value if invert else bool(value)

            pushed.convert = Convert("contains", finish)
            return pushed

        def load_attr(self, frame: Any, obj: Any, name: str) -> Any:
            found = next((base.__dict__[name] for base in type(obj).__mro__ if name in base.__dict__), None)
            if type(found) is not property or type(found.fget) is not types.FunctionType:
                return super().load_attr(frame, obj, name)
            if type(obj).__getattribute__ is not object.__getattribute__:
                return super().load_attr(frame, obj, name)
            pushed = self._push(found.fget, obj)
            fallback = lookup(obj, "__getattr__")
            if pushed and fallback:

                def failed(frame: Any, error: Any) -> Any:
                    if not isinstance(error, AttributeError):
                        return NotImplemented
                    return self._push(fallback, obj, name) or fallback(obj, name)

                pushed.convert = Convert("property", lambda frame, value: value, failed=failed)
            return pushed or super().load_attr(frame, obj, name)

        def store_attr(self, frame: Any, obj: Any, name: str, value: Any) -> Any:
            found = getattr(type(obj), name, None)
            if type(found) is property and found.fset and type(obj).__setattr__ is object.__setattr__:
                pushed = self._push(found.fset, obj, value)
                if pushed:
                    return pushed
            return super().store_attr(frame, obj, name, value)

        def delete_attr(self, frame: Any, obj: Any, name: str) -> Any:
            found = getattr(type(obj), name, None)
            pushed = type(found) is property and found.fdel and self._push(found.fdel, obj)
            return pushed or super().delete_attr(frame, obj, name)

        def getitem(self, frame: Any, container: Any, key: Any) -> Any:
            function = lookup(container, "__getitem__")
            return (function and self._push(function, container, key)) or super().getitem(frame, container, key)

        def setitem(self, frame: Any, container: Any, key: Any, value: Any) -> Any:
            function = lookup(container, "__setitem__")
            pushed = function and self._push(function, container, key, value)
            return pushed or super().setitem(frame, container, key, value)

        def delitem(self, frame: Any, container: Any, key: Any) -> Any:
            function = lookup(container, "__delitem__")
            return (function and self._push(function, container, key)) or super().delitem(frame, container, key)

        def get_iter(self, frame: Any, value: Any) -> Any:
            function = lookup(value, "__iter__")
            pushed = function and self._push(function, value)
            if not pushed:
                return super().get_iter(frame, value)

            def finish(frame: Any, iterator: Any) -> Any:
                if not hasattr(type(iterator), "__next__"):
                    raise TypeError(f"iter() returned non-iterator of type '{type(iterator).__name__}'")
                return iterator

            pushed.convert = Convert("iter", finish)
            return pushed

        def for_iter(self, frame: Any, iterator: Any) -> Any:
            function = lookup(iterator, "__next__")
            pushed = function and self._push(function, iterator)
            if not pushed:
                return super().for_iter(frame, iterator)

            def failed(frame: Any, error: Any) -> Any:
                return EXHAUSTED if isinstance(error, StopIteration) else NotImplemented

            pushed.convert = Convert("next", lambda frame, value: value, failed=failed)
            return pushed

    return Domain()


UNARMED = ("catch", "thrown", "throwable", "native_exception", "add_traceback", "generator_raised", "backward_jump")
"""Methods that the loop calls while an exception or a value is on its way: they never refuse."""


def with_breaks(machine: Any) -> Any:
    """A domain that, while `armed` is the asking frame, raises `Break` from every method an instruction calls."""

    def refusing(name: str) -> Any:
        def method(self: Any, frame: Any, *args: Any) -> Any:
            if frame is self.armed and frame is not None:
                raise machine.Break(f"{name} refuses")
            return getattr(machine.ConcreteDomain, name)(self, frame, *args)

        return method

    names = [name for name in machine.Domain.__abstractmethods__ if name not in UNARMED]
    kind = type("Domain", (machine.ConcreteDomain,), {**{name: refusing(name) for name in names}, "armed": None})
    return kind()


def run_with_breaks(loop: Any, frame: Any, machine: Any) -> None:
    """Run a chain; before each instruction see that refusing it changes nothing."""
    domain = loop.domain
    while type(frame) is machine.Frame:
        before = (frame.ip, frame.back, frame.handled, list(map(id, frame.stack)), list(map(id, frame.locals)))
        domain.armed = None if frame.pending is not None else frame
        try:
            frame = loop.step(frame)
            continue  # it asked the domain for nothing
        except machine.Break as refused:
            if refused.frame is not frame:
                raise AssertionError(f"the break names {refused.frame}, not {frame}") from None
        finally:
            domain.armed = None
        after = (frame.ip, frame.back, frame.handled, list(map(id, frame.stack)), list(map(id, frame.locals)))
        if after != before:
            raise AssertionError(f"{frame.instruction} had changed the frame when it was refused")
        frame = loop.step(frame)
