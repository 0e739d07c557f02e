"""The tape up to an operator that failed: what had been recorded, and whose shapes disagree.

An exception holds the frames in which it arose, and those hold the tensors.  Nothing is recorded for this beforehand,
so it costs nothing until somebody asks.  The form is that of `observe.tape_json`, with the entry "error".
"""

from __future__ import annotations

import inspect
import re
import sys
from types import FrameType
from typing import Any

from ..tensor import Tensor, gradient_edge
from .node import ENGINE_FOLDER, resolve_source
from .snapshot import NODE_LIMIT, snapshot

_PAIRS = re.compile(r"\((\d+(?:x\d+)*) and (\d+(?:x\d+)*)\)")
_MATCH = re.compile(r"tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension (\d+)")
_MOST_LOCALS = 200
_WRAPPERS = ("public", "method", "call", "wrapper", "fast", "pointwise", "pointwise_call", "asking")
"""Functions of the engine through which operators are called; their names tell nothing."""


def failed_tape(error: BaseException, limit: int = NODE_LIMIT) -> dict[str, Any] | None:
    """The tape at the moment of `error`, or None where it did not arise in an operator on tensors.

    Its entry "error" is {"op", "message", "module", "source", "inputs"}; each input is {"name", "node" (the id it comes
    from, or None), "shape", "dtype", "device", "disagrees"}.  At most `limit` nodes, the newest.
    """
    found = _call(error)
    if found is None:
        return None
    frames, outside, caller, operands = found
    called = frames[caller + 1 :]
    message = str(error)
    wrong = _disagreeing([t for _, t in operands], message)
    inputs = []
    for number, (name, tensor) in enumerate(operands):
        node = gradient_edge(tensor)[0].sequence_nr if tensor.requires_grad else None
        inputs.append(
            {
                "name": tensor._label or name, "node": node, "shape": list(tensor.shape),
                "dtype": str(tensor.dtype).removeprefix("torch."), "device": str(tensor.device), "disagrees": number in wrong,
            }
        )  # fmt: skip
    source = resolve_source(frames[outside].f_code, _offset(error, outside))
    tape = snapshot(_roots(operands, frames[: caller + 1]), limit)
    tape["roots"] = []
    tape["error"] = {
        "op": _operator(called), "message": message, "module": _module(frames),
        "source": source.to_json() if source is not None else None, "inputs": inputs,
    }  # fmt: skip
    return tape


def failed_call(error: BaseException) -> tuple[str, str, list[tuple[str, Tensor]]] | None:
    """The operator that raised `error`: its name, the path of its module, and its tensors by the names of its parameters.

    None where the error did not arise in an operator on tensors.
    """
    found = _call(error)
    if found is None:
        return None
    frames, _, caller, operands = found
    return _operator(frames[caller + 1 :]), _module(frames), operands


def _call(error: BaseException) -> tuple[list[FrameType], int, int, list[tuple[str, Tensor]]] | None:
    """The frames of an error, which of them is the innermost of the user's and which called the operator, and its tensors."""
    frames = _frames(error)
    outside = max((i for i, f in enumerate(frames) if not _in_engine(f)), default=-1)
    # a module of the engine is a caller as well: the operator is what it called
    modules = f"{ENGINE_FOLDER}nn"
    caller = max((i for i, f in enumerate(frames) if not _in_engine(f) or _is_forward(f, modules)), default=-1)
    operands = next((found for f in frames[caller + 1 :] if (found := _operands(f))), [])
    return (frames, outside, caller, operands) if outside >= 0 and operands else None


def _frames(error: BaseException) -> list[FrameType]:
    found = []
    at = error.__traceback__
    while at is not None:
        found.append(at.tb_frame)
        at = at.tb_next
    return found


def _offset(error: BaseException, number: int) -> int:
    at = error.__traceback__
    for _ in range(number):
        at = at.tb_next if at is not None else None
    return at.tb_lasti if at is not None else 0


def _in_engine(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(ENGINE_FOLDER)


def _is_forward(frame: FrameType, folder: str) -> bool:
    code = frame.f_code
    return code.co_filename.startswith(folder) and code.co_name in ("forward", "__call__", "call")


def _operands(frame: FrameType) -> list[tuple[str, Tensor]]:
    """The tensors among a frame's arguments, in order, those in a tuple or list one by one."""
    code, values = frame.f_code, frame.f_locals
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4)  # 4: *args
    inner = _parameters(values.get("function"))  # of a function that passes on to it what it is given
    found: list[tuple[str, Tensor]] = []
    for name in code.co_varnames[:count]:
        value = values.get(name)
        if isinstance(value, Tensor):
            found.append((name, value))
        elif isinstance(value, (tuple, list)):
            given = inner if name == "args" else ()
            found += [
                (given[i] if i < len(given) else f"{name}[{i}]", v)
                for i, v in enumerate(value[:_MOST_LOCALS])
                if isinstance(v, Tensor)
            ]
    return found


def _parameters(function: Any) -> tuple[str, ...]:
    code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
    return () if code is None else code.co_varnames[: code.co_argcount]


def _operator(frames: list[FrameType]) -> str:
    """The operator's name: of the operator that a frame holds, else of the function that was called."""
    for frame in frames:
        name = getattr(frame.f_locals.get("op"), "name", None)
        if isinstance(name, str):
            return name
    names = [f.f_code.co_name.strip("_") for f in frames]
    return next((n for n in names if n not in _WRAPPERS), names[0] if names else "?")


def _module(frames: list[FrameType]) -> str:
    """The path of the innermost module whose call is under way."""
    for frame in reversed(frames):
        here = frame.f_locals.get("here")
        if _in_engine(frame) and frame.f_code.co_name == "__call__" and isinstance(here, str):
            return here
    return ""


def _disagreeing(operands: list[Tensor], message: str) -> set[int]:
    """Which operands the message speaks of: by the sizes that it names, else the first two of different shape."""
    if len(operands) < 2:
        return set(range(len(operands)))
    shapes = [tuple(int(n) for n in t.shape) for t in operands]
    pair = _PAIRS.search(message)
    if pair is not None:
        found: set[int] = set()
        for text in pair.groups():
            sizes = tuple(int(n) for n in text.split("x"))
            fits = [
                i
                for i, s in enumerate(shapes)
                if i not in found and (s in (sizes, sizes[::-1]) or s[-1:] == sizes[-1:])
            ]
            exact = [i for i in fits if shapes[i] in (sizes, sizes[::-1])]
            found |= set((exact or fits)[:1])
        if len(found) == 2:
            return found
    match = _MATCH.search(message)
    if match is not None:
        a, b, dimension = (int(n) for n in match.groups())
        place = dimension - max(map(len, shapes))  # counted from the right, as broadcasting does
        sizes = [s[place] if len(s) >= -place else None for s in shapes]
        if a in sizes and b in sizes:
            return {sizes.index(a), sizes.index(b)}
    other = next((i for i, s in enumerate(shapes) if s != shapes[0]), 1)
    return {0, other}


def _roots(operands: list[tuple[str, Tensor]], frames: list[FrameType]) -> list[Tensor]:
    """The tensors with a history that the failed call and the functions around it hold."""
    found = {id(t): t for _, t in operands if t.requires_grad and not t.is_leaf}
    for frame in frames:
        if frame.f_code.co_name == "<module>" or len(frame.f_locals) > _MOST_LOCALS:
            continue  # a notebook's names are not what this call worked on
        for value in frame.f_locals.values():
            if isinstance(value, Tensor) and value.requires_grad and not value.is_leaf:
                found[id(value)] = value
    return list(found.values())


def last_error() -> BaseException | None:
    """The exception that the interpreter reported last, None where there was none."""
    return getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
