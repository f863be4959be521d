"""A campaign's graphs on disk: a file for each, named after the number that stands for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from jostle.errors import OutputRefused
from jostle.storage.files import make_folder, write_whole
from jostle.untrusted.files import read_plain

LARGEST = 2**30  # bytes of one graph


class GraphFiles:
    """A folder of encoded graphs; a number is computed from its graph, so it shows whether the file is whole."""

    def __init__(self, folder: Path, number_of: Callable[[bytes], int]):
        self._folder, self._number_of = folder, number_of
        make_folder(folder)

    def write(self, number: int, encoded: bytes, synced: bool = False) -> None:
        path = self._path(number)
        if synced or not path.exists():
            write_whole(path, encoded, synced)

    def read(self, number: int) -> bytes:
        """The encoded graph; OutputRefused if its file is missing or damaged."""
        path = self._path(number)
        try:
            encoded = read_plain(path, LARGEST)
        except (OSError, ValueError) as error:
            raise OutputRefused(
                f"{path} is missing ({getattr(error, 'strerror', None) or error}): bring it back, or give another --out"
            ) from error
        if self._number_of(encoded) != number:
            raise OutputRefused(f"{path} is damaged: bring it back, or give another --out")
        return encoded

    def name(self, number: int) -> str:
        """Of the file."""
        return f"{number:016x}.json"

    def _path(self, number: int) -> Path:
        return self._folder / self.name(number)
