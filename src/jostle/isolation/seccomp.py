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
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16  # where in the kernel's record of a call they lie
ARGUMENT_BYTES = 8  # of which the lower four stand first
INSTRUCTION = 8  # bytes
LOAD, JUMP_IF_EQUAL, JUMP_IF_AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06  # instructions of the filter's machine
OTHER_NUMBERS = 0x40000000  # where x86-64 has the calls of another interface
SINCE_ALL_AGREE = (425, 452, 463, 466)  # io_uring_setup (makes sockets too), fchmodat2, setxattrat, removexattrat


@dataclass(frozen=True)
class Architecture:
    """How the kernel calls an architecture, and the numbers that it gives to what is refused."""

    audit: int
    refused: tuple[int, ...]
    limits: int  # of processes, this one or another: prlimit64
    priorities: int  # the same: setpriority
    controls: int  # ioctl


# Attributes of files, such as that nobody may change them: FS_IOC_SETFLAGS of 64 and 32 bits, FS_IOC_FSSETXATTR.
ATTRIBUTES = (0x40086602, 0x40046602, 0x401C5820)
# socket; chmod, chown and utime in their forms; setxattr and removexattr in theirs.
ARCHITECTURES = {
    "x86_64": Architecture(
        0xC000003E,
        (41, 90, 91, 92, 93, 94, 260, 268, 132, 235, 261, 280, *range(188, 191), *range(197, 200)),
        302,
        141,
        16,
    ),
    "aarch64": Architecture(0xC00000B7, (198, 52, 53, 54, 55, 88, *range(5, 8), *range(14, 17)), 261, 140, 29),
}


class Program(ctypes.Structure):
    """A filter as the kernel takes it."""

    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def supported() -> bool:
    return sys.platform == "linux" and platform.machine() in ARCHITECTURES


def refuse_calls() -> None:
    """From now on no socket can be made, no file's rights, owner, times or attributes changed, and no other process be
    given limits or a priority; OSError if that cannot be."""
    refuse(ARCHITECTURES[platform.machine()])


def refuse(architecture: Architecture) -> None:
    """From now on all calls fail that are listed for this architecture, which is ours."""
    instructions = _filter(architecture)
    program = Program(len(instructions) // INSTRUCTION, instructions)
    give_up_new_privileges()
    library = ctypes.CDLL(None, use_errno=True)
    if library.syscall(SECCOMP[platform.machine()], FILTER, ALL_THREADS, ctypes.byref(program)):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _filter(architecture: Architecture) -> bytes:
    """Refuses what is listed, and everything that comes as if from another architecture."""
    refused = (*architecture.refused, *SINCE_ALL_AGREE)
    by_argument = b"".join(
        [
            _only(architecture.limits, 0, (0,)),  # 0 is this process
            _only(architecture.priorities, 1, (0,)),
            _none_of(architecture.controls, 1, ATTRIBUTES),
        ]
    )
    after = len(by_argument) // INSTRUCTION
    checks = [_jump(JUMP_IF_EQUAL, number, after + len(refused) - place) for place, number in enumerate(refused)]
    return b"".join(
        [
            _instruction(LOAD, ARCHITECTURE),
            struct.pack("HBBI", JUMP_IF_EQUAL, 1, 0, architecture.audit),
            _instruction(RETURN, REFUSE),
            _instruction(LOAD, NUMBER),
            _jump(JUMP_IF_AT_LEAST, OTHER_NUMBERS, after + len(refused) + 1),
            *checks,
            by_argument,
            _instruction(RETURN, ALLOW),
            _instruction(RETURN, REFUSE),
        ]
    )


def _only(number: int, argument: int, values: tuple[int, ...]) -> bytes:
    """Allows this call with these values of an argument, and refuses it with others."""
    return _by_argument(number, argument, values, otherwise=REFUSE, then=ALLOW)


def _none_of(number: int, argument: int, values: tuple[int, ...]) -> bytes:
    """Refuses this call with these values of an argument, and allows it with others."""
    return _by_argument(number, argument, values, otherwise=ALLOW, then=REFUSE)


def _by_argument(number: int, argument: int, values: tuple[int, ...], otherwise: int, then: int) -> bytes:
    """Decides about a call by the lower half of an argument; other calls go on behind it."""
    checks = [_jump(JUMP_IF_EQUAL, value, len(values) - place) for place, value in enumerate(values)]
    decision = b"".join(
        [
            _instruction(LOAD, ARGUMENTS + ARGUMENT_BYTES * argument),
            *checks,
            _instruction(RETURN, otherwise),
            _instruction(RETURN, then),
        ]
    )
    return struct.pack("HBBI", JUMP_IF_EQUAL, 0, len(decision) // INSTRUCTION, number) + decision


def _instruction(code: int, value: int) -> bytes:
    return struct.pack("HBBI", code, 0, 0, value)


def _jump(code: int, value: int, over: int) -> bytes:
    """Goes on behind so many instructions where it holds."""
    return struct.pack("HBBI", code, over, 0, value)
