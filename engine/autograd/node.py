"""The nodes of the tape: what was computed, what backward keeps of it, and where it stands in the source.

A node is made by dispatch when an operator runs on tensors that need a gradient.  It holds its operator, its edges to
the nodes its inputs came from, the saved values, its sequence number, its module path and (cheaply: a code object and
an instruction offset, resolved when somebody looks) its place in the user's source.  Running backward is `run.py`'s.
"""

from __future__ import annotations

import itertools
import os
import sys
import weakref
from collections.abc import Callable
from types import CodeType
from typing import Any

from .. import module_path
from ..observe import Source, characters
from ..ops.table import Op, Rule
from ..state import state

ENGINE_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_sequence = itertools.count()
Edge = tuple["Node", int]


def call_site(depth: int = 1) -> tuple[CodeType | None, int]:
    """Code object and instruction offset of the innermost frame outside the engine."""
    frame = sys._getframe(depth)
    while frame is not None:
        code = frame.f_code
        name = code.co_filename
        if not name.startswith(ENGINE_FOLDER) or name.startswith(GRAPHS):
            return code, frame.f_lasti
        frame = frame.f_back  # type: ignore[assignment]
    return None, 0


GRAPHS = ENGINE_FOLDER + "generated/graph_"
"""How the file names of printed graphs begin: their lines stand for lines of the user, which whoever printed them knows."""

Lines = Callable[[int], tuple[Source | None, str]]
_printed: weakref.WeakKeyDictionary[CodeType, Lines] = weakref.WeakKeyDictionary()


def graph_printed(code: CodeType, lines: Lines) -> None:
    """Say where the lines of a printed graph come from: `lines(number)` is (source, module path)."""
    _printed[code] = lines


def graph_site(code: CodeType, offset: int) -> tuple[Source | None, str]:
    """Source and module path behind an instruction of a printed graph; (None, "") for any other code."""
    lines = _printed.get(code) if code.co_filename.startswith(GRAPHS) else None
    place = next(itertools.islice(code.co_positions(), offset // 2, None), None) if lines is not None else None
    if lines is None or place is None or place[0] is None:
        return None, ""
    return lines(place[0])


def module_at(code: CodeType | None, offset: int, current: str) -> str:
    """The module path of an operator: `current`, and within a printed graph that of its line."""
    inner = graph_site(code, offset)[1] if code is not None and code.co_filename.startswith(GRAPHS) else ""
    return f"{current}.{inner}" if current and inner else inner or current


_PLACES = 20_000
_places: dict[tuple[int, int], tuple[CodeType, Source]] = {}


def resolve_source(code: CodeType | None, offset: int) -> Source | None:
    """The source range of one instruction, from the code object's position table.

    The table can only be read from its beginning, so the last answers are kept: a loop that is watched asks for the
    same instruction every turn.  The key is the identity, since a code object hashes all of its bytecode.
    """
    if code is None:
        return None
    known = _places.get((id(code), offset))
    if known is not None and known[0] is code:
        return known[1]
    if code.co_filename.startswith(GRAPHS):
        return graph_site(code, offset)[0]
    place = next(itertools.islice(code.co_positions(), offset // 2, None), None)
    if place is None or place[0] is None:
        found = Source(code.co_filename, code.co_firstlineno, code.co_firstlineno, 0, 0, code.co_qualname)
    else:
        line, file = place[0], code.co_filename
        end = place[1] or line
        column, end_column = characters(file, line, place[2] or 0), characters(file, end, place[3] or 0)
        found = Source(file, line, end, column, end_column, code.co_qualname)
    if len(_places) >= _PLACES:
        _places.clear()
    _places[id(code), offset] = code, found
    return found


class Plan:
    """What must be kept for one pattern of inputs that need a gradient: made once a pattern."""

    __slots__ = ("names", "rules", "save")

    def __init__(self, op: Op, mask: tuple[bool, ...]):
        self.rules: tuple[Rule, ...] = tuple(r for r in op.rules if any(mask[i] for i in r.inputs))
        names = dict.fromkeys(n for r in self.rules for n in r.names)
        self.save = tuple(op.tensors.index(n) for n in names if n in op.tensors)
        self.names = frozenset(names)


def _user_stack(frame: Any) -> str:
    """The calls that led to a frame, without those inside the engine, and in a notebook without those that run its cells."""
    import traceback

    calls = [f for f in traceback.extract_stack(frame) if not f.filename.startswith(ENGINE_FOLDER)]
    first = next((i for i, f in enumerate(calls) if f.filename.startswith("<cell ")), 0)
    return "".join(traceback.format_list(calls[first:]))


class Node:
    """One entry of the tape. `next_functions` are the edges, `name()` PyTorch's name of it."""

    __slots__ = (
        "__weakref__", "_after", "_before", "_code", "_dict", "_module", "_offset", "_retained", "_tensor_hooks", "edges", "forward_trace",
        "input_metas", "op", "outputs", "plan", "saved", "sequence_nr", "statics",
    )  # fmt: skip

    op: Op | None
    edges: tuple[Edge | None, ...]
    group: Any = None
    """What runs this node together with others of the tape: see `run_backward`."""

    def __init__(self, op: Op | None, edges: tuple[Edge | None, ...]):
        self.op = op
        self.edges = edges
        self.sequence_nr = next(_sequence)
        self._module = module_path.current
        self._code, self._offset = call_site(2)
        self._before: list[Callable[..., Any]] | None = None
        self._after: list[Callable[..., Any]] | None = None
        self._dict: dict[str, Any] | None = None
        self._tensor_hooks: dict[int, list[Callable[..., Any]]] | None = None
        self._retained: dict[int, Any] | None = None
        self.saved: Any = ()
        self.statics: tuple[Any, ...] = ()
        self.outputs: tuple[Any, ...] = ()  # (shape, dtype, device name) of each output
        self.input_metas: tuple[Any, ...] = ()  # (shape, dtype) of each input, None for plain values
        self.plan: Plan | None = None
        if state.anomaly:
            self.forward_trace = _user_stack(sys._getframe(2))

    # -- what users see -------------------------------------------------------------------------

    def name(self) -> str:
        """PyTorch's name of the node, such as "MulBackward0"."""
        return type(self).__name__

    def short_name(self) -> str:
        """The name as error messages give it, without "Backward0"."""
        return self.name().removesuffix("Backward0")

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes that gradients are handed to, each with the output it belongs to; (None, 0) where none is needed."""
        return tuple(e if e is not None else (None, 0) for e in self.edges)

    @property
    def source(self) -> Source | None:
        """Where in the user's code the operator was called."""
        return resolve_source(self._code, self._offset)

    @property
    def module(self) -> str:
        """The dotted path of the module in which the operator was called; "" outside of modules."""
        return module_at(self._code, self._offset, self._module)

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for the user's own notes."""
        if self._dict is None:
            self._dict = {}
        return self._dict

    def register_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call `hook(grad_inputs, grad_outputs)` after this node ran in backward; it may return other grad_inputs."""
        if self._after is None:
            self._after = []
        return Handle(self._after, hook)

    def register_prehook(self, hook: Callable[..., Any]) -> Handle:
        """Call `hook(grad_outputs)` before this node runs in backward; it may return other grad_outputs."""
        if self._before is None:
            self._before = []
        return Handle(self._before, hook)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"

    def register_tensor_hooks(self, number: int, hooks: list[Callable[..., Any]]) -> None:
        """The list of hooks of the tensor that is output `number`; hooks added to it later count too."""
        if self._tensor_hooks is None:
            self._tensor_hooks = {}
        self._tensor_hooks[number] = hooks

    def retain(self, number: int, tensor: Any) -> None:
        """Put the gradient of output `number` into `.grad` of the weakly held tensor."""
        if self._retained is None:
            self._retained = {}
        self._retained[number] = tensor

    # -- what the backward pass uses ------------------------------------------------------------

    def apply(self, grads: list[Any]) -> list[Any]:
        """Gradients of the inputs from those of the outputs (None where there is none)."""
        raise NotImplementedError

    def release(self) -> None:
        """Forget what was kept for backward."""
        self.saved = None

    def saved_facts(self) -> list[dict[str, Any]]:
        """Name, shape, dtype and bytes of each saved tensor."""
        return []


class Handle:
    """What a `register_...` call returns; `remove()` takes the hook out again. Also a context manager."""

    _ids = itertools.count()

    def __init__(self, hooks: list[Any], hook: Any):
        self.id = next(Handle._ids)
        self._entry = hook
        self._hooks = weakref.ref(hooks) if not isinstance(hooks, list) else (lambda: hooks)
        hooks.append(hook)

    def remove(self) -> None:
        """Take the hook out; a second call does nothing."""
        hooks = self._hooks()
        if hooks is not None:
            for i, h in enumerate(hooks):
                if h is self._entry:
                    del hooks[i]
                    break
        self._hooks = lambda: None

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()
