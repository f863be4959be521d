"""What must be true of a stranger's file before a library opens it; ValueError says what is not."""

from __future__ import annotations

import os
import re
import stat
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from jostle.errors import ModelRefused

HEADER_LIMIT = 100 * 2**20  # bytes, the limit of safetensors too
LARGEST = 2**32  # bytes of any other file
LARGEST_MODEL = 2**42  # bytes of a model or of seeds, which are mapped or read in parts
NO_FILE = "it is not a regular file but a pipe, socket or device"
# Not to wait for a pipe, and not to follow a link, that took a file's place since it was looked at; not on Windows.
AT_ONCE, NO_LINKS = getattr(os, "O_NONBLOCK", 0), getattr(os, "O_NOFOLLOW", 0)
MEMBER_LIMIT = 100_000
BOMB = "check where it comes from, or save it again"  # what to do about an archive that holds too much
NAME_LIMIT = 200  # characters, fewer than any file system takes
# What no file name needs, and what a library may read as something else: a drive, a pattern, an address in memory.
ODD_IN_NAMES = re.compile(r"[\x00-\x1f\x7f\\*?:<>|\"]")


@contextmanager
def refusing(path: Path) -> Iterator[None]:
    """What a check says of a model file becomes its refusal."""
    try:
        yield
    except ValueError as error:
        raise ModelRefused(f"{path} cannot be loaded: {error}") from error


def check_regular(path: Path) -> None:
    """A file with content; anything else may block whoever opens it, or never end."""
    try:
        mode, size = path.stat().st_mode, path.stat().st_size
    except OSError as error:
        raise ValueError(_unreachable(error)) from error
    if stat.S_ISDIR(mode):
        raise ValueError("it is a folder")
    if not stat.S_ISREG(mode):
        raise ValueError(NO_FILE)
    if not size:
        raise ValueError("it is empty; make it again, or get it again")


def _unreachable(error: OSError) -> str:
    missing = isinstance(error, FileNotFoundError | NotADirectoryError)
    return "it does not exist" if missing else f"it cannot be reached ({error.strerror})"


def opened_bounded(path: Path, limit: int = LARGEST) -> BufferedReader:
    """A regular file with content that a user names, by a link perhaps, and of at most so many bytes, to be read."""
    check_regular(path)
    return opened_regular(path, limit)


def opened_regular(path: Path, limit: int = LARGEST) -> BufferedReader:
    """The same of a file that may be empty; OSError where there is none."""
    _check_seen(path.stat(), limit)  # before it is opened, which alone makes some devices do something
    return _opened(path, limit, AT_ONCE)


def read_bounded(path: Path, limit: int) -> bytes:
    """The content of such a file."""
    with opened_bounded(path, limit) as file:
        return _content(file)


def check_plain(path: Path, limit: int = LARGEST) -> None:
    """A file of at most so many bytes, and no link to one, which could lead anywhere; OSError where there is none."""
    _check_seen(path.lstat(), limit)


def opened_plain(path: Path, limit: int = LARGEST) -> BufferedReader:
    """Such a file, opened to be read."""
    check_plain(path, limit)
    return _opened(path, limit, AT_ONCE | NO_LINKS)


def read_plain(path: Path, limit: int = LARGEST) -> bytes:
    """The content of such a file."""
    with opened_plain(path, limit) as file:
        return _content(file)


def name_of_opened(file: BinaryIO, path: Path) -> str:
    """By which a library that opens files itself gets the very one that was checked, as long as it is held open.

    That is so on Linux; elsewhere it is the file's own name.
    """
    held = f"/proc/self/fd/{file.fileno()}"
    return held if Path(held).exists() else str(path)


def _opened(path: Path, limit: int, flags: int) -> BufferedReader:
    """Opened, and looked at once more: what lies there may be another file than a moment ago."""
    file = open(  # noqa: SIM115
        path, "rb", opener=lambda name, mode: os.open(name, mode | flags)
    )
    try:
        _check_seen(os.fstat(file.fileno()), limit)
    except ValueError:
        file.close()
        raise
    return file


def _check_seen(seen: os.stat_result, limit: int) -> None:
    if stat.S_ISLNK(seen.st_mode) or stat.S_ISDIR(seen.st_mode):
        raise ValueError("it is a link or a folder: put a copy of the file there")
    if not stat.S_ISREG(seen.st_mode):
        raise ValueError(NO_FILE)
    if seen.st_size > limit:
        raise ValueError(f"it is larger than {limit} bytes")


def _content(file: BinaryIO) -> bytes:
    """All that it holds now; it may be growing."""
    return file.read(os.fstat(file.fileno()).st_size)


def inside(folder: Path, name: str) -> Path:
    """Where a name that a file gives leads to: below the folder that the file is in, and through no link."""
    parts = PurePosixPath(name).parts
    if not parts or len(name) > NAME_LIMIT or ODD_IN_NAMES.search(name) or name.startswith("/") or ".." in parts:
        raise ValueError(f"it names the file {name[:100]!r}, which is no name inside its folder: put it there")
    steps = [folder.joinpath(*parts[: depth + 1]) for depth in range(len(parts))]
    if any(step.is_symlink() for step in steps):
        raise ValueError(f"it names the file {name[:100]!r}, which is a link or lies behind one: put a copy there")
    return steps[-1]


def named_file(folder: Path, name: str) -> Path:
    """A regular file inside the folder that has no other name, by which it could be one that lies elsewhere."""
    try:
        path = inside(folder, name)
        check_regular(path)
        links = path.stat().st_nlink
    except OSError as error:
        raise ValueError(f"it names the file {name[:100]!r}: {error.strerror}") from error
    if links > 1:
        raise ValueError(f"it names the file {name[:100]!r}, which has other names too (hard links): put a copy there")
    return path


def check_unpacked(members: list[zipfile.ZipInfo], limit: int) -> None:
    """A zip's members say that they unpack to no more than this many bytes; zipfile stops reading where they lie."""
    if len(members) > MEMBER_LIMIT:
        raise ValueError(f"it has {len(members)} members, more than {MEMBER_LIMIT}: {BOMB}")
    size = sum(member.file_size for member in members)
    if size > limit:
        raise ValueError(f"it unpacks to {size} bytes, more than {limit}: {BOMB}")


def stored_members(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """Members of an archive of this many bytes by their names below its one root, none packed, as torch writes it."""
    infos = archive.infolist()
    root = infos[0].filename.partition("/")[0] + "/" if infos else ""
    members = {info.filename.removeprefix(root): info for info in infos if info.filename.startswith(root)}
    if len(members) != len(infos):
        raise ValueError("its members share a name or have different roots")
    for name, info in members.items():
        if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
            raise ValueError(f"its member {name[:100]!r} is compressed, which torch never does")
    check_unpacked(infos, size)
    return members
