"""coverage.jsonl: how far each criterion was covered after how many executions, for whoever draws it.

It is no part of the journal, because a campaign that goes on may cover a unit more or less than one never interrupted.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jostle.step_records import Summary
from jostle.storage.files import Appended
from jostle.untrusted.files import read_plain
from jostle.untrusted.json_text import parsed_json

COVERAGE = "coverage.jsonl"
GROWTH = 1.01  # executions from one point to the next, which bounds the file: 1,400 points in a billion executions


@dataclass(frozen=True)
class CoveragePoint:
    """What was covered at one moment."""

    executions: int
    coverage: Mapping[str, Mapping[str, float]]  # figures by criterion


class CoverageHistory:
    """Appends a point whenever executions have grown enough; the last one always."""

    def __init__(self, folder: Path):
        known = read_coverage(folder)
        self._last = known[-1].executions if known else -1
        self._file = Appended(folder / COVERAGE)
        self._next = 0.0  # executions

    def add(self, summary: Summary, last: bool = False) -> int:
        """Tells how many bytes that took."""
        if summary.executions == self._last or (not last and summary.executions < self._next):
            return 0
        self._last = summary.executions
        self._next = max(summary.executions * GROWTH, summary.executions + 1)
        return self._file.append(encode_point(CoveragePoint(summary.executions, summary.coverage)))

    def close(self) -> None:
        self._file.close()


def encode_point(point: CoveragePoint) -> bytes:
    coverage = {name: dict(figures) for name, figures in point.coverage.items()}
    return (json.dumps({"executions": point.executions, "coverage": coverage}) + "\n").encode()


def read_coverage(folder: Path) -> list[CoveragePoint]:
    """The points in order; what cannot be read is left out, and what was done again counts as it was last."""
    try:
        lines = read_plain(folder / COVERAGE).splitlines()
    except (OSError, ValueError):
        return []
    points: list[CoveragePoint] = []
    for point in filter(None, map(_point, lines)):
        while points and points[-1].executions >= point.executions:
            points.pop()
        points.append(point)
    return points


def _point(line: bytes) -> CoveragePoint | None:
    """What a line says, None if that is no point."""
    try:
        content = parsed_json(line)
        coverage = {
            str(name): {str(figure): _finite(value) for figure, value in figures.items()}
            for name, figures in content["coverage"].items()
        }
        return CoveragePoint(int(content["executions"]), coverage)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        return None


def _finite(value: Any) -> float:
    if not math.isfinite(value):
        raise ValueError("not finite")
    return float(value)
