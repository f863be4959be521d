"""Landlock: this process, and all that descend from it, give up writing files and sending signals (Linux 5.13).

It needs no privileges and cannot be undone. Constants are those of linux/landlock.h.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # system calls, the same on every architecture
VERSION, PATH_BENEATH = 1, 1
NO_NEW_PRIVILEGES = 38  # of prctl
WRITE_FILE, TRUNCATE = 1 << 1, 1 << 14
# Rights by the version that knows them: writing, removing and making (but for files and folders these are rights of a
# folder), moving between folders, cutting off.
WRITING = {1: sum(1 << bit for bit in (1, 4, 5, 6, 7, 8, 9, 10, 11, 12)), 2: 1 << 13, 3: TRUNCATE}
OF_FILES = WRITE_FILE | TRUNCATE
SIGNALS_SCOPED = 6  # the version that keeps signals among those that gave up the same
ABSTRACT_SOCKETS, SIGNALS = 1, 2  # scopes


class RulesetAttributes(ctypes.Structure):
    """What shall be denied where no rule allows it."""

    _fields_ = [("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class PathBeneath(ctypes.Structure):
    """A rule that allows rights in a folder and all below it."""

    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def version() -> int:
    """What the kernel knows of it, 0 where it has none."""
    if sys.platform != "linux":
        return 0
    return max(0, int(_library().syscall(CREATE_RULESET, None, 0, VERSION)))


def restrict(writable: Iterable[Path]) -> None:
    """From now on only these files, and what lies in these folders, can be written; OSError if that cannot be."""
    known = version()
    rights = sum(right for since, right in WRITING.items() if since <= known)
    scoped = ABSTRACT_SOCKETS | SIGNALS if known >= SIGNALS_SCOPED else 0
    attributes = RulesetAttributes(rights, 0, scoped)
    size = ctypes.sizeof(attributes) if scoped else ctypes.sizeof(ctypes.c_uint64)  # older kernels know one field
    ruleset = _called(CREATE_RULESET, ctypes.byref(attributes), size, 0)
    try:
        for path in writable:
            with suppress(FileNotFoundError):
                _allow(ruleset, path, rights)
        give_up_new_privileges()
        _called(RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def give_up_new_privileges() -> None:
    """No program that is started from now on has more rights than this one, which the kernel asks for first."""
    if _library().prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        raise _error()


def _allow(ruleset: int, path: Path, rights: int) -> None:
    opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = PathBeneath(rights if path.is_dir() else rights & OF_FILES, opened)
        _called(ADD_RULE, ruleset, PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(opened)


def _called(number: int, *arguments: object) -> int:
    result = int(_library().syscall(number, *arguments))
    if result < 0:
        raise _error()
    return result


def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _error() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))
