"""What a table of a paper is here: cells that are measured alone and kept, and the section that is written of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from jostle.errors import UsageError

T = TypeVar("T")
Result = dict[str, Any]  # what a measurement came to, as JSON


@dataclass(frozen=True)
class Data:
    """Where the papers' networks and images are, None if nobody said, and whether budgets are tiny, to try a table."""

    folder: Path | None = None
    quick: bool = False

    def budget(self, full: int, quick: int) -> int:
        """What a run may take: the second in a run that only tries the tables."""
        return quick if self.quick else full

    def seeds(self, count: int, first: int = 0) -> range:
        """Seeds of randomness, two in a run that only tries the tables."""
        return range(first, first + self.budget(count, 2))

    def some(self, every: Iterable[T]) -> Sequence[T]:
        """All of these, or the first alone in a run that only tries what runs."""
        return list(every)[: 1 if self.quick else None]

    def lacks(self, *paths: str) -> str:
        """What of this is not in the data folder, and how to give it; empty if all is there."""
        if self.folder is None:
            return f"{', '.join(paths)} is in no data folder: make paper DATA=folder, whose files docs/paper.md names"
        gone = [path for path in paths if not (self.folder / path).exists()]
        return f"the data folder holds no {', '.join(gone)}: make paper DATA=a folder that does" if gone else ""


def data_of(named: str | None, quick: bool) -> Data:
    """The data folder that somebody named, which must be there."""
    folder = Path(named) if named else None
    if folder is not None and not folder.is_dir():
        raise UsageError(f"there is no data folder {folder}: give DATA=folder, or no DATA for the data that ship")
    return Data(folder, quick)


@dataclass(frozen=True)
class Cell:
    """One measurement, done alone in a process of its own with one thread: `measure(data, **settings)`.

    `measure` is a function of a module, because it travels to that process, and its settings are JSON, because a kept
    result counts as long as they, the table's version and the kind of data are the same.
    """

    name: str  # "lenet5/kmnc/seed3"
    cost: float  # seconds that it takes, roughly, for the time left
    measure: Callable[..., Result]
    settings: Mapping[str, Any] = field(default_factory=dict)
    missing: str = ""  # why it cannot be measured here, with the command that gets what is missing
    shared: str = ""  # where several tables are written of it: what it is kept under, in place of table and version


@dataclass(frozen=True)
class Section:
    """What the results of a table come to."""

    verdict: str  # one line: "Holds: …", "Holds in part: …", "Does not hold: …" or "Not reproduced, because …"
    body: str  # Markdown: budget, seeds, medians with their spread, tests
    pictures: Mapping[str, bytes] = field(default_factory=dict)  # by file name, which the body links as pictures/NAME


@dataclass(frozen=True)
class Table:
    """A table or figure of a paper: what it claims, what is measured, and how it is told."""

    name: str  # what `make paper ONLY=` takes
    title: str
    paper: str  # what the paper reports, one paragraph
    version: str  # changed whenever results that were kept before no longer count
    cells: Callable[[Data], Sequence[Cell]]
    section: Callable[[Mapping[str, Result]], Section]  # of the cells that were measured, which may be some only
