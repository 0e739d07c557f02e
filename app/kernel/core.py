"""The kernel without its transport: typed commands in, typed events out."""

from __future__ import annotations

from collections.abc import Callable

from .messages import Message


class KernelCore:
    """Runs commands in the calling thread and reports through `send`.

    `ask(prompt, password)` waits for the answer to an `InputRequest` that was just sent.
    """

    def __init__(
        self,
        send: Callable[[Message], None],
        *,
        ask: Callable[[str, bool], str] | None = None,
        device: str | None = None,
        torch: str = "auto",
    ) -> None:
        self.send = send

    def handle(self, command: Message) -> None:
        """Carry out one command; returns when it is done."""
        raise NotImplementedError
