"""Graphs that numbers stand for, one file each, named after their content."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from jostle.errors import OutputRefused
from jostle.storage.files import make_folder, write_whole


class GraphFiles:
    """A folder of graphs as JSON text, by number; a number tells whether its text is whole."""

    def __init__(self, folder: Path, number_of: Callable[[bytes], int]):
        self._folder, self._number_of = folder, number_of
        make_folder(folder)

    def write(self, number: int, text: bytes, synced: bool = False) -> None:
        path = self._path(number)
        if synced or not path.exists():
            write_whole(path, text, synced)

    def read(self, number: int) -> bytes:
        path = self._path(number)
        try:
            text = path.read_bytes()
        except OSError as error:
            raise OutputRefused(
                f"{path} is missing ({error.strerror}): bring it back, or give another --out"
            ) from error
        if self._number_of(text) != number:
            raise OutputRefused(f"{path} is damaged: bring it back, or give another --out")
        return text

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:016x}.json"
