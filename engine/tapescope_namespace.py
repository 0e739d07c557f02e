"""`torch.tapescope`: what this product adds to PyTorch's surface.

    torch.tapescope.view(loss)                  # the tape, drawn wherever a notebook shows objects
    torch.tapescope.view(loss).save("tape.svg") # or .dot, .txt, .json
    torch.tapescope.view(compiled)              # what compile captured
    torch.tapescope.view(compiled).kernels()    # what was generated from it
    torch.tapescope.failed()                    # the tape up to the operator that failed last
    torch.tapescope.advice()                    # what to try after the last error

Pictures are drawn by renderers that are looked up by the entry point group `tapescope.renderers`; without one the
records themselves can still be had as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .advice import advice
from .autograd.failure import failed_tape as _failed_tape
from .autograd.failure import last_error as _last_error
from .autograd.snapshot import snapshot as _snapshot
from .display import module_json as _module_json
from .display import renderer as _renderer
from .tensor import Tensor as _Tensor

__all__ = ["View", "advice", "failed", "records", "view"]

ENDINGS = ("svg", "dot", "txt", "json")
"""What `View.save` can write, by the ending of the file's name."""


class View:
    """A picture of some records. `kind` is "tape", "capture", "kernels" or "module", `data` the records as JSON values."""

    def __init__(self, kind: str, data: Mapping[str, Any]) -> None:
        self.kind, self.data = kind, data

    def _written(self, ending: str, **options: Any) -> str:
        if ending == "json":
            return json.dumps(self.data, indent=1) + "\n"
        write = _renderer("write")
        if write is None:
            raise RuntimeError(
                "no renderer for pictures is installed (entry point 'write' of the group 'tapescope.renderers'); "
                "install tapescope anew, or save the records with .save('x.json')"
            )
        return write(self.kind, self.data, ending, **options)

    def svg(self, theme: str = "auto") -> str:
        """The picture as SVG text; themes are "auto", "light" and "dark"."""
        return self._written("svg", theme=theme)

    def dot(self) -> str:
        """The picture in Graphviz's language."""
        return self._written("dot")

    def text(self) -> str:
        """The outline as plain text."""
        return self._written("txt")

    def find(self, query: str) -> str:
        """The nodes that a search finds, a line each, first their ids: by operator, shape, name or line of the source, all
        before or after one, the way between two, or the largest first ("linear [*, 10]", "before:33", "top:bytes").
        """
        return self._written("txt", find=query)

    def kernels(self) -> View:
        """The generated kernels of a captured function, in launch order. Raises ValueError for any other view."""
        if self.kind == "kernels":
            return self
        if self.kind != "capture":
            raise ValueError(f"a {self.kind} has no kernels: give a compiled function or an explanation to view()")
        return View("kernels", self.data)

    def save(self, path: Any) -> Path:
        """Write the picture to a file whose ending says as what: .svg, .dot, .txt or .json. Returns the path.

        Raises ValueError for another ending and OSError where the file cannot be written.
        """
        place = Path(path)
        ending = place.suffix.removeprefix(".").lower()
        if ending not in ENDINGS:
            raise ValueError(
                f"cannot save a view as {str(place)!r}: the name must end with {', '.join('.' + e for e in ENDINGS)}"
            )
        place.write_text(self._written(ending), encoding="utf-8")
        return place

    def __repr__(self) -> str:
        try:
            return self.text().rstrip("\n")
        except RuntimeError:
            return f"<view of a {self.kind}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        draw = _renderer(self.kind)
        return {"text/plain": repr(self)} if draw is None else {**draw(self.data, repr(self))}


def records(x: Any) -> tuple[str, Mapping[str, Any]]:
    """What can be drawn of `x`: its kind, and its records as JSON values.

    `x` is a tensor with a history, a list of such, a module, a compiled function or what `explain` returned (any object
    with a method `_tapescope_records_`), or a dictionary in one of the forms of `engine.observe`.  Raises TypeError for
    anything else, and ValueError for a tensor without a history.
    """
    if isinstance(x, Mapping):
        for kind, field in (("tape", "nodes"), ("capture", "segments"), ("kernels", "kernels"), ("module", "root")):
            if field in x:
                return kind, x
        raise TypeError(
            "this dictionary holds no records: one with 'nodes' (a tape), 'segments' (a capture), 'kernels' or 'root' "
            "(a module) was expected"
        )
    told = getattr(type(x), "_tapescope_records_", None)
    if told is not None:
        return told(x)
    many = list(x) if isinstance(x, (list, tuple)) else [x]
    if many and all(isinstance(t, _Tensor) for t in many):
        if not any(t.requires_grad for t in many):
            raise ValueError(
                "this tensor has no history to draw: nothing it was computed from requires a gradient "
                "(set requires_grad=True on an input, and compute outside of no_grad)"
            )
        return "tape", _snapshot(many)
    from .nn import Module

    if isinstance(x, Module):
        return "module", _module_json(x)
    raise TypeError(
        f"a {type(x).__name__} cannot be drawn: give a tensor with a history, a module, a compiled function or an explanation"
    )


def view(x: Any) -> View:
    """A picture of `x`: of a tensor's tape, a module, a compiled function, an explanation or recorded JSON."""
    return View(*records(x))


def failed(error: BaseException | None = None) -> View:
    """A picture of the tape up to the operator that raised `error` (by default the error reported last).

    Raises ValueError where there is no error, or it did not arise in an operator on tensors.
    """
    error = error if error is not None else _last_error()
    if error is None:
        raise ValueError("no error was reported yet, so there is nothing to draw")
    tape = _failed_tape(error)
    if tape is None:
        raise ValueError(
            f"this {type(error).__name__} did not arise in an operator on tensors, so there is no tape to draw"
        )
    return View("tape", tape)
