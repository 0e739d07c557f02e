"""The registry of graph breaks: everything that can end a graph, one entry each, and the exception that says so while capturing.

An entry has a stable id, a class, one sentence why, and a hint how to avoid it.  Records, `explain`, error messages of `fullgraph=True`
and the docs page (`docs/make_breaks.py`) read it from here; nothing else invents an id.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class BreakKind:
    """One reason for which a graph can end. `sentence` may hold `{what}`, which the place of the break fills in."""

    id: str
    category: str
    sentence: str
    hint: str


BREAKS: dict[str, BreakKind] = {}
"""All kinds of breaks by id."""


def _enter(id: str, category: str, sentence: str, hint: str) -> None:
    BREAKS[id] = BreakKind(id, category, sentence, hint)


_enter(
    "branch", "data-dependent", "The branch depends on the value of a tensor, which is known only when the graph has run.",
    "Use torch.where, or torch.cond with both branches as functions; both paths are captured here, one graph each.",
)  # fmt: skip
_enter(
    "item", "data-dependent", "{what} needs the value of a tensor as a Python number.",
    "Keep the value as a tensor (0-d tensors take part in arithmetic), or move the call out of the compiled function.",
)  # fmt: skip
_enter(
    "to-python", "data-dependent", "{what} needs the values of a tensor outside of it.",
    "Move the conversion to numpy or lists out of the compiled function.",
)  # fmt: skip
_enter(
    "dynamic-shape", "data-dependent", "The shape of the result of {what} depends on values.",
    "Use a form with a fixed size (torch.where with three arguments, a mask, topk), or move the call out of the compiled function.",
)  # fmt: skip
_enter(
    "print", "side-effect", "{what} writes text that must appear at this moment.",
    "Move the call out of the compiled function, or return the value and print it outside.",
)  # fmt: skip
_enter(
    "logging", "side-effect", "{what} writes to a log at this moment.",
    "Move the call out of the compiled function, or log outside.",
)  # fmt: skip
_enter(
    "io", "side-effect", "{what} reads or writes outside of the program.",
    "Read before the compiled function is called, write after it.",
)  # fmt: skip
_enter("warning", "side-effect", "{what} may show a warning at this moment.", "Warn outside of the compiled function.")
_enter(
    "time", "impure", "{what} gives another value at every call.",
    "Take the time outside of the compiled function.",
)  # fmt: skip
_enter(
    "random", "impure", "{what} draws from Python's or numpy's random numbers.",
    "Use torch.rand and its relatives, which are captured, or draw outside and pass the number in.",
)  # fmt: skip
_enter(
    "generator-state", "impure", "{what} reads or sets the state of a random number generator.",
    "Seed outside of the compiled function.",
)  # fmt: skip
_enter(
    "numpy", "unknown", "{what} computes with numpy, whose arrays are not followed.",
    "Use the functions of torch, or do the work of numpy outside of the compiled function.",
)  # fmt: skip
_enter(
    "opaque-call", "unknown", "{what} is compiled code that cannot be looked into.",
    "Move the call out of the compiled function, or declare it with torch.compiler.allow_in_graph if it only takes and returns tensors.",
)  # fmt: skip
_enter("disabled", "asked-for", "{what} is marked with torch.compiler.disable.", "Nothing to do: the mark asks for it.")
_enter(
    "graph-break", "asked-for", "graph_break() asks for a break here.", "Remove the call to torch._dynamo.graph_break().",
)  # fmt: skip
_enter(
    "opcode", "unsupported", "{what} cannot be captured.",
    "Write the statement in another form, or move it out of the compiled function.",
)  # fmt: skip
_enter(
    "frames", "unsupported", "{what} looks at Python's own frames.",
    "Move the call out of the compiled function.",
)  # fmt: skip
_enter(
    "import", "unsupported", "Importing {what} runs its code now.", "Import at the top of the file.",
)  # fmt: skip
_enter(
    "class", "unsupported", "{what} defines a class in a way that cannot be captured.",
    "Define the class outside of the compiled function.",
)  # fmt: skip
_enter(
    "coroutine", "unsupported", "{what} waits for something else to run.", "Await outside of the compiled function.",
)  # fmt: skip
_enter(
    "depth", "limit", "Calls are nested deeper than {what}.",
    "Turn recursion into a loop, or mark the inner function with torch.compiler.disable.",
)  # fmt: skip
_enter(
    "length", "limit", "The function runs more than {what} instructions without a break.",
    "Move long loops out of the compiled function, or put torch._dynamo.graph_break() into them.",
)  # fmt: skip
_enter(
    "unsupported-value", "unsupported", "{what} cannot be followed.",
    "Move the statement out of the compiled function.",
)  # fmt: skip
_enter(
    "escape", "unsupported", "{what} was made inside and leaves the graph in a form that cannot be built again.",
    "Build the object outside of the compiled function.",
)  # fmt: skip
_enter(
    "finalizer",
    "side-effect",
    "{what} has a __del__ method, which must run when the object goes.",
    "Make such objects outside of the compiled function.",
)
_enter(
    "mutation", "unsupported", "{what} changes something that cannot be followed.",
    "Move the change out of the compiled function.",
)  # fmt: skip
_enter(
    "transform", "unsupported", "The function given to {what} has effects or breaks, so that it cannot be one node.",
    "Keep prints, changes of other objects and reads of values out of the function that is transformed.",
)  # fmt: skip
_enter(
    "hook", "unsupported", "{what} runs Python code during backward.",
    "Register the hook outside of the compiled function.",
)  # fmt: skip
_enter(
    "outer-tape", "unsupported", "{what} reaches operators that ran before this graph, so it runs between two graphs.",
    "Keep forward and backward in one graph: compute the loss inside of the compiled function, and move what breaks the graph before "
    "backward (a print, an .item()) behind it.",
)  # fmt: skip
_enter(
    "inner-tape", "unsupported", "{what} asks for the gradient of a tensor between operators, which leaves the graph: it is made outside.",
    "Call backward in the same graph, or do not let the tensor out of the compiled function.",
)  # fmt: skip
_enter(
    "fake", "unsupported", "{what} cannot be run without values.",
    "Move the call out of the compiled function.",
)  # fmt: skip
_enter(
    "mode", "unsupported", "{what} is on while the function is called.", "Compile the function inside of it instead.",
)  # fmt: skip
_enter(
    "exception", "exception", "An exception comes out of the function here: {what}.",
    "Nothing to do where it is meant; the operator is run eagerly so that it raises as it always does.",
)  # fmt: skip
_enter(
    "recompile-limit", "limit", "This place was captured {what} times for different arguments, and now runs eagerly.",
    "Look at the guards that failed; mark sizes that change with mark_dynamic, or compile several functions.",
)  # fmt: skip
_enter(
    "internal", "internal", "Capturing failed inside the compiler, so the function runs natively: {what}.",
    "Please report it with the function; results are right, but nothing is compiled.",
)  # fmt: skip
_enter(
    "native", "unsupported", "{what} has no Python bytecode that can be captured, so it runs natively.",
    "Compile the Python function that calls it.",
)  # fmt: skip


class Unsupported(RuntimeError):
    """`fullgraph=True` met a graph break. `break_id` is its entry in the registry."""

    def __init__(self, message: str, break_id: str = "", source: Any = None) -> None:
        super().__init__(message)
        self.break_id, self.source = break_id, source


class BackendCompilerFailed(RuntimeError):
    """A backend that was given as a function raised while it compiled a graph, or gave back nothing that can be called.

    `backend_name` is its name, `inner_exception` what it raised.
    """

    def __init__(self, backend_name: str, inner_exception: Exception) -> None:
        kind = type(inner_exception).__name__
        super().__init__(f"the backend {backend_name} failed on a graph: {kind}: {inner_exception}")
        self.backend_name, self.inner_exception = backend_name, inner_exception


class FailOnRecompileLimitHit(RuntimeError):
    """`fullgraph=True`, and a place was captured as often as is allowed."""


class HalfWritten(RuntimeError):
    """A compiled graph failed in its midst, when it had written into its inputs: there is no way back to the operators."""


class RecompileError(RuntimeError):
    """A call that no captured graph fits, where `config.error_on_recompile` or the stance "fail_on_recompile" wants none captured."""


def describe(id: str, what: str = "") -> str:
    """The sentence of a break, with `what` filled in."""
    return BREAKS[id].sentence.replace("{what}", what or "It")
