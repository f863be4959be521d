"""Guided search against unguided search for the first finding of a campaign, told with its tests."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from jostle import Campaign
from paper.sample_statistics import fisher, mann_whitney, spread

GUIDED, UNGUIDED = "guided", "unguided"
First = int | None  # executions until the first finding, None if the budget ran out first


def first_finding(campaign: Campaign) -> First:
    """Executions until a campaign that ends at its first finding has it, None if its budget ran out first."""
    summary = campaign.run()
    return summary.executions if summary.findings else None


def found(runs: Sequence[First]) -> int:
    return sum(count is not None for count in runs)


def row(name: str, runs: Sequence[First]) -> str:
    """A row of a table: how many runs found it, and after how many executions."""
    hits = [count for count in runs if count is not None]
    return f"| {name} | {len(hits)} of {len(runs)} | {spread(hits, ',.0f')} | {_median(runs)} |"


WHOLE_BATCHES = "Executions count whole batches."
ONLY_THE_START = (
    "Unguided search changes the start alone and keeps nothing. A walk that keeps mutants by chance was not measured:"
    " what is shown is what keeping mutants by novelty does, not how much of that is due to novelty."
)
HEAD = "| | runs that found it | executions, where found | median of all runs |\n|---|---|---|---|"


def tests(guided: Sequence[First], unguided: Sequence[First]) -> str:
    """Whether guidance finds more often, and sooner; a run that found nothing counts as later than all others."""
    sooner = mann_whitney(_ranked(unguided), _ranked(guided))
    oftener = fisher(found(guided), len(guided), found(unguided), len(unguided))
    return f"More runs find it: {oftener}; sooner, in executions unguided above guided: {sooner}."


def sooner_by_guidance(guided: Sequence[First], unguided: Sequence[First]) -> bool:
    """Guided runs find it earlier, and not by chance."""
    return mann_whitney(_ranked(unguided), _ranked(guided)).above


def _ranked(runs: Sequence[First]) -> list[float]:
    return [float("inf") if count is None else count for count in runs]


def _median(runs: Sequence[First]) -> str:
    middle = median(_ranked(runs))
    return "not found" if middle == float("inf") else f"{middle:,.0f}"
