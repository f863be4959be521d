"""Processes as a worker needs them, and those that are started anew."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol, TypeVar

from jostle.isolation.orphans import TAG, end_tagged, new_name

Result = TypeVar("Result")
ENDING = 10.0  # seconds within which a killed process must be gone, unless the kernel itself is stuck


@dataclass(frozen=True)
class Ends:
    """Descriptors that a new process gets."""

    connection: int  # to whoever asks it
    output: int  # for all that it writes
    passed: tuple[int, ...] = ()  # whatever else it needs


class WatchedProcess(Protocol):
    """A process that somebody watches, and ends."""

    @property
    def pid(self) -> int | None:
        """None while it is only about to be started."""

    def poll(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""

    def wait(self, seconds: float) -> int | None:
        """The same after this time at most."""

    def end(self) -> None:
        """Ends it and all that descend from it."""


# Starts a process with these descriptors.
Starter = Callable[[Ends], WatchedProcess]


class Spawned:
    """A process of its own session, started anew: `program CONNECTION PASSED... ARGUMENT...`."""

    def __init__(self, program: Sequence[str], arguments: Sequence[str], ends: Ends):
        self._tag = new_name()
        numbers = [ends.connection, *ends.passed]
        self._process = _by_lasting_thread(
            lambda: subprocess.Popen(
                [*program, *map(str, numbers), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=ends.output,
                stderr=subprocess.STDOUT,
                env={**os.environ, TAG: self._tag, "PYTHONUNBUFFERED": "1"},
                pass_fds=numbers,
                start_new_session=True,
            )
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def poll(self) -> int | None:
        return self._process.poll()

    def wait(self, seconds: float) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(seconds)
        return None

    def send_signal(self, number: signal.Signals) -> None:
        """While it runs; of one that ended, its number may be another's by now."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def end(self) -> None:
        end_group(self._process, self._tag)


def spawning(program: Sequence[str], arguments: Sequence[str] = ()) -> Starter:
    return lambda ends: Spawned(program, arguments, ends)


def end_group(process: subprocess.Popen[bytes], tag: str) -> None:
    """Kills a process with its whole group, and those that left it but still carry the tag."""
    if process.poll() is None:  # else its number may be another's by now
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        process.wait(ENDING)
    end_tagged(tag)


def _by_lasting_thread(start: Callable[[], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
    """Starts a process from a thread that lasts as long as it: its end is the parent's death to Linux."""
    if threading.current_thread() is threading.main_thread():
        return start()
    started: Future[subprocess.Popen[bytes]] = Future()

    def keep() -> None:
        try:
            process = start()
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            started.set_exception(error)
            return
        started.set_result(process)
        with suppress(ChildProcessError):
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # and leaves its code to others

    threading.Thread(target=keep, daemon=True).start()
    return started.result()
