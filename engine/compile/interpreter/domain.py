"""What instructions mean: the interface between the loop and a world of values.

The loop moves values between slots and stack and follows jumps; everything that looks into a value asks a `Domain`.
`ConcreteDomain` answers with Python's own operations; capture's domain answers with symbols and derives from it.

Rules for every method:

- `frame` is the innermost frame; `frame.ip` is the index of the running instruction, its operands are still on the
  stack.  A method must not touch `frame.stack` and `frame.ip`.
- It answers a value, or raises the exception that the program shall see (or `Raised(value)`), or raises `Break`
  *before it has changed anything*: then the instruction has not happened.
- Where the annotation says `Outcome`, it may answer a `Frame` instead of a value: the loop pops the operands, links
  that frame to the caller and runs it; what it returns becomes the result (after its `convert`).  Everywhere else a
  method that needs interpreted code runs it to the end with `Interpreter.call`.
- Values are the domain's own; constants arrive as they stand in the code object.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any, NoReturn

from .frame import Frame

if TYPE_CHECKING:
    from .loop import Interpreter

Value = Any
"""Whatever the domain calls a value."""

Outcome = Any
"""A value, or a `Frame` to be run for one."""


class Domain(ABC):
    """See the head of this file for the rules that hold for all methods."""

    interpreter: Interpreter
    """The interpreter that asks this domain; set by it."""

    def backward_jump(self, frame: Frame, target: int) -> None:  # noqa: B027  (doing nothing is the usual answer)
        """A loop of the program starts another turn.  The loop asks only domains that define this anew."""

    # Names, cells

    @abstractmethod
    def load_global(self, frame: Frame, name: str) -> Value:
        """The value of a global or built-in name; NameError without it."""

    @abstractmethod
    def store_global(self, frame: Frame, name: str, value: Value) -> None: ...

    @abstractmethod
    def delete_global(self, frame: Frame, name: str) -> None: ...

    @abstractmethod
    def load_name(self, frame: Frame, name: str) -> Value:
        """A name of a class or module body: from `frame.names`, else global, else built-in."""

    @abstractmethod
    def store_name(self, frame: Frame, name: str, value: Value) -> None: ...

    @abstractmethod
    def delete_name(self, frame: Frame, name: str) -> None: ...

    @abstractmethod
    def load_locals(self, frame: Frame) -> Value:
        """The mapping of a class or module body (`frame.names`)."""

    @abstractmethod
    def load_from_mapping_or_global(self, frame: Frame, mapping: Value, name: str) -> Value: ...

    @abstractmethod
    def load_from_mapping_or_cell(self, frame: Frame, mapping: Value, slot: int) -> Value:
        """`program.slots[slot]` from the mapping, else from the cell in that slot."""

    @abstractmethod
    def make_cell(self, frame: Frame, value: Value) -> Value:
        """A new cell; `value` may be `UNBOUND`."""

    @abstractmethod
    def load_deref(self, frame: Frame, cell: Value, slot: int) -> Value:
        """What the cell in `slot` holds; raises `frame.program.unbound(slot)` where it is empty."""

    @abstractmethod
    def store_deref(self, frame: Frame, cell: Value, value: Value) -> None: ...

    @abstractmethod
    def delete_deref(self, frame: Frame, cell: Value, slot: int) -> None: ...

    # Operators

    @abstractmethod
    def unary(self, frame: Frame, op: str, a: Value) -> Outcome:
        """`op` is one of `-`, `+`, `~`, `not`."""

    @abstractmethod
    def binary(self, frame: Frame, op: str, a: Value, b: Value) -> Outcome:
        """`op` is `+ - * / // % @ ** << >> & | ^` or one of them with `=` (in place)."""

    @abstractmethod
    def compare(self, frame: Frame, op: str, a: Value, b: Value) -> Outcome:
        """`op` is one of `< <= == != > >=`."""

    @abstractmethod
    def is_(self, frame: Frame, a: Value, b: Value, invert: bool) -> Value:
        """`a is b`, or `a is not b` where `invert`."""

    @abstractmethod
    def is_none(self, frame: Frame, a: Value) -> bool:
        """Whether a jump that tests for None is taken."""

    @abstractmethod
    def contains(self, frame: Frame, container: Value, item: Value, invert: bool) -> Outcome:
        """`item in container`, or `not in` where `invert`."""

    @abstractmethod
    def truth(self, frame: Frame, value: Value) -> Outcome:
        """A real `bool` (the loop jumps by it), or a frame that returns one."""

    # Attributes, items

    @abstractmethod
    def load_attr(self, frame: Frame, obj: Value, name: str) -> Outcome:
        """Methods come bound: no instruction asks for an unbound one."""

    @abstractmethod
    def store_attr(self, frame: Frame, obj: Value, name: str, value: Value) -> Outcome:
        """A frame that it answers is run and its value dropped."""

    @abstractmethod
    def delete_attr(self, frame: Frame, obj: Value, name: str) -> Outcome: ...

    @abstractmethod
    def load_super_attr(
        self, frame: Frame, super_: Value, cls: Value, obj: Value, name: str, explicit: bool
    ) -> Outcome:
        """`super_(cls, obj).name`, or `super_().name` unless `explicit`; `super_` is whatever the name `super` means."""

    @abstractmethod
    def load_special(self, frame: Frame, obj: Value, name: str) -> Value:
        """`__enter__` or `__exit__` looked up on the type and bound; TypeError where `obj` is no context manager."""

    @abstractmethod
    def getitem(self, frame: Frame, container: Value, key: Value) -> Outcome: ...

    @abstractmethod
    def setitem(self, frame: Frame, container: Value, key: Value, value: Value) -> Outcome: ...

    @abstractmethod
    def delitem(self, frame: Frame, container: Value, key: Value) -> Outcome: ...

    # Displays, comprehensions

    @abstractmethod
    def build_tuple(self, frame: Frame, items: list[Value]) -> Value: ...

    @abstractmethod
    def build_list(self, frame: Frame, items: list[Value]) -> Value: ...

    @abstractmethod
    def build_set(self, frame: Frame, items: list[Value]) -> Value: ...

    @abstractmethod
    def build_map(self, frame: Frame, keys: Sequence[Value], values: Sequence[Value]) -> Value: ...

    @abstractmethod
    def build_string(self, frame: Frame, parts: list[Value]) -> Value: ...

    @abstractmethod
    def build_slice(self, frame: Frame, parts: list[Value]) -> Value:
        """`parts` is (start, stop) or (start, stop, step)."""

    @abstractmethod
    def build_template(self, frame: Frame, strings: Value, interpolations: Value) -> Value:
        """A template string (Python 3.14)."""

    @abstractmethod
    def build_interpolation(
        self, frame: Frame, value: Value, text: Value, conversion: str | None, spec: Value
    ) -> Value: ...

    @abstractmethod
    def list_append(self, frame: Frame, target: Value, item: Value) -> None: ...

    @abstractmethod
    def list_extend(self, frame: Frame, target: Value, iterable: Value) -> None:
        """`[*iterable]`; also how starred arguments are collected."""

    @abstractmethod
    def list_to_tuple(self, frame: Frame, target: Value) -> Value: ...

    @abstractmethod
    def set_add(self, frame: Frame, target: Value, item: Value) -> None: ...

    @abstractmethod
    def set_update(self, frame: Frame, target: Value, iterable: Value) -> None: ...

    @abstractmethod
    def map_add(self, frame: Frame, target: Value, key: Value, value: Value) -> None: ...

    @abstractmethod
    def dict_update(self, frame: Frame, target: Value, mapping: Value) -> None:
        """`{**mapping}`."""

    @abstractmethod
    def dict_merge(self, frame: Frame, target: Value, mapping: Value, callable: Value) -> None:
        """`callable(**mapping)`: as `dict_update`, but a key may come only once."""

    @abstractmethod
    def unpack(self, frame: Frame, value: Value, count: int) -> Sequence[Value]:
        """Exactly `count` items in order; ValueError otherwise."""

    @abstractmethod
    def unpack_ex(self, frame: Frame, value: Value, before: int, after: int) -> Sequence[Value]:
        """`before` items, a list of those in the middle (as a value), `after` items."""

    # Formatting

    @abstractmethod
    def convert_value(self, frame: Frame, value: Value, conversion: str) -> Value:
        """`conversion` is `s`, `r` or `a`."""

    @abstractmethod
    def format_value(self, frame: Frame, value: Value, spec: Value | None) -> Value: ...

    # match

    @abstractmethod
    def get_len(self, frame: Frame, value: Value) -> Value: ...

    @abstractmethod
    def match_mapping(self, frame: Frame, subject: Value) -> bool: ...

    @abstractmethod
    def match_sequence(self, frame: Frame, subject: Value) -> bool: ...

    @abstractmethod
    def match_keys(self, frame: Frame, subject: Value, keys: Value) -> Value:
        """A tuple of the values (as a value) or None."""

    @abstractmethod
    def match_class(self, frame: Frame, subject: Value, cls: Value, count: int, names: Value) -> Value:
        """A tuple (as a value) of `count` positional attributes and those of `names`, or None."""

    # Calls, functions, classes

    @abstractmethod
    def call(self, frame: Frame, callable: Value, args: list[Value], kwargs: dict[str, Value]) -> Outcome: ...

    @abstractmethod
    def call_ex(self, frame: Frame, callable: Value, args: Value, kwargs: Value | None) -> Outcome:
        """`callable(*args, **kwargs)`; `args` is any iterable, `kwargs` any mapping."""

    @abstractmethod
    def make_function(self, frame: Frame, code: CodeType, attributes: dict[str, Value]) -> Value:
        """`attributes` has some of `defaults`, `kwdefaults`, `annotations`, `annotate`, `closure`."""

    @abstractmethod
    def build_closure(self, frame: Frame, cells: list[Value]) -> Value:
        """What `make_function` gets as `closure` and `Frame.closure` holds: a sequence of cells."""

    @abstractmethod
    def load_build_class(self, frame: Frame) -> Value:
        """What the `class` statement calls."""

    @abstractmethod
    def setup_annotations(self, frame: Frame) -> None: ...

    @abstractmethod
    def make_generator(self, frame: Frame) -> Value:
        """A generator for `frame`, which has just bound its arguments; the call answers it."""

    # Imports

    @abstractmethod
    def import_name(self, frame: Frame, name: str, fromlist: Value, level: Value) -> Value: ...

    @abstractmethod
    def import_from(self, frame: Frame, module: Value, name: str) -> Value: ...

    @abstractmethod
    def import_star(self, frame: Frame, module: Value) -> None: ...

    # Iteration

    @abstractmethod
    def get_iter(self, frame: Frame, value: Value) -> Outcome: ...

    @abstractmethod
    def for_iter(self, frame: Frame, iterator: Value) -> Outcome:
        """The next item, `EXHAUSTED`, or the frame of a generator to be resumed (`generators.resume`)."""

    @abstractmethod
    def get_yield_from_iter(self, frame: Frame, value: Value) -> Outcome: ...

    @abstractmethod
    def send(self, frame: Frame, receiver: Value, value: Value) -> Frame | tuple[bool, Value]:
        """One step of `yield from`: (False, yielded value), (True, result), or the frame of a generator to be resumed."""

    # Exceptions

    @abstractmethod
    def raise_(self, frame: Frame, exception: Value | None, cause: Value | None, has_cause: bool) -> NoReturn:
        """The `raise` statement; without an exception it raises the handled one again."""
        raise NotImplementedError

    @abstractmethod
    def catch(self, frame: Frame, raised: BaseException) -> Value:
        """The form in which the program sees a native exception that an instruction raised."""

    @abstractmethod
    def thrown(self, frame: Frame, value: Value) -> Value:
        """What is raised in the frame of a generator into which `value` was thrown: it gets its context."""

    @abstractmethod
    def throwable(self, value: Value) -> BaseException:
        """The inverse of `catch`: what to raise natively for an exception in the domain's form."""

    @abstractmethod
    def native_exception(self, value: Value) -> BaseException | None:
        """What `sys.exc_info()` shall answer to native code while this exception is handled; None: leave it."""

    @abstractmethod
    def add_traceback(self, frame: Frame, value: Value) -> None:
        """The exception passes `frame` at `frame.ip`: note it in its traceback."""

    @abstractmethod
    def exception_match(self, frame: Frame, value: Value, types: Value) -> bool:
        """Whether `except types` catches it; TypeError where `types` are no exception classes."""

    @abstractmethod
    def exception_group_match(self, frame: Frame, value: Value, types: Value) -> tuple[Value, Value]:
        """(rest, match) for `except* types`; None stands for nothing."""

    @abstractmethod
    def exception_triple(self, frame: Frame, value: Value) -> tuple[Value, Value, Value]:
        """(type, exception, traceback) as `__exit__` gets them."""

    @abstractmethod
    def reraise_star(self, frame: Frame, original: Value, raised: Value) -> Value:
        """What is left to be raised after the clauses of `except*`, None for nothing."""

    @abstractmethod
    def stop_value(self, frame: Frame, value: Value) -> tuple[bool, Value]:
        """(True, its value) for a StopIteration, (False, None) for others."""

    @abstractmethod
    def generator_raised(self, frame: Frame, value: Value) -> Value:
        """What leaves a generator in place of `value`: a StopIteration becomes a RuntimeError."""
