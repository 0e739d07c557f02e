"""The whole contract between a front end and a kernel: typed commands in, typed events out.

Shapes follow the contents of Jupyter's messages, so that events map one to one onto the outputs of an
`.ipynb`.  Everything here is plain data: no input/output, no user interface, no engine.  `encode` and
`decode` turn messages into JSON text and back; transports frame that text as they like.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any, ClassVar

MimeBundle = dict[str, Any]


@dataclass(slots=True)
class Message:
    """Base of commands and events. `kind` is the name on the wire."""

    kind: ClassVar[str] = ""


# -- commands: front end to kernel ------------------------------------------------------------------


@dataclass(slots=True)
class Execute(Message):
    """Run one cell. `revision` counts the edits of the cell, so that old tape nodes keep their text."""

    kind: ClassVar[str] = "execute"
    cell: str
    revision: int
    code: str
    store: bool = True


@dataclass(slots=True)
class Complete(Message):
    """Completions for `code` with the cursor at character `cursor`; answered by `Completions` with the same `request`.

    While a cell runs the answer comes at once and is empty: names can only be asked between cells.
    """

    kind: ClassVar[str] = "complete"
    request: int
    code: str
    cursor: int


@dataclass(slots=True)
class Inspect(Message):
    """Documentation of the name at `cursor`; answered by `Documentation`."""

    kind: ClassVar[str] = "inspect"
    request: int
    code: str
    cursor: int


@dataclass(slots=True)
class MarkDynamic(Message):
    """Ask how `mark_dynamic` is written before calls whose sizes change; answered by `Marked` with the same `request`.

    `label` and `dimension` name what changed, as a recompilation tells it.  `cells` are of {"cell", "text", "calls"}: the text of
    now, and of each call its `line` there (from 1), `column`, `arguments` and `torch`, as the recompilation told them.
    """

    kind: ClassVar[str] = "mark_dynamic"
    request: int
    label: str
    dimension: int
    cells: list[dict[str, Any]]


@dataclass(slots=True)
class ListVariables(Message):
    """Ask for `Variables`. They are also sent after every cell."""

    kind: ClassVar[str] = "list_variables"


@dataclass(slots=True)
class Observe(Message):
    """With `costs`, every operator of the cells that follow is measured, not only the first ones of each cell.

    It slows cells that run many small operators; see `Costs`.
    """

    kind: ClassVar[str] = "observe"
    costs: bool = False


@dataclass(slots=True)
class GetRecording(Message):
    """Ask for the `Recording` of the last run of `cell`, or of the last run of all where that cell has none kept.

    It is answered with the same `request`.
    """

    kind: ClassVar[str] = "get_recording"
    request: int
    cell: str | None = None


@dataclass(slots=True)
class AskDevice(Message):
    """Ask for `DeviceInfo`. With `switch` ("cpu", "webgpu"), new tensors are made on that device from then on."""

    kind: ClassVar[str] = "ask_device"
    switch: str | None = None


@dataclass(slots=True)
class InputReply(Message):
    """The answer to an `InputRequest`. With `end` set there is none: `input()` raises EOFError."""

    kind: ClassVar[str] = "input_reply"
    text: str
    end: bool = False


@dataclass(slots=True)
class Interrupt(Message):
    """Raise KeyboardInterrupt in the cell that was sent last, if it has not ended. Sent by transports, not front ends:
    those call the transport's `interrupt`, which also cancels the queued cells."""

    kind: ClassVar[str] = "interrupt"


@dataclass(slots=True)
class Shutdown(Message):
    """Leave in order."""

    kind: ClassVar[str] = "shutdown"


# -- events: kernel to front end --------------------------------------------------------------------


@dataclass(slots=True)
class Ready(Message):
    """The kernel accepts commands. `torch` says what `import torch` means ("tapescope" or "PyTorch 2.13.0")."""

    kind: ClassVar[str] = "ready"
    python: str
    torch: str
    device: str
    process: int


@dataclass(slots=True)
class Status(Message):
    """`state` is "busy" or "idle"; `cell` is the one that runs."""

    kind: ClassVar[str] = "status"
    state: str
    cell: str | None = None


@dataclass(slots=True)
class Stream(Message):
    """Text written to "stdout" or "stderr". Carriage returns are folded by the kernel within one event only."""

    kind: ClassVar[str] = "stream"
    cell: str | None
    name: str
    text: str


@dataclass(slots=True)
class DisplayData(Message):
    """`display(obj)`. With `update` set, it replaces the output that had the same `display_id`."""

    kind: ClassVar[str] = "display_data"
    cell: str | None
    data: MimeBundle
    metadata: dict[str, Any] = field(default_factory=dict)
    display_id: str | None = None
    update: bool = False


@dataclass(slots=True)
class ExecuteResult(Message):
    """The value of the cell's last expression."""

    kind: ClassVar[str] = "execute_result"
    cell: str | None
    execution_count: int
    data: MimeBundle
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class ClearOutput(Message):
    """Clear the cell's outputs; with `wait`, when the next output comes."""

    kind: ClassVar[str] = "clear_output"
    cell: str | None
    wait: bool = False


@dataclass(slots=True)
class Error(Message):
    """An exception that ended the cell. `traceback` holds lines with ANSI colours; `line` is the cell's own line."""

    kind: ClassVar[str] = "error"
    cell: str | None
    ename: str
    evalue: str
    traceback: list[str]
    line: int | None = None


@dataclass(slots=True)
class Executed(Message):
    """A cell ended. `status` is "ok", "error", "interrupted", or, sent by the transport, "died" or "aborted".

    "aborted" means that it never began: it was queued when an earlier cell failed or was interrupted.
    """

    kind: ClassVar[str] = "executed"
    cell: str
    status: str
    execution_count: int
    seconds: float


@dataclass(slots=True)
class Tape(Message):
    """The latest recorded tape, as `engine.observe.tape_json` describes it; at most ten a second.

    `live` is set while the cell still runs. Each node's `source` also has "cell" and "revision" where it lies in a
    cell, and a leaf without another label has the name of the user's variable.
    """

    kind: ClassVar[str] = "tape"
    cell: str | None
    tape: dict[str, Any]
    live: bool = False


@dataclass(slots=True)
class Variables(Message):
    """What the user's namespace holds: dictionaries with name, type, value (short), and for tensors
    shape, dtype, device, bytes, requires_grad.

    Where known there are also `cell` and `revision` (the run that bound the name last), `stale` (a sentence, where
    something it was computed from has changed since), and for tensors `histogram` (counts of the finite values in equal
    bins), `low` and `high` (their range), `nan` and `inf` (how many there are).
    """

    kind: ClassVar[str] = "variables"
    variables: list[dict[str, Any]]


@dataclass(slots=True)
class Costs(Message):
    """What the lines of a cell cost when it ran, as `recorder.costs_json` describes it."""

    kind: ClassVar[str] = "costs"
    cell: str | None
    costs: dict[str, Any]


@dataclass(slots=True)
class Hints(Message):
    """What a learner may want to hear about the cell that just ran. An empty list takes earlier hints back.

    Each is a dictionary: `id` (the kind of hint), `text` (a sentence), `advice` (a sentence), and `cell`, `revision` and
    `line` of the place, None where there is none.
    """

    kind: ClassVar[str] = "hints"
    cell: str | None
    hints: list[dict[str, Any]]


@dataclass(slots=True)
class Recording(Message):
    """The operators of the last recorded run, in order, as `recorder.steps_json` describes them."""

    kind: ClassVar[str] = "recording"
    request: int
    cell: str | None
    steps: list[dict[str, Any]]
    dropped: int = 0


@dataclass(slots=True)
class DeviceInfo(Message):
    """The devices of the kernel. `info` has `device` (where new tensors are made), `devices` (names), `facts` (pairs of a
    name and a text, for reading), `memory` (bytes by name), and `error`, a sentence where a switch was refused."""

    kind: ClassVar[str] = "device_info"
    info: dict[str, Any]


@dataclass(slots=True)
class Captures(Message):
    """What `torch.compile` captured so far: `captures` are `observe.capture_json` dictionaries, a function each."""

    kind: ClassVar[str] = "captures"
    cell: str | None
    captures: list[dict[str, Any]]
    breaks: list[dict[str, Any]] = field(default_factory=list)
    guards: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class Completions(Message):
    """`matches` replace `code[start:end]`."""

    kind: ClassVar[str] = "completions"
    request: int
    matches: list[str]
    start: int
    end: int


@dataclass(slots=True)
class Documentation(Message):
    """`text` is empty where nothing is known of the name."""

    kind: ClassVar[str] = "documentation"
    request: int
    text: str


@dataclass(slots=True)
class Marked(Message):
    """`cells` are of {"cell", "text", "lines"}: the new text, and what came or changed in it as [line from 1, text].

    Where nothing can be written it is empty, and `reason` a sentence.
    """

    kind: ClassVar[str] = "marked"
    request: int
    cells: list[dict[str, Any]]
    reason: str = ""


@dataclass(slots=True)
class InputRequest(Message):
    """The cell waits for a line of text (`input()`, or `getpass` when `password`)."""

    kind: ClassVar[str] = "input_request"
    cell: str | None
    prompt: str
    password: bool = False


@dataclass(slots=True)
class Died(Message):
    """The kernel is gone (sent by the transport). `reason` is a sentence, `advice` what to do."""

    kind: ClassVar[str] = "died"
    cell: str | None
    exit_code: int | None
    reason: str
    advice: str


def answer(reply: InputReply) -> str:
    """The text of a reply; raises EOFError where there is none."""
    __tracebackhide__ = True
    if reply.end:
        raise EOFError(
            "nobody answers: the input has ended; without a screen, answers are read from stdin, a line each"
        )
    return reply.text


COMMANDS: dict[str, type[Message]] = {
    c.kind: c
    for c in (
        Execute, Complete, Inspect, MarkDynamic, ListVariables, Observe, GetRecording, AskDevice, InputReply, Interrupt, Shutdown,
    )
}  # fmt: skip
EVENTS: dict[str, type[Message]] = {
    e.kind: e
    for e in (
        Ready, Status, Stream, DisplayData, ExecuteResult, ClearOutput, Error, Executed, Tape, Variables, Costs, Hints,
        Recording, DeviceInfo, Captures, Completions, Documentation, Marked, InputRequest, Died,
    )
}  # fmt: skip
_ALL = {**COMMANDS, **EVENTS}


class BadMessage(ValueError):
    """Text that is no message of this contract."""


def encode(message: Message) -> str:
    """One line of JSON. Values that JSON does not know become their `str`."""
    fields = {f.name: getattr(message, f.name) for f in dataclasses.fields(message)}
    return json.dumps({"kind": message.kind, **fields}, default=str, ensure_ascii=False)


def decode(text: str) -> Message:
    """The message that `encode` wrote; raises BadMessage with the reason otherwise."""
    try:
        content = json.loads(text)
        return _ALL[content.pop("kind")](**content)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadMessage(f"not a kernel message ({error}): {text[:200]!r}") from error
