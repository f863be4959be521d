"""Functions of a batch that misbehave where the first value of a row exceeds 0.9, each in its own way."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor

MARK = "jostle-surviving-grandchild"  # in the command line of processes that must not survive
Deed = Callable[[], object]


def segfault() -> None:
    ctypes.string_at(0)


def abort() -> None:
    os.abort()


def exit_0() -> None:
    os._exit(0)


def system_exit() -> None:
    raise SystemExit(0)


def hang() -> None:
    """Ignores the polite ways to be ended."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(60)


def spin() -> None:
    while True:
        pass


def stop() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def memory_at_once() -> None:
    torch.ones(2**31)


def memory_in_steps() -> None:
    kept = []
    while True:
        kept.append(torch.ones(2**24))


def recursion() -> None:
    recursion()


def native_recursion() -> None:
    """Of C functions, which no recursion limit of Python's ends."""
    sys.setrecursionlimit(10**9)
    nested: list[object] = []
    for _ in range(10**5):
        nested = [nested]
    repr(nested)


def flood() -> None:
    for _ in range(2000):
        sys.stdout.write("x" * 100_000)
    os.abort()


def closed() -> None:
    """Closes every descriptor, also the one it should answer on, and goes on."""
    os.closerange(0, 256)
    time.sleep(60)


def grandchild() -> None:
    """Leaves behind a process in a session of its own, which holds the descriptors open."""
    script = f"import time; time.sleep(600)  # {MARK}"
    subprocess.Popen([sys.executable, "-c", script], start_new_session=True, close_fds=False)
    os._exit(3)


def one_byte() -> None:
    """Begins an answer on every descriptor it has, and never ends it."""
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, b"{")
        except OSError:
            continue
    time.sleep(60)


def exception() -> None:
    raise RuntimeError("no such digit")


# What each does, and how its finding says that.
DEEDS: dict[str, tuple[Deed, str]] = {
    "segfault": (segfault, "crash:SIGSEGV:"),
    "abort": (abort, "crash:SIGABRT:"),
    "exit_0": (exit_0, "crash:Exit 0:"),
    "system_exit": (system_exit, "crash:SystemExit:"),
    "hang": (hang, "crash:Hang:"),
    "spin": (spin, "crash:Hang:"),
    "stop": (stop, "crash:Hang:"),
    "memory_at_once": (memory_at_once, "crash:MemoryLimit:"),
    "memory_in_steps": (memory_in_steps, "crash:MemoryLimit:"),
    "recursion": (recursion, "crash:RecursionError:"),
    "native_recursion": (native_recursion, "crash:SIGSEGV:"),
    "flood": (flood, "crash:SIGABRT:"),
    "closed": (closed, "crash:Disconnected:"),
    "grandchild": (grandchild, "crash:Exit 3:"),
    "one_byte": (one_byte, "crash:Hang:"),
    "exception": (exception, "crash:RuntimeError:"),
    "nan": (lambda: torch.nan, "nan:"),
}


def _model(deed: Deed) -> Callable[[Tensor], Tensor]:
    def model(inputs: Tensor) -> Tensor:
        scores = inputs * 2
        guilty = inputs[:, 0] > 0.9
        if guilty.any():
            returned = deed()
            scores[guilty] = returned if isinstance(returned, float) else 0.0
        return scores

    return model


globals().update({f"{name}_model": _model(deed) for name, (deed, _) in DEEDS.items()})
