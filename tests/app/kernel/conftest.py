"""A kernel to talk to, in this process and in one of its own: tests that ask for `kernel` run on both."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest

from tapescope.app.kernel.local import LocalKernel
from tapescope.app.kernel.messages import (
    Error,
    Execute,
    Executed,
    InputReply,
    InputRequest,
    Message,
    Ready,
    Stream,
)
from tapescope.app.kernel.process import KernelProcess

M = TypeVar("M", bound=Message)
PATIENCE = 60
"""Seconds after which a test gives up on a kernel that says nothing: no measure of anything."""


class Talk:
    """A kernel with a listener that remembers everything it heard."""

    def __init__(self, transport: str, **options: object) -> None:
        self.transport = transport
        self.events: list[Message] = []
        self.answers: list[str] = []
        self.revision = 0
        self._heard = threading.Condition()
        make: Callable[..., KernelProcess | LocalKernel] = LocalKernel if transport == "local" else KernelProcess
        self.kernel = make(self._listen, **options)

    def _listen(self, message: Message) -> None:
        with self._heard:
            self.events.append(message)
            self._heard.notify_all()
        if isinstance(message, InputRequest) and self.answers:
            self.kernel.send(InputReply(self.answers.pop(0)))

    def wait_for(self, condition: Callable[[list[Message]], bool]) -> None:
        """Return once `condition(events)` holds; fails the test if that takes for ever."""
        with self._heard:
            if not self._heard.wait_for(lambda: condition(self.events), PATIENCE):
                pytest.fail(f"waited for something that never came; the events so far: {self.events[-20:]}")

    def wait_for_one(self, kind: type[M], after: int = 0) -> M:
        """The first event of a kind behind the first `after` events."""
        self.wait_for(lambda events: any(isinstance(e, kind) for e in events[after:]))
        return next(e for e in self.events[after:] if isinstance(e, kind))

    def run(self, *codes: str) -> Heard:
        """Send the codes as cells c0, c1, ... at once, and return what was heard until all have ended.

        The first call sends revision 1 of each, the second revision 2, and so on.
        """
        begin = len(self.events)
        self.revision += 1
        self.kernel.send(*(Execute(f"c{i}", self.revision, code) for i, code in enumerate(codes)))
        self.wait_for(lambda events: sum(isinstance(e, Executed) for e in events[begin:]) >= len(codes))
        return Heard(self.events[begin:])

    def run_and_interrupt(self, code: str, *behind: str) -> Heard:
        """Like `run`; the first cell is interrupted as soon as it has printed "started"."""
        begin = len(self.events)

        def interrupt() -> None:
            self.wait_for(lambda events: "started" in Heard(events[begin:]).text())
            self.kernel.interrupt()

        helper = threading.Thread(target=interrupt)
        helper.start()
        try:
            return self.run(code, *behind)
        finally:
            helper.join()


class Heard(list[Message]):
    """Events, and the questions that tests ask of them."""

    def all(self, kind: type[M]) -> list[M]:
        return [e for e in self if isinstance(e, kind)]

    def one(self, kind: type[M]) -> M:
        found = self.all(kind)
        assert len(found) == 1, f"{len(found)} {kind.__name__} events instead of one: {found}"
        return found[0]

    def text(self, name: str = "stdout", cell: str | None = None) -> str:
        return "".join(e.text for e in self.all(Stream) if e.name == name and cell in (None, e.cell))

    def statuses(self) -> list[tuple[str, str]]:
        return [(e.cell, e.status) for e in self.all(Executed)]

    @property
    def error(self) -> Error:
        return self.one(Error)

    @property
    def traceback(self) -> str:
        """The one error's traceback without colours."""
        return re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(self.error.traceback))


@pytest.fixture
def talk() -> Iterator[Callable[..., Talk]]:
    """Makes `Talk`s that have started, and closes them at the end."""
    made: list[Talk] = []

    def make(transport: str = "process", **options: object) -> Talk:
        talk = Talk(transport, **options)
        made.append(talk)
        talk.kernel.start()
        talk.wait_for_one(Ready)
        return talk

    yield make
    for talk in made:
        talk.kernel.close()


@pytest.fixture(params=["local", "process"])
def kernel(request: pytest.FixtureRequest, talk: Callable[..., Talk]) -> Talk:
    """A kernel that is ready, on each transport in turn."""
    return talk(request.param)
