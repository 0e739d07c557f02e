"""The one exception of the command line: a sentence for the person who typed the command, and the exit code."""

from __future__ import annotations

USAGE = 2
"""Exit code for a command that cannot be understood or begun (as argparse uses it)."""

FAILED = 1
"""Exit code for a command that was begun and did not succeed."""

INTERRUPTED = 130
"""Exit code after Ctrl+C (128 + SIGINT, as shells have it)."""


class CommandError(Exception):
    """Ends a command. Its text says what is wrong, where, and what to do; it goes to stderr as it is."""

    def __init__(self, sentence: str, code: int = FAILED) -> None:
        super().__init__(sentence)
        self.code = code
