"""Writing files so that they are whole or not there; every write of ours goes through here."""

from __future__ import annotations

import errno
import json
import math
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import wraps
from io import FileIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO, ParamSpec, TypeVar

from jostle.errors import IN_THE_WAY, NO_ROOM, OutputRefused, WriteFailed
from jostle.process_state import STREAMS, in_foreign_hands
from jostle.untrusted.files import AT_ONCE, HEADER_LIMIT, NO_LINKS, read_plain
from jostle.untrusted.json_text import parsed_json

OF_THE_DISK = {*NO_ROOM, errno.EIO}  # nobody asked for the wrong thing
# By limits of the process, which a model in it can lower, and with descriptors, which it can close.
TAKEN_AWAY = {errno.EMFILE, errno.EFBIG, errno.ENOMEM, errno.EBADF}
READ_AND_WRITE = 0o666  # by all whom the user's umask does not keep out, as open() has it
OWNER_ALONE = 0o600
Opener = Callable[[str, int], int]
Given = ParamSpec("Given")
Result = TypeVar("Result")


def write_all(folder: Path, files: Mapping[str, bytes]) -> int:
    """Writes files of one folder, one after another, each whole and synced; the folder is synced once, in the end."""
    written = sum(_written(folder / name, content, synced=True) for name, content in files.items())
    with _as_write_failed(folder):
        _sync(folder)
    return written


def write_private(path: Path, content: bytes) -> int:
    """Writes a file whole, as `write_whole` does, that only its owner reads."""
    return _written(path, content, synced=False, opener=_for_owner_alone)


def write_whole(path: Path, content: bytes, synced: bool = False) -> int:
    """Writes beside the file and renames: whoever reads, whenever the process dies, sees the old or the new content.

    Synced, the content also survives a power failure, which costs milliseconds. Returns how many bytes it wrote.
    """
    written = _written(path, content, synced)
    if synced:
        with _as_write_failed(path):
            _sync(path.parent)
    return written


def _once_more(write: Callable[Given, Result]) -> Callable[Given, Result]:
    """Tries again what was kept from being written by what a model may do to the process, when none runs.

    For what leaves nothing behind when it fails. Writing goes on beside a model that runs in this process.
    """

    @wraps(write)
    def persistent(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        try:
            return write(*args, **kwargs)
        except OSError as error:
            if error.errno not in TAKEN_AWAY:
                raise
            with in_foreign_hands:
                return write(*args, **kwargs)

    return persistent


def _written(path: Path, content: bytes, synced: bool, opener: Opener | None = None) -> int:
    """The same but for the folder, which is not synced."""
    with _as_write_failed(path):
        _replace(path, content, synced, opener or _not_through_links)
    return len(content)


@_once_more
def _replace(path: Path, content: bytes, synced: bool, opener: Opener) -> None:
    beside = temporary(path)
    try:
        with _opened_anew(beside, opener) as file:
            put(file, content)
            file.flush()
            if synced:
                os.fsync(file.fileno())
        beside.replace(path)
    except OSError:
        with suppress(OSError):
            beside.unlink()
        raise


def write_plain(path: Path, content: bytes) -> int:
    """Writes a file that may be left half written, because it can be told and there is another copy."""
    with _as_write_failed(path):
        _overwrite(path, content)
    return len(content)


@_once_more
def _overwrite(path: Path, content: bytes) -> None:
    with open(path, "wb", buffering=0, opener=_not_through_links) as file:
        put(file, content)


def _opened_anew(path: Path, opener: Opener) -> BinaryIO:
    """A file of our own to write: what another process left there, or a link that a stranger put there, goes first."""
    try:
        return open(path, "xb", opener=opener)
    except FileExistsError:
        path.unlink()
        return open(path, "xb", opener=opener)


def _not_through_links(path: str, flags: int) -> int:
    return _open(path, flags | NO_LINKS | AT_ONCE, READ_AND_WRITE)


def _for_owner_alone(path: str, flags: int) -> int:
    return _open(path, flags | NO_LINKS, OWNER_ALONE)


def _open(path: Path | str, flags: int, mode: int = 0) -> int:
    """As the system opens, but never for long under the number of a stream that a model just closed.

    When the model has run, the stream is put back under its number, over our file.
    """
    descriptor = os.open(path, flags, mode)
    if descriptor in STREAMS.values():
        with in_foreign_hands:
            if not os.path.samestat(os.fstat(descriptor), Path(path).stat()):
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    return descriptor


def temporary(path: Path) -> Path:
    """Where a file is written before it takes its name."""
    return path.with_name(f".{path.name}.tmp")


def write_json(path: Path, value: Any, synced: bool = True) -> int:
    return write_whole(path, as_json(value), synced)


def as_json(value: Any) -> bytes:
    """JSON that every parser reads."""
    return (json.dumps(portable(value), indent=2, allow_nan=False) + "\n").encode()


def portable(value: Any) -> Any:
    """The value as JSON gives it back: NaN and infinities become their names."""
    if isinstance(value, dict):
        return {name: portable(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [portable(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def read_growing(path: Path, way_on: str) -> bytes:
    """What stands so far in a file that grows, nothing where there is none; what is no file is refused."""
    try:
        return read_plain(path)
    except FileNotFoundError:
        return b""
    except ValueError as error:
        raise OutputRefused(f"{path} cannot be read ({error}): move it away, or {way_on}") from error


def read_json(path: Path) -> Any:
    """What a file says that lies there itself; ValueError if it is a link, or no JSON."""
    return parsed_json(read_plain(path, HEADER_LIMIT))


class Appended:
    """A file that only grows; an append that fails leaves it as it was."""

    def __init__(self, path: Path):
        self._path = path
        with _as_write_failed(path):
            self._file = open(path, "ab", buffering=0, opener=_not_through_links)  # noqa: SIM115
            self._opened = os.fstat(self._file.fileno())
            _sync(path.parent)  # else a power failure could take the file with all that was synced into it

    def append(self, content: bytes, synced: bool = False) -> int:
        with _as_write_failed(self._path):
            self._append(content, synced)
        return len(content)

    @_once_more
    def _append(self, content: bytes, synced: bool) -> None:
        before = os.fstat(self._file.fileno())
        if not os.path.samestat(before, self._opened):  # its descriptor was closed, and leads to another file by now
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        try:
            put(self._file, content)
            if synced:
                os.fsync(self._file.fileno())
        except OSError:
            with suppress(OSError):
                self._file.truncate(before.st_size)
            raise

    def clear(self) -> None:
        with _as_write_failed(self._path):
            self._file.truncate(0)

    def close(self) -> None:
        with suppress(OSError):  # a model may have closed it already
            self._file.close()


def nameless(folder: Path) -> FileIO:
    """A file on the folder's disk to write and to read, which the system removes when it is closed or we are killed."""
    with _as_write_failed(folder):
        # Where the system cannot make one without a name, it has one for a moment, by which it is cleaned up.
        return TemporaryFile(buffering=0, prefix=".corpus-", suffix=".scratch.tmp", dir=folder)


def write_at(file: FileIO, position: int, content: memoryview, place: Path) -> None:
    """Writes into an open file, which may be left with less; the place is what a failure names."""
    with _as_write_failed(place):
        _put_at(file, position, content)


@_once_more
def _put_at(file: FileIO, position: int, content: memoryview) -> None:
    file.seek(position)
    put(file, content)


def put(file: BinaryIO, content: bytes | memoryview) -> None:
    """The one place where bytes leave for the disk."""
    left = memoryview(content)
    while left:
        left = left[file.write(left) :]


def make_folder(folder: Path) -> None:
    with _as_write_failed(folder):
        folder.mkdir(parents=True, exist_ok=True)


def move(path: Path, to: Path) -> None:
    with _as_write_failed(to):
        to.parent.mkdir(exist_ok=True)
        path.replace(to)


def remove(path: Path) -> None:
    """Removes a file, or a folder with all that is in it; nothing need be there."""
    with _as_write_failed(path):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def refuse_link(place: Path) -> None:
    """Refuses a link in place of a folder: whoever made it chose what is written and removed behind it."""
    if place.is_symlink():
        raise OutputRefused(f"{place} is a link, behind which nothing is written or removed: remove the link")


def cut(path: Path, size: int) -> None:
    """Shortens a file in place, also while someone has it open to append to it."""
    with _as_write_failed(path):
        os.truncate(path, size)


def sync_folders(folders: Iterable[Path]) -> None:
    """Makes what stands in these folders, and each folder's own place, survive a power failure."""
    there = [folder for folder in folders if folder.is_dir()]  # somebody may have moved one away meanwhile
    for folder in there:
        with _as_write_failed(folder):
            files = [path for path in folder.iterdir() if path.is_file() and not path.is_symlink()]
            for path in [*files, folder]:
                _sync(path)
    for parent in sorted({folder.parent for folder in there}):
        with _as_write_failed(parent):
            _sync(parent)


@_once_more
def _sync(path: Path) -> None:
    if os.name == "nt" and path.is_dir():
        return  # Windows opens no folders, and keeps their entries safe by itself
    descriptor = _open(path, os.O_RDONLY | AT_ONCE)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _as_write_failed(path: Path) -> Iterator[None]:
    """What the system refuses becomes one error of ours, which says what to do."""
    try:
        yield
    except OSError as error:
        raise WriteFailed.at(path, error) from error


@contextmanager
def usable(folder: Path) -> Iterator[None]:
    """Refuses a campaign's folder that cannot be opened, unless the disk is to blame: then a write failed."""
    try:
        yield
    except (OSError, WriteFailed) as failure:
        error = failure if isinstance(failure, OSError) else failure.__cause__
        if isinstance(error, OSError) and error.errno in OF_THE_DISK:
            raise (failure if isinstance(failure, WriteFailed) else WriteFailed.at(folder, error)) from error
        raise OutputRefused(f"cannot use the output folder {folder}: {error}; {_refusal(error)}") from error


def _refusal(error: BaseException | None) -> str:
    blocked = isinstance(error, OSError) and error.errno in IN_THE_WAY
    return "that is in the way: move it, or give another --out" if blocked else "give another --out"
