"""Figures over several seeds, as text."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from jostle.commands.run_statistics import Spread


def spread(values: Sequence[float], form: str = ",.0f") -> str:
    """Median, smallest and largest, and how many values these are."""
    if not values:
        return "none"
    told = Spread.of(values)
    ends = f"{told.smallest:{form}} to {told.largest:{form}}"
    return f"median {told.median:{form}} ({ends}, n={len(values)})"


def executions_to_first(found: Sequence[int | None]) -> str:
    """How many runs found something, and after how many executions; a run without a finding counts as infinite."""
    counts = sorted(float("inf") if count is None else count for count in found)
    hits = [count for count in found if count is not None]
    return (
        f"{len(hits)} of {len(found)} found, first after median {median(counts):,.0f} executions; found: {spread(hits)}"
    )
