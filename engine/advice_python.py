"""What to try after an error that Python itself raised where tensors are at work: no gradient yet, a number for a tensor, a list for one.

`sentence` looks at the exception, at the object that it names, and at the variables of the frame in which it arose; without a tensor
among them it says nothing, so that errors of other programs stay as they are. Errors that the engine raises are advice.py's subject.
"""

from __future__ import annotations

import linecache
import re
from types import FrameType
from typing import Any

from .nn.module import Module
from .tensor import Tensor

_NO_GRAD = (
    "x.grad is None until backward() has run on something that was computed from x, and afterwards where x does not require a gradient "
    "or is a result in the middle (retain_grad() keeps that)."
)
_NO_RETURN = "There is None where a tensor should be: does the function that was to make it lack its `return`?"
_OPERANDS = re.compile(r"unsupported operand type\(s\) for (.+?): '(\w+)' and '(\w+)'")


def sentence(error: BaseException) -> str:
    """What to try, or "" where the error has nothing to do with tensors."""
    frame, line = _last_frame(error)
    if frame is None:
        return ""
    message = str(error)
    if isinstance(error, AttributeError):
        return _attribute(error, frame, line)
    if not isinstance(error, TypeError):
        return ""
    found = _OPERANDS.match(message)
    if found is not None:
        return _operation(found[1], {found[2], found[3]}, frame, line)
    if "'Tensor' object is not callable" in message:
        return "A tensor is indexed with brackets, x[0]; a name of a function may have been given to a tensor before."
    if "'Size' object is not callable" in message:
        return "The shape is no function: x.shape, or x.size()."
    if "not subscriptable" in message and _tensors(frame):
        if "method" in message:
            return "A method is called before its result is indexed: x.size()[0], or x.shape[0]."
        module = re.match(r"'(\w+)' object", message)
        if module is not None and any(isinstance(v, Module) and type(v).__name__ == module[1] for v in _values(frame)):
            return (
                "A layer has no parts by number; call it with its input, layer(x). nn.Sequential has parts, model[0]."
            )
    return ""


def _attribute(error: AttributeError, frame: FrameType, line: int) -> str:
    name, owner = error.name or "", error.obj
    if not name or name.startswith("__") or not hasattr(Tensor, name):
        return ""
    if owner is None:
        return _nothing(frame, line) if _tensors(frame) else ""
    if isinstance(owner, (list, tuple)):
        if not owner or not isinstance(owner[0], Tensor):
            return ""
        if isinstance(owner, tuple) and not all(isinstance(v, Tensor) for v in owner):
            return "It is a tuple, as recurrent layers and max(dim) return: take it apart, output, state = layer(x)."
        return f"It is a {type(owner).__name__} of tensors: choose one of them, or join them with torch.stack or torch.cat."
    if isinstance(owner, (int, float)) and name in ("backward", "detach", "item", "cpu", "grad", "requires_grad"):
        return "It is a plain number, which .item() took off the tape: keep the tensor for backward(), and take the number out later."
    if type(owner).__module__ == "numpy" and name in (
        "backward",
        "requires_grad",
        "grad",
        "detach",
        "to",
        "cpu",
        "float",
    ):
        return "It is a NumPy array, which has no tape: torch.from_numpy(...) makes a tensor of it."
    if isinstance(owner, Module) and name == "backward":
        return "It is the layer, not its result: a loss is made first and called then, nn.MSELoss()(input, target)."
    return ""


def _operation(sign: str, kinds: set[str], frame: FrameType, line: int) -> str:
    if "NoneType" in kinds:
        return _nothing(frame, line) if _tensors(frame) or "Tensor" in kinds else ""
    if "Tensor" not in kinds:
        return ""
    if kinds & {"list", "tuple"}:
        return "Make a tensor of the list first: torch.tensor(...), or torch.stack(...) of a list of tensors."
    if "str" in kinds:
        return 'To put a tensor into text: f"{x.item():.3f}", or print("loss", x) with a comma.'
    if sign == "@":
        return "@ is the product of matrices; a number multiplies with *."
    return ""


def _nothing(frame: FrameType, number: int) -> str:
    """What a None is likely to be: a gradient that is not there yet, or what a function forgot to return."""
    line = linecache.getline(frame.f_code.co_filename, number)
    if line:
        return _NO_GRAD if ".grad" in line else _NO_RETURN
    waiting = any(t._requires_grad and t.is_leaf and t._grad is None for t in _tensors(frame))
    return _NO_GRAD if waiting else _NO_RETURN


def _last_frame(error: BaseException) -> tuple[FrameType | None, int]:
    """The frame in which an error arose, and its line."""
    at, frame, line = error.__traceback__, None, 0
    while at is not None:
        frame, line, at = at.tb_frame, at.tb_lineno, at.tb_next
    return frame, line


def _values(frame: FrameType) -> list[Any]:
    return [*frame.f_locals.values()][:1000]


def _tensors(frame: FrameType) -> list[Tensor]:
    """The tensors of a frame, and the parameters of its modules."""
    found: list[Tensor] = []
    for value in _values(frame):
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, Module):
            found += value.parameters()
    return found
