"""The processes that work together: joining, leaving, who is who, and the connections between rank 0 and the others.

Every process holds one connection to rank 0. `exchange` is the only thing that goes over them: each process hands in a value, rank 0
applies a function to the list of all, and every process gets its own entry of the result.
"""

from __future__ import annotations

import datetime
import os
import threading
import time
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multiprocessing.connection import Connection  # not in browsers: imported where processes are joined

DEFAULT_TIMEOUT = datetime.timedelta(minutes=30)
_KNOWN = ("gloo", "nccl", "mpi", "tapescope")


class ProcessGroup:
    """This process's place among `size` of them. `peers[r]` (on rank 0) and `hub` (elsewhere) are the connections."""

    def __init__(self, rank: int, size: int, backend: str, timeout: float):
        self.rank_number, self.count, self.backend, self.timeout = rank, size, backend, timeout
        self.peers: dict[int, Connection] = {}
        self.hub: Connection | None = None
        self.mailbox: dict[tuple[int, int, int], list[Any]] = {}
        self.lock = threading.Lock()

    def rank(self) -> int:
        """The number of this process."""
        return self.rank_number

    def size(self) -> int:
        """The number of processes."""
        return self.count

    def exchange(self, value: Any, combine: Callable[[list[Any]], list[Any]], label: str) -> Any:
        """Hand in `value`; rank 0 makes one answer a process of the list of all. Returns this process's.

        Raises RuntimeError where the processes do not call the same collective, or one of them is gone.
        """
        with self.lock:
            if self.count == 1:
                return combine([value])[0]
            try:
                if self.hub is not None:
                    self.hub.send((label, value))
                    ok, answer = self._read(self.hub, 0)
                    if not ok:
                        raise RuntimeError(answer)
                    return answer
                values, labels = [value], [label]
                for r in range(1, self.count):
                    theirs, found = self._read(self.peers[r], r)
                    labels.append(theirs)
                    values.append(found)
                if len(set(labels)) > 1:
                    message = "the processes called different collectives: " + ", ".join(
                        f"rank {r}: {n}" for r, n in enumerate(labels)
                    )
                    self._answer([(False, message)] * self.count)
                    raise RuntimeError(message)
                try:
                    answers = combine(values)
                except Exception as error:
                    self._answer([(False, f"{label}: {error}")] * self.count)
                    raise
                self._answer([(True, a) for a in answers])
                return answers[0]
            except (EOFError, ConnectionError, BrokenPipeError) as error:
                raise RuntimeError(
                    f"{label}: the connection to another process was closed ({error or 'it ended'})"
                ) from None

    def _answer(self, answers: list[Any]) -> None:
        for r, peer in self.peers.items():
            peer.send(answers[r])

    def _read(self, connection: Connection, rank: int) -> Any:
        if not connection.poll(self.timeout):
            raise RuntimeError(f"timed out after {self.timeout:g} s while waiting for rank {rank}")
        return connection.recv()

    def close(self) -> None:
        """Close the connections."""
        for c in (*self.peers.values(), self.hub):
            if c is not None:
                c.close()


_current: ProcessGroup | None = None

group = types.SimpleNamespace(WORLD=None)
"""`group.WORLD` is the group of all processes, None before `init_process_group`."""


def current() -> ProcessGroup:
    """The group; raises ValueError before `init_process_group`."""
    if _current is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    return _current


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: datetime.timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Join the other processes; returns when all are there.

    Rank, number of processes and the address of rank 0 come from the arguments (`init_method="tcp://HOST:PORT"`) or from the
    environment (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT). Raises ValueError for what is missing, RuntimeError when the
    others do not come within `timeout` (30 minutes).
    """
    global _current
    if _current is not None:
        raise ValueError("trying to initialize the default process group twice!")
    name = (backend or "gloo").split(",")[0].split(":")[-1].lower()
    if name not in _KNOWN:
        raise ValueError(f"Invalid backend: '{backend}'; the backends are {', '.join(_KNOWN)}")
    method = init_method or "env://"
    count = world_size if world_size >= 0 else _from_environment("WORLD_SIZE", "world_size")
    number = rank if rank >= 0 else _from_environment("RANK", "rank")
    if not 0 <= number < count:
        raise ValueError(f"rank {number} is not within the {count} processes (counted from 0)")
    seconds = (timeout or DEFAULT_TIMEOUT).total_seconds()
    made = ProcessGroup(number, count, name, seconds)
    if count > 1:
        _connect(made, *_address(method))
    _current = group.WORLD = made


def _from_environment(name: str, argument: str) -> int:
    text = os.environ.get(name)
    if text is None:
        raise ValueError(
            f"Error initializing torch.distributed using env:// rendezvous: environment variable {name} expected, but not set "
            f"(or give {argument}=)"
        )
    return int(text)


def _address(method: str) -> tuple[str, int]:
    if method.startswith("env://"):
        host, port = os.environ.get("MASTER_ADDR"), os.environ.get("MASTER_PORT")
        for name, value in (("MASTER_ADDR", host), ("MASTER_PORT", port)):
            if value is None:
                raise ValueError(
                    f"Error initializing torch.distributed using env:// rendezvous: environment variable {name} expected, but not set"
                )
        return str(host), int(str(port))
    if method.startswith("tcp://"):
        host, _, port = method[6:].partition(":")
        if port.isdigit():
            return host, int(port)
    raise ValueError(f"init_method {method!r} is not understood; use tcp://HOST:PORT or env://")


def _connect(made: ProcessGroup, host: str, port: int) -> None:
    from multiprocessing.connection import Client, Listener

    key = f"tapescope-{port}".encode()
    deadline = time.monotonic() + made.timeout
    if made.rank_number == 0:
        with Listener((host, port), backlog=made.count, authkey=key) as listener:
            listener._listener._socket.settimeout(made.timeout)  # type: ignore[attr-defined]  (the library has no public way)
            while len(made.peers) < made.count - 1:
                try:
                    peer = listener.accept()
                except TimeoutError:
                    here = sorted({0, *made.peers})
                    raise RuntimeError(
                        f"timed out: of {made.count} processes only ranks {here} came to {host}:{port}"
                    ) from None
                made.peers[peer.recv()] = peer
        return
    while True:
        try:
            made.hub = Client((host, port), authkey=key)
            break
        except (ConnectionError, OSError):
            if time.monotonic() > deadline:
                raise RuntimeError(f"rank 0 does not listen at {host}:{port}") from None
            time.sleep(0.02)
    made.hub.send(made.rank_number)


def destroy_process_group(group_: Any = None) -> None:
    """Leave the group."""
    global _current
    if _current is not None:
        _current.close()
    _current = group.WORLD = None


def is_initialized() -> bool:
    """Whether `init_process_group` has been called."""
    return _current is not None


def is_available() -> bool:
    """Whether processes can work together on this platform (not in a browser)."""
    import importlib.util

    return importlib.util.find_spec("_multiprocessing") is not None


def is_gloo_available() -> bool:
    """True: the name "gloo" is accepted."""
    return is_available()


def is_nccl_available() -> bool:
    """False: there are no CUDA devices here."""
    return False


def is_mpi_available() -> bool:
    """False."""
    return False


def is_torchelastic_launched() -> bool:
    """Whether a launcher started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def get_rank(group: Any = None) -> int:
    """The number of this process."""
    return current().rank_number


def get_world_size(group: Any = None) -> int:
    """The number of processes."""
    return current().count


def get_backend(group: Any = None) -> str:
    """The name given to `init_process_group`."""
    return current().backend


def new_group(ranks: Any = None, **unused: Any) -> ProcessGroup:
    """The group of all processes. Raises NotImplementedError for a part of them."""
    made = current()
    if ranks is not None and sorted(ranks) != list(range(made.count)):
        raise NotImplementedError(
            "groups of some of the processes are not supported; all take part in every collective"
        )
    return made
