"""Room on disk for what a process needs while it runs, and nobody after it."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable
from contextlib import suppress
from io import FileIO
from pathlib import Path

from jostle.errors import ProcessSpoilt, WriteFailed
from jostle.storage.files import nameless, write_at

SPOILT = "the file with the older entries of the corpus was closed or cut while the model ran"


class ScratchFile:
    """A file without a name, which the system removes with the process, however that ends.

    It is read and never mapped: whoever cut a file that is mapped would end the process.
    """

    def __init__(self, folder: Path):
        self._folder, self._file = folder, nameless(folder)
        self.size = 0  # bytes that were appended
        self._identity = self._seen()[:2]
        self.close = weakref.finalize(self, _close, self._file)

    def append(self, content: memoryview) -> None:
        """Adds bytes at the end, all or none that will ever be read."""
        self._check()
        write_at(self._file, self.size, content, self._folder)
        self.size += content.nbytes

    def read(self, parts: Iterable[tuple[int, memoryview]]) -> None:
        """Fills each room with the bytes from a position on."""
        self._check()
        for position, room in parts:
            try:
                self._file.seek(position)
                self._fill(room)
            except OSError as error:
                raise WriteFailed(f"cannot read back what was put on the disk of {self._folder}: {error}") from error

    def _fill(self, room: memoryview) -> None:
        """From where the file stands; one call of the system reads no more than 2 GB."""
        while room:
            got = self._file.readinto(room)
            if not got:
                raise ProcessSpoilt(SPOILT)
            room = room[got:]

    def _check(self) -> None:
        """A model in this process may have closed the descriptor, and opened another file under its number."""
        *identity, size = self._seen()
        if tuple(identity) != self._identity or size < self.size:
            raise ProcessSpoilt(SPOILT)

    def _seen(self) -> tuple[int, int, int]:
        """What the descriptor leads to: device, number and size."""
        try:
            seen = os.fstat(self._file.fileno())
        except OSError as error:
            raise ProcessSpoilt(SPOILT) from error
        return seen.st_dev, seen.st_ino, seen.st_size


def _close(file: FileIO) -> None:
    with suppress(OSError):  # a model may have closed it already
        file.close()
