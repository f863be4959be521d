"""What foreign code may change of the process that it runs in, seen before and put back after."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, TextIO

from jostle.errors import ProcessSpoilt

if sys.platform != "win32":
    import fcntl
    import resource

    LIMITS = {
        name: getattr(resource, name)
        for name in ("RLIMIT_AS", "RLIMIT_DATA", "RLIMIT_FSIZE", "RLIMIT_NOFILE", "RLIMIT_NPROC", "RLIMIT_CPU")
        if hasattr(resource, name)
    }
    SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)
else:
    LIMITS = {}
    SIGNALS = (signal.SIGINT, signal.SIGTERM)
STREAMS = {"stdout": 1, "stderr": 2}  # of sys, and their descriptors
OUT_OF_THE_WAY = 512  # copies of descriptors have at least this number: models close those from 3 to 255

File = tuple[int, int]  # device and number of what a descriptor leads to

# Held while foreign code runs: until it is put back, the process may be without files or memory.
in_foreign_hands = threading.RLock()


@dataclass(frozen=True)
class ProcessState:
    """The working folder, streams, handlers of signals, alarm and limits of this process at one moment."""

    folder: str
    streams: dict[str, TextIO | None]
    files: dict[int, File | None]  # by descriptor
    handlers: dict[signal.Signals, Any]
    alarm: bool  # is set
    limits: dict[str, tuple[int, int]]

    @staticmethod
    def now() -> ProcessState:
        return ProcessState(
            folder=_folder(),
            streams={name: getattr(sys, name) for name in STREAMS},
            files={number: _file(number) for number in STREAMS.values()},
            handlers={number: signal.getsignal(number) for number in SIGNALS},
            alarm=_alarm_is_set(),
            limits={name: resource.getrlimit(number) for name, number in LIMITS.items()},
        )

    def restore(self) -> list[str]:
        """Puts everything back; what had changed, in words. ProcessSpoilt where that cannot be."""
        return [*self._restore_limits(), *self._restore_streams(), *self._restore_signals(), *self._restore_folder()]

    def _restore_limits(self) -> Iterator[str]:
        """First, because without files and memory nothing else can be done."""
        for name, before in self.limits.items():
            if any(map(_is_lower, resource.getrlimit(LIMITS[name]), before)):
                try:
                    resource.setrlimit(LIMITS[name], before)
                except (OSError, ValueError) as error:
                    raise ProcessSpoilt(f"the model lowered {name} of its process for good") from error
                yield f"the limit {name}"

    def _restore_streams(self) -> Iterator[str]:
        for name, number in STREAMS.items():
            before, led_to = self.streams[name], self.files[number]
            replaced, closed = getattr(sys, name) is not before, _is_closed(before)
            redirected = led_to is not None and _file(number) != led_to
            if redirected and not _lead_back(number):
                raise ProcessSpoilt(f"the model closed {name} of its process for good")
            if closed:
                before = io.TextIOWrapper(io.FileIO(number, "w", closefd=False), line_buffering=True)
            if replaced or closed:
                setattr(sys, name, before)
            if replaced or closed or redirected:
                yield name

    def _restore_signals(self) -> Iterator[str]:
        if not self.alarm and _alarm_is_set():
            signal.setitimer(signal.ITIMER_REAL, 0)
            yield "an alarm"
        if threading.current_thread() is not threading.main_thread():
            return
        for number, before in self.handlers.items():
            if before is not None and signal.getsignal(number) != before:
                signal.signal(number, before)
                yield f"the handler of {number.name}"

    def _restore_folder(self) -> Iterator[str]:
        if self.folder and _folder() != self.folder:
            try:
                os.chdir(self.folder)
            except OSError as error:
                raise ProcessSpoilt(f"the model removed the working folder {self.folder}") from error
            yield "the working folder"


def _is_lower(limit: int, before: int) -> bool:
    return limit != before and limit != resource.RLIM_INFINITY and (limit < before or before == resource.RLIM_INFINITY)


def keep_streams() -> None:
    """From now on, standard output and error can be had back once they were closed."""
    for number in STREAMS.values():
        _copy_of(number)


def _folder() -> str:
    with suppress(OSError):
        return os.getcwd()  # noqa: PTH109, this runs before and after every batch
    return ""


def _file(number: int) -> File | None:
    with suppress(OSError):
        found = os.fstat(number)
        return found.st_dev, found.st_ino
    return None


def _is_closed(stream: TextIO | None) -> bool:
    return stream is not None and bool(getattr(stream, "closed", False))


def _alarm_is_set() -> bool:
    return sys.platform != "win32" and signal.getitimer(signal.ITIMER_REAL)[0] > 0


@cache
def _copy_of(number: int) -> int | None:
    """A copy of a descriptor where models do not find it."""
    if sys.platform == "win32":
        return None
    with suppress(OSError):
        return fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, OUT_OF_THE_WAY)
    return None


def _lead_back(number: int) -> bool:
    copied = _copy_of(number)
    with suppress(OSError):
        if copied is not None:
            os.dup2(copied, number)
            return True
    return False
