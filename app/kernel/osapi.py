"""What differs between operating systems for a kernel process: passing pipes, interrupting, killing, dying together.

The only file of the room that asks for the platform. It knows no messages.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from typing import Any

WINDOWS = sys.platform == "win32"


def spawn(arguments: list[str], inherited: dict[str, int], **options: Any) -> subprocess.Popen[Any]:
    """Start a process in a group of its own that inherits the descriptors, named `--NAME=...` behind `arguments`.

    Raises OSError where the program cannot be started.
    """
    if sys.platform == "win32":
        import msvcrt

        handles = {name: msvcrt.get_osfhandle(fd) for name, fd in inherited.items()}
        for handle in handles.values():
            os.set_handle_inheritable(handle, True)
        startup = subprocess.STARTUPINFO(lpAttributeList={"handle_list": list(handles.values())})
        flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
        names = [f"--{name}={handle}" for name, handle in handles.items()]
        return subprocess.Popen([*arguments, *names], startupinfo=startup, creationflags=flags, **options)
    names = [f"--{name}={fd}" for name, fd in inherited.items()]
    fds = tuple(inherited.values())
    return subprocess.Popen([*arguments, *names], pass_fds=fds, start_new_session=True, **options)


def open_inherited(text: str, write: bool) -> int:
    """In the child: the file descriptor behind one of the names that `spawn` passed."""
    if sys.platform == "win32":
        import msvcrt

        return msvcrt.open_osfhandle(int(text), os.O_WRONLY if write else os.O_RDONLY)
    os.set_inheritable(int(text), False)
    return int(text)


def interrupt_main_thread() -> None:
    """Let the SIGINT handler of this process run in its main thread, from any thread; wakes a `time.sleep` on POSIX."""
    if sys.platform == "win32":
        import _thread

        _thread.interrupt_main()
    else:
        # Not `os.kill`: a signal to the process may go to any thread, and then it wakes nothing.
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def interrupt_own_group() -> None:
    """Like `interrupt_main_thread`, and SIGINT to the programs that the user's code has started.

    The handler of this process may run twice.
    """
    if sys.platform != "win32" and os.getpgrp() == os.getpid():
        os.killpg(os.getpgrp(), signal.SIGINT)
    interrupt_main_thread()


def kill(process: subprocess.Popen[Any]) -> None:
    """End a process that `spawn` started, at once, with the programs it has started. One that is gone is no error."""
    with contextlib.suppress(OSError):
        if sys.platform == "win32":
            process.kill()
        elif process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


def die_when_closed(fd: int) -> None:
    """Let the system kill this process when the other end of pipe `fd`, on which nothing is ever written, closes.

    On Linux this works even while one long call into C keeps every Python thread from running. Elsewhere nothing
    happens: there a thread that reads to the end of a pipe is what is left.
    """
    if sys.platform == "linux":
        import fcntl

        fcntl.fcntl(fd, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_ASYNC)


def kill_own_group() -> None:
    """End this process and the programs it has started, without a word."""
    if sys.platform != "win32" and os.getpgrp() == os.getpid():
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(1)


def flush_c_streams() -> None:
    """Write out what C code has printed: its buffers belong to the C library, not to Python."""
    if sys.platform != "win32":
        with contextlib.suppress(Exception):
            import ctypes

            ctypes.CDLL(None).fflush(None)


def cap_memory(limit: int) -> bool:
    """Let this process fail to allocate beyond `limit` bytes of data, with MemoryError; False where that is not to be had.

    Counted are the heap and private anonymous memory, which is where tensors live, and not the code of libraries.
    """
    if sys.platform == "linux":
        import resource

        with contextlib.suppress(OSError, ValueError):
            _, hard = resource.getrlimit(resource.RLIMIT_DATA)
            resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
            return True
    return False


def memory_kills() -> int:
    """How many processes of this control group the system has ended for lack of memory; 0 where it does not tell."""
    with contextlib.suppress(OSError, ValueError), open("/sys/fs/cgroup/memory.events", encoding="ascii") as file:
        for line in file:
            name, _, number = line.partition(" ")
            if name == "oom_kill":
                return int(number)
    return 0
