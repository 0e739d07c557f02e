"""Why a kernel process is gone, in a sentence, and what to do about it."""

from __future__ import annotations

import re
import signal

RESTART = "Restart the kernel and run the cells again; the notebook's text is untouched."
"""The advice of most reasons; it is for somebody who has the notebook open."""

_PLACE = re.compile(r'File "<cell (?P<cell>[^"]+):\d+>", line (?P<line>\d+)')

_NO_MEMORY = re.compile(r"memory allocation|bad_alloc|out of memory|cannot allocate memory", re.IGNORECASE)
"""What native libraries say before they give up for lack of memory."""

_SIGNALS = {
    "SIGKILL": (
        "The system ended the kernel (SIGKILL), most often because memory ran out.",
        "Use smaller batches or delete large variables, then restart the kernel.",
    ),
    "SIGSEGV": ("The kernel crashed in native code (segmentation fault){place}.", "{restart}"),
    "SIGBUS": ("The kernel crashed in native code (bus error){place}.", "{restart}"),
    "SIGILL": (
        "The kernel crashed in native code (an instruction that this processor does not have){place}.",
        "A library was built for another processor: reinstall it for this machine.",
    ),
    "SIGFPE": ("The kernel crashed in native code (arithmetic error){place}.", "{restart}"),
    "SIGABRT": ("Native code gave up and ended the kernel (abort){place}.", "{restart}"),
    "SIGTERM": ("Another program asked the kernel to end (SIGTERM).", "{restart}"),
    "SIGHUP": ("The kernel ended because its terminal closed (SIGHUP).", "{restart}"),
    "SIGXCPU": ("The kernel used up the processor time it was allowed (SIGXCPU).", "{restart}"),
}
_WINDOWS = {0xC0000005: "SIGSEGV", 0xC00000FD: "SIGSEGV", 0xC000001D: "SIGILL", 0xC0000409: "SIGABRT"}


def explain_exit(
    code: int | None,
    *,
    asked: bool = False,
    started: bool = True,
    in_cell: bool = True,
    out_of_memory: bool = False,
    last_words: str = "",
) -> tuple[str, str]:
    """`(reason, advice)` for an exit code as `subprocess` gives it (negative for a signal).

    asked          the user killed it
    started        it had sent `Ready`
    in_cell        a cell was running
    out_of_memory  the system says that it ended a process for lack of memory meanwhile
    last_words     the end of what it wrote to its standard error, for the cell's line in a crash
    """
    if asked:
        return "The kernel was killed, as you asked.", RESTART
    if not started:
        words = last_words.strip()
        return (
            f"The kernel could not start (exit code {code})." if code is not None else "The kernel could not start.",
            f"It said: {words[-2000:]}" if words else "Run `tapescope doctor` to see what is missing.",
        )
    name = _signal_name(code)
    if in_cell and name in (None, "SIGABRT") and _NO_MEMORY.search(last_words):
        return "Memory ran out in native code, which ended the kernel.", _SIGNALS["SIGKILL"][1]
    if name == "SIGKILL" and out_of_memory:
        return "Memory ran out, and the system ended the kernel.", _SIGNALS["SIGKILL"][1]
    if name is not None:
        place = _PLACE.search(last_words)
        reason, advice = _SIGNALS.get(name, (f"The kernel was ended by signal {name}.", "{restart}"))
        where = f" in line {place['line']} of the cell" if place else ""
        return reason.format(place=where), advice.format(restart=RESTART)
    if not in_cell:
        return f"The kernel's process ended with exit code {code} while no cell was running.", RESTART
    return (
        f"The cell ended the kernel's process with exit code {code}, as os._exit({code}) does.",
        f"{RESTART} To leave a cell early, raise an exception or call sys.exit().",
    )


def _signal_name(code: int | None) -> str | None:
    if code is None:
        return None
    if code < 0:
        try:
            return signal.Signals(-code).name
        except ValueError:
            return f"number {-code}"
    return _WINDOWS.get(code)
