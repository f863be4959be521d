"""What a stranger may put in the place of a file, and a command that may not outlast it."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 120  # seconds for one command, on a slow and busy machine: what hangs, hangs for ever
MEMORY = 1_500_000  # kilobytes that a command may take


def _socket(path: Path) -> None:
    before = Path.cwd()
    os.chdir(path.parent)  # the names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(before)


def _sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 2**40)


def _holding(content: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(content)


ODD_FILES: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "zeros": lambda path: path.symlink_to("/dev/zero"),
    "full": lambda path: path.symlink_to("/dev/full"),
    "folder": Path.mkdir,
    "socket": _socket,
    "link": lambda path: path.symlink_to("/etc/passwd"),
    "loop": lambda path: path.symlink_to(path),
    "empty": Path.touch,
    "terabyte": _sparse,
    "deep": _holding(b"[" * 100_000),
    "nested": _holding(b'{"a":' * 500 + b"1" + b"}" * 500),
    "digits": _holding(b'{"step": ' + b"9" * 5000 + b"}"),
    "great": _holding(b'{"step": ' + b"9" * 300 + b"}"),
    "infinite": _holding(b'{"step": 1e999, "kept": NaN}'),
}


@dataclass(frozen=True)
class Outcome:
    """How something ended in a process of its own."""

    said: object  # what it returned, None if it never did
    hung: bool
    kilobytes: int  # of memory, at most
    seconds: float  # of the processor, with those of processes that it started and waited for


def apart(work: Callable[[], object]) -> Outcome:
    """Runs something in a copy of this process, which is killed if it does not end; it returns what JSON can hold."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if not child:
        try:
            os.write(writing, json.dumps(work()).encode()[:60_000])
        finally:
            os._exit(0)
    os.close(writing)
    hung = not select.select([reading], [], [], PATIENCE)[0]
    if hung:
        os.kill(child, signal.SIGKILL)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    _, _, used = os.wait4(child, 0)
    return Outcome(json.loads(said) if said else None, hung, used.ru_maxrss, used.ru_utime + used.ru_stime)
