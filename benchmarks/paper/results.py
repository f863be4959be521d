"""Results of cells, kept one file each, so that a run that was killed goes on and nothing is measured twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from json import dumps
from pathlib import Path

from jostle.storage.files import make_folder, read_json, write_json, write_whole
from paper.table import Cell, Data, Result, Table


@dataclass(frozen=True)
class Kept:
    """A result with what it depends on and where it came from."""

    digest: str
    origin: str  # commit and versions
    seconds: float
    result: Result


class Results:
    """The results of a run of `make paper`, in a folder: TABLE/CELL.json, of shared cells SHARED/CELL.json."""

    def __init__(self, folder: Path, data: Data):
        self._folder, self._data = folder, data

    def keep(self, table: Table, cell: Cell, result: Result, seconds: float, origin: str) -> None:
        """Writes the result whole or not at all."""
        path = self._path(table, cell)
        make_folder(path.parent)
        write_json(path, asdict(Kept(digest_of(table, cell, self._data), origin, seconds, result)))

    def keep_trace(self, table: Table, cell: Cell, trace: str) -> str:
        """Writes down why a cell failed, for whoever mends it, and returns where; empty if nothing is known."""
        if not trace:
            return ""
        path = self._path(table, cell).with_suffix(".failed.txt")
        make_folder(path.parent)
        write_whole(path, trace.encode())
        return str(path)

    def kept(self, table: Table, cells: Sequence[Cell]) -> dict[str, Kept]:
        """What is there of these cells by name, but for what was measured under other settings, or is damaged."""
        there = {cell.name: self._read(table, cell) for cell in cells}
        return {name: kept for name, kept in there.items() if kept is not None}

    def _read(self, table: Table, cell: Cell) -> Kept | None:
        try:
            kept = Kept(**read_json(self._path(table, cell)))
        except (OSError, ValueError, TypeError):
            return None
        return kept if kept.digest == digest_of(table, cell, self._data) else None

    def _path(self, table: Table, cell: Cell) -> Path:
        return self._folder / (cell.shared or table.name) / f"{cell.name.replace('/', '.')}.json"


def digest_of(table: Table, cell: Cell, data: Data) -> str:
    """What a result depends on besides the code: another digest, and the cell is measured again."""
    settings: Mapping[str, object] = cell.settings
    kind = {"published": data.folder is not None, "quick": data.quick}
    owner = [cell.shared] if cell.shared else [table.name, table.version]
    text = dumps([*owner, cell.name, dict(settings), kind], sort_keys=True)
    return sha256(text.encode()).hexdigest()
