"""What a model must not be able to do in a sandbox, and models that try all of it and answer how much they could do."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import torch
from torch import Tensor, nn

FLAGS_OF, SET_FLAGS = 0x80086601, 0x40086602  # FS_IOC_GETFLAGS, FS_IOC_SETFLAGS
PLACE = (
    "JOSTLE_CANARIES"  # in the environment: a folder that is not the model's, with a file, services and a port in it
)


@contextmanager
def reachable(folder: Path) -> Iterator[None]:
    """Puts into a folder what canaries reach for, and says in the environment where it is."""
    (folder / "precious").write_text("keep this")
    with closing(socket.socket()) as tcp, closing(socket.socket(socket.AF_UNIX)) as unix:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        unix.bind(str(folder / "service"))
        unix.listen()
        (folder / "port").write_text(str(tcp.getsockname()[1]))
        before = os.environ.get(PLACE)
        os.environ[PLACE] = str(folder)
        try:
            yield
        finally:
            if before is None:
                del os.environ[PLACE]


def _place(name: str) -> Path:
    return Path(os.environ[PLACE]) / name


def _port() -> tuple[str, int]:
    return "127.0.0.1", int(_place("port").read_text())


def _connect(family: socket.AddressFamily, address: object) -> None:
    with closing(socket.socket(family)) as one:
        one.settimeout(5)
        one.connect(address)


def _send() -> None:
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as one:
        one.sendto(b"a secret", _port())


def _append() -> None:
    with _place("precious").open("a") as file:
        file.write("!")


def _set_attributes() -> None:
    """Those that it has; a file system that knows of none was at least asked."""
    with _place("precious").open("rb") as file:
        flags = bytearray(8)
        with suppress(OSError):
            fcntl.ioctl(file, FLAGS_OF, flags)
        try:
            fcntl.ioctl(file, SET_FLAGS, bytes(flags))
        except OSError as error:
            if error.errno == errno.EACCES:
                raise


CANARIES: dict[str, Callable[[], object]] = {
    "make a file": lambda: _place("made").write_text("here"),
    "write to a file": _append,
    "cut a file off": lambda: os.truncate(_place("precious"), 100),
    "make a folder": lambda: _place(f"folder-{uuid4().hex}").mkdir(),
    "make a link": lambda: _place(f"link-{uuid4().hex}").symlink_to("precious"),
    "rename a file": lambda: _place("precious").rename(_place("precious")),
    "change rights": lambda: _place("precious").chmod(0o644),
    "change times": lambda: os.utime(_place("precious")),
    "connect by TCP": lambda: _connect(socket.AF_INET, _port()),
    "send by UDP": _send,
    "connect to a service": lambda: _connect(socket.AF_UNIX, str(_place("service"))),
    "signal the parent": lambda: os.kill(os.getppid(), signal.SIGCONT),
    "limit the parent": lambda: resource.prlimit(os.getppid(), resource.RLIMIT_CORE, (0, 0)),
    "slow the parent down": lambda: os.setpriority(os.PRIO_PROCESS, os.getppid(), os.getpriority(os.PRIO_PROCESS, 0)),
    "keep a file from being changed": _set_attributes,
    "signal through a child": lambda: _in_child(f"kill -CONT {os.getppid()}"),
    "write through a child": lambda: _in_child(f"echo here > {_place('by-child')}"),
}


def _in_child(command: str) -> None:
    if os.system(f"({command}) 2>/dev/null"):
        raise OSError("the child failed")


def could_do() -> list[str]:
    """What of all this works here."""
    done = []
    for name, canary in CANARIES.items():
        try:
            canary()
        except OSError:
            continue
        done.append(name)
    return done


class Canary(nn.Module):
    """Answers how much it could do."""

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs * 0 + len(could_do())


class Trying(nn.Module):
    """Tries all of it, and gives what it is given."""

    def forward(self, inputs: Tensor) -> Tensor:
        could_do()
        return inputs


def canary() -> nn.Module:
    return Canary()


def main() -> None:
    """With an argument, in a sandbox whose scratch folder that is; prints what works."""
    if sys.argv[1:]:
        from jostle.isolation.sandbox import enter

        enter(Path(sys.argv[1]))
    sys.stdout.write("".join(f"{name}\n" for name in could_do()))


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
