"""What must be true of a stranger's file before a library opens it; ValueError says what is not."""

from __future__ import annotations

import json
import os
import re
import stat
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from jostle.errors import ModelRefused

HEADER_LIMIT = 100 * 2**20  # bytes, the limit of safetensors too
LARGEST = 2**32  # bytes of any other file
VALUE_LIMIT = 4_000_000  # in JSON, each of up to a hundred bytes in memory
# Neither follow a link nor wait for a pipe that took the place of a file since it was looked at; not on Windows.
WARY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
TENSOR_LIMIT = 100_000
MEMBER_LIMIT = 100_000
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
    if path.is_dir():
        raise ValueError("it is a folder")
    if not path.exists():
        raise ValueError("it does not exist")
    if not path.is_file():
        raise ValueError("it is not a regular file but a pipe, socket or device")
    if not path.stat().st_size:
        raise ValueError("it is empty; make it again, or get it again")


def read_bounded(path: Path, limit: int) -> bytes:
    """The content of a regular file of at most so many bytes."""
    check_regular(path)
    if path.stat().st_size > limit:
        raise ValueError(f"it is larger than {limit} bytes")
    return path.read_bytes()


def check_plain(path: Path, limit: int = LARGEST) -> None:
    """A file of at most so many bytes, and no link to one, which could lead anywhere; OSError where there is none."""
    seen = path.lstat()
    if not stat.S_ISREG(seen.st_mode):
        raise ValueError("it is a link, a folder, a pipe or a device: put a copy of the file there")
    if seen.st_size > limit:
        raise ValueError(f"it is larger than {limit} bytes")


def opened_plain(path: Path, limit: int = LARGEST) -> BinaryIO:
    """Such a file, opened to be read."""
    check_plain(path, limit)
    return open(path, "rb", opener=_warily)


def _warily(path: str, flags: int) -> int:
    return os.open(path, flags | WARY)


def read_plain(path: Path, limit: int = LARGEST) -> bytes:
    """The content of such a file."""
    with opened_plain(path, limit) as file:
        return file.read(limit)


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


def check_safetensors(path: Path) -> None:
    """Its header is small and every tensor lies inside the file; safetensors itself checks that they fit together."""
    check_regular(path)
    rest = path.stat().st_size - 8
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > min(HEADER_LIMIT, max(rest, 0)):
            raise ValueError(f"its header claims {length} bytes, and may have {min(HEADER_LIMIT, max(rest, 0))}")
        header = parsed(file.read(length))
    if not isinstance(header, dict) or len(header) > TENSOR_LIMIT:
        raise ValueError(f"its header is no list of up to {TENSOR_LIMIT} tensors")
    for name, tensor in header.items():
        if name != "__metadata__" and not _inside(tensor, rest - length):
            raise ValueError(f"its tensor {name[:100]!r} does not lie inside the file; get it again")


def _inside(tensor: Any, size: int) -> bool:
    match tensor:
        case {"dtype": str(), "shape": [*shape], "data_offsets": [int() as start, int() as end]}:
            return all(isinstance(n, int) and n >= 0 for n in shape) and 0 <= start <= end <= size
    return False


def check_values(content: bytes) -> None:
    """JSON without more values than fit into memory."""
    if sum(map(content.count, (b",", b":", b"[", b"{"))) > VALUE_LIMIT:
        raise ValueError(f"its JSON holds more than {VALUE_LIMIT} values")


def parsed(content: bytes) -> Any:
    """JSON in UTF-8 that fits into memory once Python has read it."""
    check_values(content)
    try:
        return json.loads(content.decode())
    except RecursionError as error:
        raise ValueError("its JSON is nested too deeply") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"its JSON is damaged ({error}); get it again") from error


def check_unpacked(members: list[zipfile.ZipInfo], limit: int) -> None:
    """A zip's members say that they unpack to no more than this many bytes; zipfile stops reading where they lie."""
    if len(members) > MEMBER_LIMIT:
        raise ValueError(f"it has {len(members)} members, more than {MEMBER_LIMIT}")
    size = sum(member.file_size for member in members)
    if size > limit:
        raise ValueError(f"it unpacks to {size} bytes, more than {limit}")


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
