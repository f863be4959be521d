"""Seccomp: this process, and all that descend from it, give up system calls (Linux; x86-64 and ARM of 64 bits).

Sockets, but for pairs of them, lead to the network and to services of the machine. Rights, owners and times of files
are what Landlock lets everybody change. A refused call fails with EACCES, as if the file system refused it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from dataclasses import dataclass

from jostle.isolation.landlock import give_up_new_privileges

SECCOMP, FILTER, ALL_THREADS = {"x86_64": 317, "aarch64": 277}, 1, 1
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | errno.EACCES
NUMBER, ARCHITECTURE = 0, 4  # where in the kernel's record of a call they lie
LOAD, JUMP_IF_EQUAL, JUMP_IF_AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06  # instructions of the filter's machine
OTHER_NUMBERS = 0x40000000  # where x86-64 has the calls of another interface
SINCE_ALL_AGREE = (425, 452, 463, 466)  # io_uring_setup (makes sockets too), fchmodat2, setxattrat, removexattrat


@dataclass(frozen=True)
class Architecture:
    """How the kernel calls an architecture, and the numbers that it gives to what is refused."""

    audit: int
    refused: tuple[int, ...]


# socket; chmod, chown and utime in their forms; setxattr and removexattr in theirs.
ARCHITECTURES = {
    "x86_64": Architecture(
        0xC000003E, (41, 90, 91, 92, 93, 94, 260, 268, 132, 235, 261, 280, *range(188, 191), *range(197, 200))
    ),
    "aarch64": Architecture(0xC00000B7, (198, 52, 53, 54, 55, 88, *range(5, 8), *range(14, 17))),
}


class Program(ctypes.Structure):
    """A filter as the kernel takes it."""

    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def supported() -> bool:
    return sys.platform == "linux" and platform.machine() in ARCHITECTURES


def refuse_calls() -> None:
    """From now on no socket can be made, and no file's rights, owner or times changed; OSError if that cannot be."""
    refuse(ARCHITECTURES[platform.machine()])


def refuse(architecture: Architecture) -> None:
    """From now on all calls fail that are listed for this architecture, which is ours."""
    instructions = _filter(architecture)
    program = Program(len(instructions) // 8, instructions)
    give_up_new_privileges()
    library = ctypes.CDLL(None, use_errno=True)
    if library.syscall(SECCOMP[platform.machine()], FILTER, ALL_THREADS, ctypes.byref(program)):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _filter(architecture: Architecture) -> bytes:
    """Refuses what is listed, and everything that comes as if from another architecture."""
    refused = (*architecture.refused, *SINCE_ALL_AGREE)
    checks = [_jump(JUMP_IF_EQUAL, number, len(refused) - place) for place, number in enumerate(refused)]
    return b"".join(
        [
            _instruction(LOAD, ARCHITECTURE),
            struct.pack("HBBI", JUMP_IF_EQUAL, 1, 0, architecture.audit),
            _instruction(RETURN, REFUSE),
            _instruction(LOAD, NUMBER),
            _jump(JUMP_IF_AT_LEAST, OTHER_NUMBERS, len(refused) + 1),
            *checks,
            _instruction(RETURN, ALLOW),
            _instruction(RETURN, REFUSE),
        ]
    )


def _instruction(code: int, value: int) -> bytes:
    return struct.pack("HBBI", code, 0, 0, value)


def _jump(code: int, value: int, over: int) -> bytes:
    """Goes on behind so many instructions where it holds."""
    return struct.pack("HBBI", code, over, 0, value)
