"""A process that serves requests, watched from outside: hangs, memory and death are noticed and told."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import sysconfig
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from jostle.foreign import Crash
from jostle.isolation.spawned import Ends, Starter, WatchedProcess

GLANCE = 0.02  # seconds between two looks at a process that has not answered
BETWEEN_WEIGHINGS = 0.1  # seconds
WITH_CHILDREN = 0.5  # seconds after which a request's memory is that of all descendants, which are slow to find
END = b"\n"  # of a request or an answer, which are JSON on one line
LONGEST_ANSWER, LONGEST_CHUNK = 2**26, 2**16  # bytes
LAST_WORDS = 0.3  # seconds a process gets to end once it has closed its connection
STACK, UNTIL_STACK = b"Current thread", 1.0  # of a stack that was asked for, and seconds that it may take at most
FRAME = re.compile(r'File "(?P<file>[^"]+)", line \d+ in (?P<function>\S+)')
LIBRARIES = (sysconfig.get_path("stdlib"), str(Path(__file__).parents[1]))
NOWHERE = "the target"
KEPT_OUTPUT = 16 * 1024  # bytes of what a process wrote last


MEMORY_SHARE = 0.75  # of the machine's, for one process


def most_memory() -> int:
    """Bytes that a process may take unless told otherwise."""
    return int(MEMORY_SHARE * psutil.virtual_memory().total)


@dataclass(frozen=True)
class Limits:
    """What a worker may use before it is ended."""

    seconds: float  # for one request
    memory: int  # bytes, of the worker and all its children
    answer: int = LONGEST_ANSWER  # bytes


class Died(Exception):
    """The worker is gone; carries how it ended."""

    def __init__(self, crash: Crash):
        super().__init__(f"{crash.error}: {crash.message}")
        self.crash = crash


class Worker:
    """A process that answers requests; whatever ends this object ends it and all that descend from it."""

    def __init__(self, start: Starter, limits: Limits, passed: Sequence[int] = ()):
        """The process finds the numbers of its connection and of all that is passed first in its arguments."""
        ours, theirs = socket.socketpair()
        reading, writing = os.pipe()
        try:
            self._process = start(Ends(theirs.fileno(), writing, tuple(passed)))
        except OSError:
            os.close(reading)
            ours.close()
            raise
        finally:
            theirs.close()
            os.close(writing)
        self._tail = Tail(reading)
        self._connection, self.limits = ours, limits
        self._received, self._unanswered = bytearray(), 0
        self._weighed = 0.0
        self._end = weakref.finalize(self, _close, self._process, ours)

    @property
    def pid(self) -> int | None:
        return self._process.pid

    def ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """The answer; Died if there will be none in this time, and then nothing of the worker is left."""
        return self.ask_encoded(json.dumps(request).encode(), seconds)

    def ask_encoded(self, request: bytes, seconds: float) -> dict[str, Any]:
        """The answer to a request that is JSON on one line already."""
        self.tell(request, seconds)
        return self.answer(seconds)

    def tell(self, request: bytes, seconds: float) -> None:
        """Sends a request whose answer will be asked for later; answers come in the order of requests."""
        try:
            self._connection.settimeout(seconds)
            self._connection.sendall(request + END)
            self._unanswered += 1
        except OSError:  # it closed the connection, or does not read what it is sent
            raise self._died(self._ended()) from None

    def answer(self, seconds: float) -> dict[str, Any]:
        """The answer to the first request that has none yet."""
        try:
            return self._answer(seconds)
        except (EOFError, OSError, ValueError, RecursionError):  # it closed the connection, or sent what is no answer
            raise self._died(self._ended()) from None

    def kill(self) -> None:
        """Ends the worker and all that descend from it."""
        self._end()

    def _answer(self, seconds: float) -> dict[str, Any]:
        asked = time.monotonic()
        self._connection.settimeout(GLANCE)
        searched = 0  # bytes of a long answer that are not looked at again
        while self._received.find(END, searched) < 0:
            searched = max(0, len(self._received) - len(END) + 1)
            ended = self._process.poll() is not None  # before the last look at what it sent
            with suppress(TimeoutError):
                chunk = self._connection.recv(LONGEST_CHUNK)
                self._received += chunk
                ended = not chunk
            if ended or len(self._received) > self.limits.answer:
                raise EOFError
            if time.monotonic() > asked + seconds:
                raise self._died(self._hung(seconds))
            self._weigh(asked)
        line, _, self._received = self._received.partition(END)
        self._unanswered -= 1
        answer = json.loads(line)
        if not isinstance(answer, dict) or (self._received and not self._unanswered):
            raise ValueError("an answer is one object")
        return answer

    def _weigh(self, asked: float) -> None:
        """Ends a worker that uses more memory than it may."""
        now = time.monotonic()
        if now < self._weighed + BETWEEN_WEIGHINGS:
            return
        self._weighed = now
        used = self.memory(with_children=now > asked + WITH_CHILDREN)
        if used > self.limits.memory:
            self._ask_for_stack()
            message = f"used {_size(used)} of memory where {_size(self.limits.memory)} are allowed"
            raise self._died(self._crash("MemoryLimit", message))

    def memory(self, with_children: bool = True) -> int:
        """Bytes that it has in memory now."""
        return 0 if self.pid is None else memory_of(self.pid, with_children)

    def _hung(self, seconds: float) -> Crash:
        """Of a process that does not answer in time; its stack, if it can still write it."""
        self._ask_for_stack()
        return self._crash("Hang", f"no answer after {seconds:g} s")

    def _ask_for_stack(self) -> None:
        if self.pid is not None and self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGUSR1)
            self._tail.wait_for(STACK, UNTIL_STACK)  # no longer than it takes: memory may go on growing

    def _ended(self) -> Crash:
        """Of a process that ended or closed its connection."""
        code = self._process.wait(LAST_WORDS)
        if code is None:
            return self._crash("Disconnected", "closed its connection without an answer")
        self._tail.wait(LAST_WORDS)
        if code < 0:
            return self._crash(signal_name(-code), "ended the process")
        return self._crash(f"Exit {code}", "ended the process without an answer")

    def _crash(self, error: str, message: str) -> Crash:
        text = self._tail.text()
        return Crash(error, message, _where(text), text, fatal=True)

    def _died(self, crash: Crash) -> Died:
        self.kill()
        return Died(crash)


class Tail:
    """Reads a stream to its end beside everything else, and keeps the end: a flood costs no memory."""

    def __init__(self, descriptor: int):
        self._kept = b""
        self._thread = threading.Thread(target=self._read, args=(descriptor,), daemon=True)
        self._thread.start()

    def text(self) -> str:
        return self._kept.decode(errors="replace")

    def wait(self, seconds: float) -> None:
        """Until the stream has ended, but not for long: a grandchild may hold it open."""
        self._thread.join(seconds)

    def wait_for(self, words: bytes, seconds: float) -> None:
        """Until the stream has said so and then stopped for a moment, but no longer than this."""
        until, before = time.monotonic() + seconds, b""
        while time.monotonic() < until and (words not in before or before != self._kept):
            before = self._kept
            time.sleep(GLANCE)

    def _read(self, descriptor: int) -> None:
        try:
            while chunk := os.read(descriptor, LONGEST_CHUNK):
                self._kept = (self._kept + chunk)[-KEPT_OUTPUT:]
        finally:
            os.close(descriptor)


def _close(process: WatchedProcess, connection: socket.socket) -> None:
    process.end()
    connection.close()


def memory_of(pid: int, with_children: bool) -> int:
    """Bytes in memory of a process, and of all that descend from it."""
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        return sum(_resident(one) for one in (process, *(process.children(recursive=True) if with_children else ())))
    return 0


def _resident(process: psutil.Process) -> int:
    with suppress(psutil.Error):
        return int(process.memory_info().rss)
    return 0


def signal_name(number: int) -> str:
    with suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"


def _size(count: int) -> str:
    """As `--rss-limit` takes it."""
    return f"{count / 2**30:.2f}G" if count >= 2**30 else f"{count / 2**20:.0f}M"


def _where(text: str) -> str:
    """Where a process says it was when it died: innermost in the user's code, or else anywhere."""
    frames = [(frame["file"], frame["function"]) for frame in FRAME.finditer(text.rpartition("Current thread")[2])]
    named = [f"{Path(file).name}:{function}" for file, function in frames if not _is_library(file)]
    return next(iter([*named, *(f"{Path(file).name}:{function}" for file, function in frames)]), NOWHERE)


def _is_library(file: str) -> bool:
    return "site-packages" in file or file.startswith((*LIBRARIES, "<"))
