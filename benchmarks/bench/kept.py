"""What scripts measured, kept one file each, with where and when it was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import psutil

from bench.rows import Row
from jostle.storage.environment import environment
from jostle.storage.files import make_folder, read_json, write_json
from paper.provenance import origin_here

MEASURED = Path("benchmarks") / "measured"


@dataclass(frozen=True)
class Conditions:
    """Where and when something was measured."""

    command: str
    date: str  # of the day
    processor: str
    cores: int
    load: float  # processes that ran or waited over the minute before it began
    origin: str  # commit and versions

    @staticmethod
    def here(command: str) -> Conditions:
        machine = environment()
        day = datetime.now(UTC).date().isoformat()
        load = round(psutil.getloadavg()[0], 2)
        return Conditions(command, day, machine["processor"], machine["processors"], load, origin_here())

    def __str__(self) -> str:
        where = f"{self.processor}, {self.cores} cores, a load of {self.load:.1f} when it began"
        return f"`{self.command}`, {self.date}; {where}; {self.origin}"


@dataclass(frozen=True)
class Kept:
    """All that one run of a script measured."""

    conditions: Conditions
    minutes: float
    rows: tuple[Row, ...]


def keep(home: Path, name: str, kept: Kept) -> None:
    """Writes it whole, in place of what the same script measured before."""
    make_folder(home / MEASURED)
    write_json(_path(home, name), asdict(kept))


def read_kept(home: Path, name: str) -> Kept:
    told = read_json(_path(home, name))
    return Kept(Conditions(**told["conditions"]), told["minutes"], tuple(map(Row.from_json, told["rows"])))


def kept_names(home: Path) -> Sequence[str]:
    """The scripts of which anything is kept."""
    return sorted(path.stem for path in (home / MEASURED).glob("*.json"))


def _path(home: Path, name: str) -> Path:
    return home / MEASURED / f"{name}.json"
