"""status.json: what a campaign has done so far, and the only place where times are written."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jostle.step_records import COUNTED_INPUTS, Summary
from jostle.storage.files import read_json, write_json

STATUS = "status.json"


@dataclass(frozen=True)
class Statistics:
    """What status.json says; a figure that it does not say, or that nobody can work with, is None."""

    content: Mapping[str, Any]  # all of it

    @property
    def seconds(self) -> float | None:
        return self._number("seconds")

    @property
    def executions_per_second(self) -> float | None:
        return self._number("executions_per_second")

    @property
    def corpus(self) -> int | None:
        entries = self.content.get("corpus")
        return entries if isinstance(entries, int) else None

    @property
    def coverage(self) -> Mapping[str, Mapping[str, float]] | None:
        """Figures by criterion."""
        coverage = self.content.get("coverage")
        if not isinstance(coverage, dict) or not all(isinstance(figures, dict) for figures in coverage.values()):
            return None
        numbers = [_finite(figure) for figures in coverage.values() for figure in figures.values()]
        return None if None in numbers else coverage

    @property
    def counted(self) -> str | None:
        """Which inputs those figures count, one of COUNTED_INPUTS."""
        counted = self.content.get("coverage_counts")
        return counted if isinstance(counted, str) and counted in COUNTED_INPUTS else None

    @property
    def written(self) -> datetime | None:
        try:
            moment = datetime.fromisoformat(str(self.content.get("written")))
        except ValueError:
            return None
        return moment if moment.tzinfo is not None else None

    def _number(self, name: str) -> float | None:
        return _finite(self.content.get(name))


def _finite(value: object) -> float | None:
    try:
        number = float(value) if isinstance(value, int | float) else math.nan
    except OverflowError:  # JSON's integers have no bound
        return None
    return number if math.isfinite(number) else None


def write_status(folder: Path, summary: Summary, synced: bool) -> None:
    written = datetime.now(UTC).isoformat(timespec="milliseconds")
    write_json(folder / STATUS, {**summary.as_json(), "written": written}, synced)


def read_status(folder: Path) -> Statistics:
    """What was last written; nothing if that cannot be read, which costs no more than these figures."""
    try:
        content = read_json(folder / STATUS)
    except (OSError, ValueError):
        return Statistics({})
    return Statistics(content if isinstance(content, dict) else {})


def seconds_spent(folder: Path) -> float:
    """Time spent so far as last written."""
    return max(0.0, read_status(folder).seconds or 0.0)
