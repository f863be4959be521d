"""Workers forked from a template: there in hundredths of a second, because it has imported everything already."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
import time
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from jostle.isolation.lifeline import WHOLE, command
from jostle.isolation.orphans import end_tagged, new_name
from jostle.isolation.spawned import ENDING, Ends, Spawned, Starter

SUPPORTED = sys.platform == "linux"  # elsewhere libraries of the system do not survive a fork
PROGRAM = "jostle.isolation.template"
LONGEST = 2**16  # bytes of one message
TAUGHT = 400  # names of modules in one message
KILLED = -9  # the exit code of a worker whose template is gone: the kernel kills it


class Template:
    """A process that has imported a module, and forks workers that run its main."""

    def __init__(self, module: str):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, Path(os.devnull).open("wb") as nowhere:
            ends = Ends(theirs.fileno(), nowhere.fileno())
            self._process = Spawned(command(sys.executable, WHOLE, PROGRAM), [module], ends)
        self._control = ours
        ours.setblocking(False)
        self._told = select.poll()
        self._told.register(ours, select.POLLIN)
        self._pids: dict[str, int] = {}  # by tag
        self._codes: dict[str, int] = {}
        self.gone = False
        self._end = weakref.finalize(self, _close, self._process, ours)

    def starting(self, arguments: Sequence[str] = ()) -> Starter:
        return lambda ends: Forked(self, arguments, ends)

    def fork(self, tag: str, arguments: Sequence[str], ends: Ends) -> None:
        """Asks for a worker that works where we do; it is there as soon as the template has imported everything."""
        descriptors = [ends.connection, ends.output, *ends.passed]
        self._ask({"fork": tag, "arguments": list(arguments), "folder": str(Path.cwd())}, descriptors)

    def end(self, tag: str) -> None:
        self._ask({"end": tag})

    def learn(self, modules: Sequence[str]) -> None:
        """Has modules imported before the next worker is forked."""
        for start in range(0, len(modules), TAUGHT):
            self._ask({"import": list(modules[start : start + TAUGHT])})

    def pid(self, tag: str) -> int | None:
        if tag not in self._pids:
            self._wake()
        self.listen()
        return self._pids.get(tag)

    def code(self, tag: str) -> int | None:
        """How a worker ended; None while it runs."""
        self.listen()
        return self._codes.get(tag, KILLED if self.gone else None)

    def listen(self, seconds: float = 0.0) -> None:
        """Hears what the template has told, and waits this long for the first of it."""
        if seconds:
            self._wake()
        if self.gone or not self._told.poll(seconds * 1000):
            return
        with suppress(BlockingIOError):
            while not self.gone:
                try:
                    message = self._control.recv(LONGEST)
                except ConnectionError:
                    message = b""
                self._hear(message)

    def close(self) -> None:
        """Ends the template and all its workers."""
        self._end()
        self.gone = True

    def _wake(self) -> None:
        """A model may have stopped it, which would keep everybody waiting for workers."""
        self._process.send_signal(signal.SIGCONT)

    def _hear(self, message: bytes) -> None:
        if not message:
            self.gone = True
            return
        told: Mapping[str, Any] = json.loads(message)
        if "forked" in told:
            self._pids[told["forked"]] = told["pid"]
        else:
            self._codes[told["ended"]] = told["code"]

    def _ask(self, request: Mapping[str, Any], descriptors: Sequence[int] = ()) -> None:
        self._wake()
        try:
            socket.send_fds(self._control, [json.dumps(request).encode()], descriptors)
        except OSError:
            self.gone = True


class Forked:
    """A process of its own session that a template forks."""

    def __init__(self, template: Template, arguments: Sequence[str], ends: Ends):
        self._template, self._tag = template, new_name()
        template.fork(self._tag, arguments, ends)

    @property
    def pid(self) -> int | None:
        return self._template.pid(self._tag)

    def poll(self) -> int | None:
        return self._template.code(self._tag)

    def wait(self, seconds: float) -> int | None:
        deadline = time.monotonic() + seconds
        while self.poll() is None and (left := deadline - time.monotonic()) > 0:
            self._template.listen(left)
        return self.poll()

    def end(self) -> None:
        if self.poll() is None:
            self._template.end(self._tag)
            self.wait(ENDING)
        end_tagged(self._tag)


def _close(process: Spawned, control: socket.socket) -> None:
    """The template is given time to end its workers first, and what they left."""
    control.close()
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGCONT)
    process.wait(ENDING)
    process.end()
