"""What foreign code may change of the process that it runs in, seen before and put back after."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # whose getsignal does not name handlers, which takes long
import builtins
import errno
import io
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from types import ModuleType
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
    # What a timer sends when it runs out, and the timer.
    TIMERS = {
        signal.SIGALRM: signal.ITIMER_REAL,
        signal.SIGVTALRM: signal.ITIMER_VIRTUAL,
        signal.SIGPROF: signal.ITIMER_PROF,
    }
else:
    LIMITS = {}
    TIMERS = {}
SIGNALS = (signal.SIGINT, signal.SIGTERM, *TIMERS)
STREAMS = {"stdout": 1, "stderr": 2}  # of sys, and their descriptors
# What torch does where it is not told otherwise: how it is asked, and how it is set.
TORCH_DEFAULTS = {
    "torch's default dtype": ("get_default_dtype", "set_default_dtype"),
    "torch's grad mode": ("is_grad_enabled", "set_grad_enabled"),
    "torch's deterministic mode": ("get_deterministic_debug_mode", "set_deterministic_debug_mode"),
    "torch's number of threads": ("get_num_threads", "set_num_threads"),
}
IMPORTS = ("meta_path", "path_hooks", "path")
HOOKS = ((sys, "excepthook"), (sys, "unraisablehook"), (threading, "excepthook"))
STRICTEST = 0o077  # the umask while the process's own is asked for the first time
MODULES = ("sys", "numpy", "torch", "jostle")  # which cannot be imported anew; who takes one takes all
OPENING, A_MOMENT = 10_000, 0.001  # how often, and after how many seconds, it is looked whether a file is open by now
OUT_OF_THE_WAY = 512  # copies of descriptors have at least this number: models close those from 3 to 255

File = tuple[int, int]  # device and number of what a descriptor leads to

# Held while foreign code runs: until it is put back, the process may be without files or memory.
in_foreign_hands = threading.RLock()


class TimerRanOut(Exception):
    """Of a timer that the model set."""


@dataclass(frozen=True)
class TorchState:
    """What torch does in this process, and thread, where it is not told otherwise."""

    defaults: tuple[Any, ...]  # as in TORCH_DEFAULTS
    autocast: bool  # of what runs on the processor, as our own arithmetic does
    device: Any

    @staticmethod
    def now() -> TorchState | None:
        """None where torch is not imported."""
        torch = sys.modules.get("torch")
        if torch is None:
            return None
        # A fifth of the time that asking for the default device takes, which is looked at before and after every batch.
        defaults = tuple(getattr(torch, ask)() for ask, _ in TORCH_DEFAULTS.values())
        return TorchState(defaults, torch.is_autocast_enabled("cpu"), torch.empty(0).device)

    def restore(self) -> Iterator[str]:
        torch, now = sys.modules["torch"], TorchState.now()
        if now is None or now == self:
            return
        for (name, (_, put)), before, after in zip(TORCH_DEFAULTS.items(), self.defaults, now.defaults, strict=True):
            if before != after:
                getattr(torch, put)(before)
                yield name
        if now.autocast != self.autocast:
            torch.set_autocast_enabled("cpu", self.autocast)
            yield "torch's autocast"
        if now.device != self.device:
            torch.set_default_device(None if self.device.type == "cpu" else self.device)  # None costs nothing later
            if torch.empty(0).device != self.device:
                raise ProcessSpoilt("the model changed torch's default device for good")
            yield "torch's default device"


@dataclass(frozen=True)
class ProcessState:
    """Folder, streams, signal handlers, timers, limits, umask, builtins, modules, torch's defaults at one moment."""

    process: int
    builtins: dict[str, Any]
    modules: dict[str, ModuleType]
    module_table: dict[str, ModuleType]  # where Python itself keeps them
    folder: str
    streams: dict[str, TextIO | None]
    files: dict[int, File | None]  # by descriptor
    handlers: dict[signal.Signals, Any]
    timers: list[signal.Signals]  # that are set, by what they send
    limits: dict[str, tuple[int, int]]
    umask: int
    imports: dict[str, list[Any]]  # of sys, by which modules are found
    hooks: list[Any]  # that are called with what nobody catches, as in HOOKS
    torch: TorchState | None

    @staticmethod
    def now(with_torch: bool = True) -> ProcessState:
        return ProcessState(
            process=os.getpid(),
            builtins=builtins.__dict__.copy(),
            modules=sys.modules.copy(),
            module_table=sys.modules,
            folder=_folder(),
            streams={name: getattr(sys, name) for name in STREAMS},
            files={number: _file(number) for number in STREAMS.values()},
            handlers={number: _signal.getsignal(number) for number in SIGNALS},
            timers=_timers(),
            limits={name: resource.getrlimit(number) for name, number in LIMITS.items()},
            umask=_umask(),
            imports={name: [*getattr(sys, name)] for name in IMPORTS},
            hooks=[getattr(module, name) for module, name in HOOKS],
            torch=TorchState.now() if with_torch else None,
        )

    def restore(self) -> list[str]:
        """Puts everything back; what had changed, in words. ProcessSpoilt where that cannot be.

        A copy of the process, which foreign code forked, ends here: it must not go on as the campaign.
        """
        replaced = self._restore_builtins()  # first, because all else needs them
        if os.getpid() != self.process:
            os._exit(0)
        changed = dict.fromkeys(["Python's builtins"] if replaced else [])
        if self._restore_modules():
            changed["Python's modules"] = None
        while True:
            try:
                for what in self._restored():
                    changed[what] = None
                return list(changed)
            except TimerRanOut as timer:  # just now; it is stopped
                changed[f"the timer of {timer}"] = None

    def _restore_builtins(self) -> bool:
        """Whether any was replaced or removed; what was added stays."""
        now = builtins.__dict__
        for name, before in self.builtins.items():
            if name not in now or now[name] is not before:
                now.update(self.builtins)
                return True
        return False

    def _restore_modules(self) -> bool:
        """Whether what nobody can go on without was taken away; what a model takes away of its own stays away."""
        now = getattr(sys, "modules", None)
        if now is self.module_table and all(name in now for name in MODULES if name in self.modules):
            return False
        sys.modules = self.module_table
        sys.modules.update(self.modules)
        return True

    def _restored(self) -> Iterator[str]:
        yield from self._restore_timers()
        yield from self._restore_umask()
        yield from self._restore_limits()  # early, because without files and memory little else can be done
        yield from self._restore_streams()
        yield from self._restore_handlers()
        yield from self._restore_folder()
        yield from self._restore_imports()
        yield from self._restore_hooks()
        if self.torch is not None:
            yield from self.torch.restore()

    def _restore_timers(self) -> Iterator[str]:
        for number in _timers():
            if number not in self.timers:
                stop_timer(number)
                yield f"the timer of {number.name}"

    def _restore_umask(self) -> Iterator[str]:
        if os.umask(self.umask) != self.umask:
            yield "the umask"

    def _restore_limits(self) -> Iterator[str]:
        for name, before in self.limits.items():
            now = resource.getrlimit(LIMITS[name])
            if now != before and any(map(_is_lower, now, before)):
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
                gone, before = before, _stream_to(number)
                _have_logs_follow(gone, before)
            if replaced or closed:
                setattr(sys, name, before)
            if replaced or closed or redirected:
                yield name

    def _restore_handlers(self) -> Iterator[str]:
        if threading.current_thread() is not threading.main_thread():
            return
        for number, before in self.handlers.items():
            if before is not None and _signal.getsignal(number) != before:
                signal.signal(number, before)
                yield f"the handler of {number.name}"

    def _restore_folder(self) -> Iterator[str]:
        if self.folder and _folder() != self.folder:
            try:
                os.chdir(self.folder)
            except OSError as error:
                raise ProcessSpoilt(f"the model removed the working folder {self.folder}") from error
            yield "the working folder"

    def _restore_imports(self) -> Iterator[str]:
        """What was removed of them; what a model adds, such as the folder of its own modules, stays."""
        for name, before in self.imports.items():
            now = getattr(sys, name, None)
            kept = now if isinstance(now, list) else []
            missing = [(place, one) for place, one in enumerate(before) if one not in kept]
            for place, one in missing:
                kept.insert(place, one)
            if missing:
                setattr(sys, name, kept)
                yield f"sys.{name}"

    def _restore_hooks(self) -> Iterator[str]:
        """Those that nobody can call any more; another one than before is the model's affair."""
        for (module, name), before in zip(HOOKS, self.hooks, strict=True):
            if not callable(getattr(module, name, None)):
                setattr(module, name, before)
                yield f"{module.__name__}.{name}"


def _is_lower(limit: int, before: int) -> bool:
    return limit != resource.RLIM_INFINITY and (limit < before or before == resource.RLIM_INFINITY)


def keep_streams() -> None:
    """From now on, standard output and error can be had back once they were closed; those that never were lead nowhere.

    Their numbers would else go to the next files that are opened, and what is printed into those.
    """
    for name, number in STREAMS.items():
        if getattr(sys, name) is None:
            setattr(sys, name, _to_nowhere(number))
        _copy_of(number)


def _to_nowhere(number: int) -> TextIO:
    opened = os.open(os.devnull, os.O_WRONLY)
    if opened != number:
        os.dup2(opened, number)
        os.close(opened)
    return _stream_to(number)


def _have_logs_follow(gone: TextIO | None, stream: TextIO) -> None:
    """Libraries' logs keep the stream that they found when they were made."""
    for logger in (logging.root, *list(logging.root.manager.loggerDict.values())):
        for handler in getattr(logger, "handlers", ()):
            if isinstance(handler, logging.StreamHandler) and handler.stream is gone:
                handler.stream = stream  # setStream would flush what is closed


def _stream_to(number: int) -> TextIO:
    return io.TextIOWrapper(io.FileIO(number, "w", closefd=False), line_buffering=True)


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


def _timers() -> list[signal.Signals]:
    """Those that are set, by the signal that each will send."""
    return [number for number, timer in TIMERS.items() if signal.getitimer(timer)[0] > 0]


def stop_timer(number: int) -> None:
    """The one that sends this signal."""
    signal.setitimer(TIMERS[signal.Signals(number)], 0)


# The umask as it was found last. The system tells it only to whoever sets one, and files may be written meanwhile.
_known_umask = [STRICTEST]


def _umask() -> int:
    found = os.umask(_known_umask[0])
    if found != _known_umask[0]:
        os.umask(found)
        _known_umask[0] = found
    return found


@cache
def _copy_of(number: int) -> int | None:
    """A copy of a descriptor where models do not find it."""
    if sys.platform == "win32":
        return None
    with suppress(OSError):
        return fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, OUT_OF_THE_WAY)
    return None


def _lead_back(number: int) -> bool:
    """Whether a closed descriptor leads again to where it led."""
    copied = _copy_of(number)
    if copied is None:
        return False
    for _ in range(OPENING):
        try:
            os.dup2(copied, number)
        except OSError as error:
            if error.errno != errno.EBUSY:
                return False
            time.sleep(A_MOMENT)  # a thread is just opening a file that gets this number
        else:
            return True
    return False
