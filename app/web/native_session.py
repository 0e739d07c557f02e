"""One native kernel, its document, and the page that has them: what comes in, what goes out, and what is kept meanwhile.

Commands of the kernel's contract go to it as they are; its events go out as they are, numbered by native_log.py, so that a page
that lost its connection asks for the rest.  One page has the kernel at a time; another is told, and may take it over.
It knows no sockets: a page is anything with `wake` and `leave` (native_server.py).
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import secrets
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from ..kernel import messages as m
from ..notebook.errors import NotebookError
from .native_document import Document, Json, below, notebooks
from .native_log import EventLog

HELD = 4409
"""Close code: another page has the kernel."""
TAKEN = 4410
"""Close code: another page has taken it over."""

FROM_PAGE = (
    m.Execute, m.Complete, m.Inspect, m.MarkDynamic, m.ListVariables, m.Observe, m.GetRecording, m.AskDevice, m.InputReply,
)  # fmt: skip
"""The commands that a page may send. Interrupts and the end are the transport's, see `Session.control`."""

_LARGEST = 256 << 20


class Kernel(Protocol):
    """What a session asks of a kernel transport (`kernel.process.KernelProcess` is one)."""

    @property
    def state(self) -> str: ...
    @property
    def running(self) -> str | None: ...
    @property
    def queued(self) -> list[str]: ...
    def start(self) -> None: ...
    def send(self, *commands: m.Message) -> None: ...
    def interrupt(self) -> None: ...
    def cancel(self, cells: Any = None) -> None: ...
    def restart(self, *, force: bool = False) -> None: ...
    def kill(self) -> None: ...
    def close(self) -> None: ...


class Page(Protocol):
    """A connected page: `name` is its own for as long as it is loaded, `replies` waits to be sent."""

    name: str
    replies: deque[Json]

    def wake(self) -> None: ...
    def leave(self, code: int, sentence: str) -> None: ...


class Session:
    """A kernel with its document. `make_kernel(on_event, folder)` builds the transport; events come in the caller's thread."""

    def __init__(self, document: Document, make_kernel: Callable[[Callable[[m.Message], None], Path], Kernel]) -> None:
        self.id = secrets.token_hex(8)
        self.document = document
        self.root = document.folder
        self.log = EventLog()
        self.page: Page | None = None
        self.not_kept = ""  # after `close`: why what was unsaved is in no journal
        self._make_kernel = make_kernel
        self._owner = ""  # the name of the page that had the kernel last
        self._got = 0  # the last command of that page
        self._ran: list[tuple[int, str]] = []
        self._runs: dict[str, Json] = {}
        self._asked: tuple[int, m.InputRequest] | None = None
        self._restarting = False
        self._facts: Json = {}
        self._died: m.Died | None = None
        self.kernel = self._begin()

    # -- the kernel ---------------------------------------------------------------------------------

    def _begin(self) -> Kernel:
        self._generation = generation = object()

        def take(event: m.Message) -> None:
            if self._generation is generation:
                self._take(event)

        kernel = self._make_kernel(take, self.document.folder)
        kernel.start()
        return kernel

    def _take(self, event: m.Message) -> None:
        """An event of the kernel: number it, keep it, hand it on."""
        if isinstance(event, m.Ready):
            self._facts = {
                "python": event.python,
                "torch": event.torch,
                "device": event.device,
                "process": event.process,
            }
            self._died, self._restarting = None, False
            self._ran.clear()
        elif isinstance(event, m.Died):
            self._died, self._restarting = event, False
        elif isinstance(event, m.Executed):
            if self._restarting and event.status == "died":
                event.status = "interrupted"  # it was ended on purpose
            self._runs[event.cell] = {"state": event.status, "seconds": event.seconds}
            self._asked = None
        entry = self.log.add(event)
        if isinstance(event, m.Status) and event.state == "busy" and event.cell is not None:
            self._ran.append((entry.seq, event.cell))
            self._runs[event.cell] = {"state": "running"}
        elif isinstance(event, m.Error) and event.cell is not None:
            self._runs.setdefault(event.cell, {})["line"] = event.line
        elif isinstance(event, m.InputRequest):
            self._asked = (entry.seq, event)
        elif isinstance(event, m.DeviceInfo) and event.info.get("device"):
            self._facts["device"] = event.info["device"]
        if self.page is not None:
            self.page.wake()

    def _forget_kernel(self) -> None:
        """What the panel shows of a kernel that is gone."""
        self._take(m.Variables([]))
        self._take(m.Captures(None, []))

    def control(self, what: object, content: Json) -> None:
        """Steer the process: start, interrupt, restart (with `force`), kill, cancel (with `cells`)."""
        if what == "start":
            self.kernel.start()
        elif what == "interrupt":
            self.kernel.interrupt()
        elif what == "restart":
            self._restarting = self.kernel.state != "dead"
            self.kernel.restart(force=content.get("force") is True)
            self._forget_kernel()
        elif what == "kill":
            self.kernel.kill()
        elif what == "cancel":
            cells = content.get("cells")
            self.kernel.cancel([str(c) for c in cells] if isinstance(cells, list) else None)
        else:
            raise NotebookError(f"The kernel cannot be told to {str(what)[:40]!r}.")

    def close(self) -> None:
        """End the kernel; what is unsaved goes to the journal (or `not_kept` says why not)."""
        self.page = None
        try:
            self.document.write_journal()
        except (NotebookError, OSError) as error:
            self.not_kept = str(error)
        self._generation = None
        self.kernel.close()

    # -- the page -----------------------------------------------------------------------------------

    def join(self, page: Page, hello: Json) -> tuple[Json, int] | None:
        """A page with the right key has come: what it is welcomed with and the last event that it has, None where it is refused.

        A page that comes again has everything but what it missed; one that is new gets the document and all that the
        panel shows.
        """
        taking = hello.get("take") is True
        if self.page is not None and self.page.name != page.name:
            if not taking:
                page.leave(HELD, "This kernel is in use in another tab or browser.")
                return None
            self.page.leave(TAKEN, "This notebook went on in another tab or browser.")
        elif self.page is not None:
            self.page.leave(1001, "The page has come by a new connection.")
        received = hello.get("received")
        again = hello.get("session") == self.id and isinstance(received, int)
        if again and self._owner not in ("", page.name) and not taking:
            page.leave(TAKEN, "This notebook went on in another tab or browser.")
            self.page = None
            return None
        if self._owner != page.name:
            self._got = 0
        self.page, self._owner = page, page.name
        welcome: Json = {
            "kind": "welcome", "session": self.id, "again": again, "got": self._got, "folder": str(self.root),
            "kernel": {
                "state": self.kernel.state, "running": self.kernel.running, "queued": self.kernel.queued, **self._facts,
                **({"reason": self._died.reason, "advice": self._died.advice} if self._died is not None else {}),
            },
        }  # fmt: skip
        if again:
            assert isinstance(received, int)
            return welcome, received
        # A page of its own documents begins with the state of now.
        shown = self.document.describe()
        seq = self.document.seq if shown is not None else self.log.seq
        welcome["document"] = shown
        welcome["runs"] = self._runs if shown is not None else {}
        welcome["ran"] = [cell for number, cell in self._ran if number <= seq]
        welcome["state"] = self.log.state(seq)
        if self._asked is not None and self._asked[0] <= seq:
            asked = self._asked[1]
            welcome["asked"] = {
                "kind": asked.kind,
                "cell": asked.cell,
                "prompt": asked.prompt,
                "password": asked.password,
            }
        return welcome, seq

    def part(self, page: Page) -> None:
        """A connection is gone. The kernel goes on; the page may come again."""
        if self.page is page:
            self.page = None

    def receive(self, page: Page, content: Json) -> None:
        """One message of the page that has the kernel. Numbered ones (`n`) are carried out once, however often they come."""
        number = content.pop("n", None)
        if isinstance(number, int):
            if number <= self._got:
                return
            self._got = number
            self._reply(page, {"kind": "got", "n": number})
        kind = content.get("kind")
        if kind == "ping":
            self._reply(page, {"kind": "pong"})
        elif kind == "ask":
            self._reply(page, {"kind": "answer", "request": content.get("request"), **self._answer(content)})
        elif kind == "control":
            with contextlib.suppress(NotebookError):
                self.control(content.get("what"), content)
        else:
            command_class = m.COMMANDS.get(str(kind))
            if command_class is None or not issubclass(command_class, FROM_PAGE):
                raise m.BadMessage(f"a page sends no {str(kind)[:40]!r}")
            content.pop("kind")
            try:
                command = command_class(**content)
            except TypeError as error:
                raise m.BadMessage(f"not a kernel message ({error})") from error
            _check_types(command)
            if isinstance(command, m.InputReply):
                self._asked = None
            self.kernel.send(command)

    def look(self) -> None:
        """Tell the page where another program has changed the file."""
        found = self.document.look()
        if found is not None and self.page is not None:
            self._reply(self.page, {"kind": "disk", **found})

    def _reply(self, page: Page, content: Json) -> None:
        page.replies.append(content)
        page.wake()

    # -- questions of the page ------------------------------------------------------------------------

    def _answer(self, content: Json) -> Json:
        """The answer to a question; `error` is a sentence where there is none."""
        question = _QUESTIONS.get(str(content.get("what")))
        if question is None:
            return {"error": "This server does not know the question; reload the page."}
        try:
            return question(self, content)
        except NotebookError as error:
            return {"error": str(error)}
        except OSError as error:
            return {"error": f"{error.filename or self.document.folder}: {error.strerror or error}."}
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            return {"error": f"The question lacks something ({type(error).__name__}: {error}); reload the page."}

    def _of_this(self, content: Json) -> bool:
        """Whether the page speaks of the document that is open here: it may have sent this before it heard of another."""
        path = self.document.path
        return content.get("file") == (None if path is None else str(path))

    def _keep(self, content: Json) -> Json:
        if not self._of_this(content):
            return {"unsaved": self.document.unsaved}
        answer = self.document.keep(_object(content, "notebook"), int(content["seq"]), _object(content, "page"))
        self.log.forget(self.document.seq)
        return answer

    def _save(self, content: Json) -> Json:
        if not self._of_this(content):
            raise NotebookError("Another document has been opened meanwhile; nothing was saved.")
        path = content.get("path")
        answer = self.document.save(
            _object(content, "notebook"), int(content["seq"]), _object(content, "page"),
            over=content.get("over") is True, path=None if path is None else str(path),
        )  # fmt: skip
        return answer

    def _open(self, content: Json) -> Json:
        """Another file below the folder of the server becomes the document, with a kernel of its own in its folder."""
        path = below(self.root, str(content["path"]))
        opened = Document(path.parent, path)
        return self._change(opened)

    def _leave(self, content: Json) -> Json:
        """The page shows a document of its own: there is no file any more, and a fresh kernel in the server's folder."""
        return self._change(Document(self.root))

    def _change(self, document: Document) -> Json:
        self.document.write_journal()
        old, self.document = self.kernel, document
        self._runs.clear()
        self.kernel = self._begin()
        threading.Thread(target=old.close, name="tapescope-close", daemon=True).start()  # it may take a second
        self._forget_kernel()
        document.seq = self.log.seq
        self._restarting = False
        return {"document": document.describe(), "seq": self.log.seq}

    def _files(self, content: Json) -> Json:
        action, name = str(content["action"]), str(content.get("path") or "")
        folder = self.document.folder
        if action == "write":
            data = base64.b64decode(str(content["data"]), validate=True)
            path = below(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        elif action == "read":
            path = below(folder, name)
            if path.stat().st_size > _LARGEST:
                raise NotebookError(f"{name} is too large to be sent to the page; it lies in {folder}.")
            return {"data": base64.b64encode(path.read_bytes()).decode()}
        elif action == "remove":
            below(folder, name).unlink()
        elif action != "list":
            raise NotebookError("Files can be listed, read, written and removed.")
        return {"list": _listing(folder)}


_QUESTIONS: dict[str, Callable[[Session, Json], Json]] = {
    "keep": Session._keep,
    "save": Session._save,
    "open": Session._open,
    "leave": Session._leave,
    "file": Session._files,
    "reload": lambda self, content: self.document.reload(_object(content, "notebook")),
    "difference": lambda self, content: self.document.compare(_object(content, "notebook")),
    "recover": lambda self, content: self.document.recover(_object(content, "notebook"), content.get("keep") is True),
    "generations": lambda self, content: self.document.generations(),
    "generation": lambda self, content: self.document.generation(_object(content, "notebook"), str(content["name"])),
    "notebooks": lambda self, content: {"notebooks": notebooks(self.root)},
}
"""What a page may ask, by name. One is added here."""


_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,), "int": (int,), "bool": (bool,), "str | None": (str, type(None)), "list[dict[str, Any]]": (list,),
}  # fmt: skip
"""What the fields of FROM_PAGE are declared as, and what may stand in them."""


def _check_types(command: m.Message) -> None:
    """Raise BadMessage where a field is not of its type: the kernel and the log trust what they are given."""
    for field in dataclasses.fields(command):
        value = getattr(command, field.name)
        right = type(value) in _TYPES[str(field.type)]
        if not right or (isinstance(value, list) and not all(isinstance(item, dict) for item in value)):
            raise m.BadMessage(f"{field.name!r} of {command.kind!r} is no {field.type}")


def _object(content: Json, name: str) -> Json:
    value = content[name]
    if not isinstance(value, dict):
        raise TypeError(f"{name} is no object")
    return value


def _listing(folder: Path, limit: int = 1000) -> list[Json]:
    """The files in a folder, not those below it: a folder of the user's may hold anything."""
    found = []
    for path in sorted(folder.iterdir(), key=lambda p: p.name.lower()):
        if not path.name.startswith(".") and path.is_file() and len(found) < limit:
            found.append({"path": path.name, "bytes": path.stat().st_size, "folder": False})
    return found
