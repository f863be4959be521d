"""How a campaign went on: figures over executions, read from its journal and its coverage history."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from jostle.report.contents import Curve
from jostle.storage.coverage_history import CoveragePoint
from jostle.storage.journal import JournalLine

MOST_POINTS = 600  # of one curve on the page
SHARES = ("covered", "share")  # figures between 0 and 1


def growth_curves(lines: Sequence[JournalLine]) -> list[Curve]:
    """Corpus and findings so far."""
    executions = [line.executions for line in lines]
    figures = {
        "inputs kept": list(accumulate(line.kept for line in lines)),
        "findings": list(accumulate(len(line.findings) for line in lines)),
    }
    return [_curve(name, executions, values) for name, values in figures.items() if executions]


def coverage_curves(points: Sequence[CoveragePoint]) -> list[Curve]:
    """A curve for every figure of every criterion that changed; one that never did is no curve."""
    by_name: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for point in points:
        for criterion, figures in point.coverage.items():
            for figure, value in figures.items():
                by_name.setdefault((criterion, figure), []).append((point.executions, value))
    curves: list[Curve] = []
    for (criterion, figure), seen in by_name.items():
        executions, values = ([one[side] for one in seen] for side in (0, 1))
        if len(set(values)) > 1:
            share = figure in SHARES and max(values) <= 1
            curves.append(_curve(f"{criterion}: {figure}", [int(one) for one in executions], values, share))
    return curves


def _curve(name: str, executions: Sequence[int], values: Sequence[float], share: bool = False) -> Curve:
    """As many points as a screen shows, the last among them."""
    step = -(-len(executions) // MOST_POINTS)
    places = sorted({*range(0, len(executions), step), len(executions) - 1})
    return Curve(name, tuple(executions[i] for i in places), tuple(values[i] for i in places), share)
