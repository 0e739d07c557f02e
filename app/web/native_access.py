"""Who may talk to a native kernel: the checks of `Host`, `Origin` and the key, each with the sentence that refuses.

A kernel runs whatever it is sent, so three doors are shut.  A name that is not this machine's own is refused, since a
stranger's domain can be made to point here (DNS rebinding).  A page of another origin is refused.  And whoever connects
must show the key that `tapescope serve` printed, which other users of the machine do not have.  The key travels behind the `#`
of the address, which browsers send to nobody, and is kept by origin, ports included, where a cookie would go to every
server on this machine.
"""

from __future__ import annotations

import hmac
import re
import secrets
import time

LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
"""Names that no name server is asked for (an address by number cannot be rebound, and `localhost` is this machine)."""

TICKET_SECONDS = 120.0

_HOST = re.compile(r"(?:([\w.-]+)|\[([\w:.]+)\])(?::\d{1,5})?", re.ASCII)


def refuse_host(host: str | None) -> str:
    """Why a request to this `Host` is refused; "" where it is not. Any port will do: a tunnel may have its own."""
    if _name(host) in LOCAL_NAMES:
        return ""
    return (
        f"This server answers to 127.0.0.1 and localhost only, and was asked as {_quoted(host)}. Open http://127.0.0.1 and its port; "
        "from another machine, through a tunnel: ssh -L PORT:127.0.0.1:PORT MACHINE."
    )


def refuse_origin(origin: str | None, host: str | None) -> str:
    """Why a WebSocket that a page of `origin` opens is refused; "" where the page is this server's own."""
    if origin is not None and origin == f"http://{host}":
        return ""
    return f"Only the page of this server may use its kernel, and {_quoted(origin)} is another one."


class Keys:
    """The key of one run of the server, and tickets: keys that open once, and only for two minutes.

    The browser is started with a ticket, because what a program is started with can be read by every user of a machine.
    """

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(24)
        self._tickets: dict[str, float] = {}

    def ticket(self) -> str:
        """A new key that opens once."""
        made = secrets.token_urlsafe(24)
        self._tickets[made] = time.monotonic() + TICKET_SECONDS
        return made

    def refuse(self, key: object) -> str:
        """Why a page with this key is refused; "" where it is not. A ticket is used up by it."""
        if isinstance(key, str) and key:
            if hmac.compare_digest(key.encode("utf-8", "replace"), self.token.encode()):
                return ""
            until = self._tickets.pop(key, None)
            if until is not None and time.monotonic() < until:
                return ""
            return "The key in the address is not the one of this server. Open the address that `tapescope serve` printed when it started."
        return "This page has no key to the kernel. Open the address that `tapescope serve` printed when it started."


def _name(host: str | None) -> str | None:
    """The name in a `Host`. Nothing but a name and a port passes, since the text goes into the policy of the page."""
    found = _HOST.fullmatch(host or "")
    return (found[1] or found[2]).lower() if found else None


def _quoted(text: str | None) -> str:
    return repr(text[:80]) if text else "nothing"
