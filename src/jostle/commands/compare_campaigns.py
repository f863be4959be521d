"""Campaigns of one model side by side: grouped by what differs in their settings, with the random seed as repeats.

Folders are read only: no model is loaded, and nothing is executed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from jostle.campaign import STEPS_BEFORE_GROWTH
from jostle.commands.run_statistics import RankTest, Spread, ranked
from jostle.commands.triage import triaged
from jostle.digests import LENGTH
from jostle.errors import OutputRefused, UsageError
from jostle.options.resources import FIRST_BATCH, LARGEST_STEP
from jostle.report.curves import SHARES
from jostle.step_records import COUNTED_CORPUS
from jostle.storage.campaign_folder import campaign_in
from jostle.storage.campaign_record import CampaignRecord
from jostle.storage.finding_record import InputType
from jostle.storage.journal import JOURNAL, read_journal
from jostle.storage.overview import is_at_work
from jostle.storage.status import read_status

REPEATED = "seed"  # the option in which repeats differ
# Options that name what digests compare, and what leaves the search as it is: which coverage is told, and minimising.
ELSEWHERE = ("model", "weights", "seeds", "count_coverage", "minimise")
FIRST_NAMED = ("recipe", "coverage", "scheduler", "mutator", "oracle")  # of all options that may tell groups apart
BUDGETS = ("executions", "budget", "findings")
DEFECTS, FAILED = FOUND = ("distinct defects", "failing tests")
FEW_GROUPS = 3  # of which each pair is compared; of more, each with the first


@dataclass(frozen=True)
class CampaignRun:
    """One campaign: what it was run with, and what came of it."""

    folder: Path
    record: CampaignRecord
    figures: Mapping[str, float]  # by name
    at_work: bool

    @property
    def seed(self) -> object:
        return self.record.settings.get(REPEATED)

    def settings(self) -> dict[str, Any]:
        """Those that may tell it from a repeat of another group."""
        return {name: value for name, value in self.record.settings.items() if name not in (REPEATED, *ELSEWHERE)}


@dataclass(frozen=True)
class RunGroup:
    """Campaigns that differ in nothing but their random seed."""

    name: str
    settings: Mapping[str, Any]  # in which groups differ
    runs: tuple[CampaignRun, ...]

    def values(self, figure: str) -> list[float]:
        return [run.figures[figure] for run in self.runs if figure in run.figures]

    def spread(self, figure: str) -> Spread | None:
        """None of a figure that this group did not measure."""
        return Spread.of(values) if (values := self.values(figure)) else None


@dataclass(frozen=True)
class PairOfGroups:
    """One figure of two groups, tested."""

    figure: str
    one: str
    other: str
    test: RankTest


@dataclass(frozen=True)
class GroupsCompared:
    """All that is told of several campaigns."""

    groups: tuple[RunGroup, ...]
    figures: tuple[str, ...]
    pairs: tuple[PairOfGroups, ...]
    warnings: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        groups = [
            {
                "name": group.name,
                "settings": dict(group.settings),
                "runs": [{"folder": str(run.folder), "seed": run.seed, **run.figures} for run in group.runs],
                "figures": {name: asdict(spread) for name in self.figures if (spread := group.spread(name))},
            }
            for group in self.groups
        ]
        pairs = [
            {
                "figure": pair.figure,
                "one": pair.one,
                "other": pair.other,
                **asdict(pair.test),
                "verdict": pair.test.verdict,
            }
            for pair in self.pairs
        ]
        return {"groups": groups, "comparisons": pairs, "warnings": list(self.warnings)}


def compare_campaigns(folders: Sequence[Path]) -> GroupsCompared:
    """Groups campaigns by what differs in their settings, and compares the groups by Mann-Whitney's test."""
    _refuse_twice(folders)
    runs = [_run(folder) for folder in folders]
    for run in runs[1:]:
        _refuse_incomparable(runs[0], run)
    groups = _grouped(runs)
    figures = _figures(runs)
    return GroupsCompared(groups, figures, tuple(_pairs(groups, figures)), tuple(_warnings(runs)))


def _figures(runs: Sequence[CampaignRun]) -> tuple[str, ...]:
    """All that any run measured, coverage before what it led to."""
    names = dict.fromkeys(name for run in runs for name in run.figures)
    return (*(name for name in names if name not in FOUND), *FOUND)


def _refuse_twice(folders: Sequence[Path]) -> None:
    if len(folders) < 2:
        raise UsageError("one campaign cannot be compared: give the folders of several, or jostle status for one")
    known: set[Path] = set()
    for folder in folders:
        if folder.resolve() in known:
            raise UsageError(f"{folder} is given twice: name each campaign once")
        known.add(folder.resolve())


def _run(folder: Path) -> CampaignRun:
    record = campaign_in(folder)
    if record.input_type is not InputType.ARRAY:
        raise UsageError(f"{folder} is a campaign over frameworks: compare campaigns over one model")
    journal = read_journal(folder / JOURNAL)
    if journal.damaged or not journal.lines:
        state = "is damaged" if journal.damaged else "has no steps yet"
        raise OutputRefused(f"the journal in {folder} {state}: let the jostle fuzz command that wrote it go on")
    mutants = journal.lines[1:]  # the first step runs the seeds
    figures = {
        "executions": float(journal.lines[-1].executions),
        **_covered(folder, record),
        DEFECTS: float(len(triaged(folder).defects)),
        FAILED: float(sum(line.failed for line in mutants)),
    }
    return CampaignRun(folder, record, figures, is_at_work(folder))


def _covered(folder: Path, record: CampaignRecord) -> dict[str, float]:
    """Of each criterion the share that is covered, or all that it tells where that is no share."""
    told = read_status(folder).coverage or {}
    inputs = record.settings.get("count_coverage") or COUNTED_CORPUS
    of = "" if inputs == COUNTED_CORPUS else f" ({inputs})"
    shares = {name: [figure for figure in figures if figure in SHARES] for name, figures in told.items()}
    return {
        f"{name}{of}: {figure}": float(value)
        for name, figures in told.items()
        for figure, value in figures.items()
        if figure in (shares[name] or figures)
    }


def _refuse_incomparable(first: CampaignRun, other: CampaignRun) -> None:
    ours, theirs = first.record, other.record
    both = f"{first.folder} and {other.folder}"
    if ours.digest[:LENGTH] != theirs.digest[:LENGTH]:
        raise UsageError(f"{both} began from different seeds: compare campaigns that begin from the same")
    if ours.digest[LENGTH : 2 * LENGTH] != theirs.digest[LENGTH : 2 * LENGTH]:
        raise UsageError(f"{both} are of different models: compare campaigns of one (other models: jostle evaluate)")
    for name in BUDGETS:
        budget = [record.all_settings.get(name) for record in (ours, theirs)]
        if budget[0] != budget[1]:
            one, another = ("none" if value is None else value for value in budget)
            raise UsageError(f"{both} have different budgets (--{name} {one} and {another}): run both with the same")


def _grouped(runs: Sequence[CampaignRun]) -> tuple[RunGroup, ...]:
    """In the order in which they were given."""
    names = dict.fromkeys(name for run in runs for name in run.settings())
    differing = [name for name in names if len({repr(run.settings().get(name)) for run in runs}) > 1]
    members: dict[str, list[CampaignRun]] = {}
    for run in runs:
        members.setdefault(repr([run.settings().get(name) for name in differing]), []).append(run)
    for repeats in members.values():
        _refuse_repeated_seed(repeats)
    settings = [{name: some[0].settings().get(name) for name in differing} for some in members.values()]
    called = _names(settings)
    return tuple(map(RunGroup, called, settings, map(tuple, members.values())))


def _refuse_repeated_seed(repeats: Sequence[CampaignRun]) -> None:
    by_seed: dict[object, CampaignRun] = {}
    for run in repeats:
        if run.seed in by_seed:
            raise UsageError(
                f"{by_seed[run.seed].folder} and {run.folder} are one campaign run twice, which tells nothing more: "
                f"give each repeat a --seed of its own"
            )
        by_seed[run.seed] = run


def _names(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Each group by the values of as few options as tell them all apart, parts before their options."""
    options = sorted(settings[0], key=lambda name: FIRST_NAMED.index(name) if name in FIRST_NAMED else len(FIRST_NAMED))
    chosen: list[str] = []
    for option in options:
        known = len({_name(group, chosen) for group in settings})
        if known == len(settings):
            break
        if len({_name(group, [*chosen, option]) for group in settings}) > known:
            chosen.append(option)
    return [_name(group, chosen) or "all" for group in settings]


def _name(settings: Mapping[str, Any], options: Sequence[str]) -> str:
    return ", ".join(f"{name} {_text(settings[name])}" for name in options)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "+".join(map(str, value)) or "none"
    return "none" if value is None else str(value)


def _pairs(groups: Sequence[RunGroup], figures: Sequence[str]) -> Iterator[PairOfGroups]:
    """Each two of few groups, else the first with each other; where both measured a figure."""
    few = len(groups) <= FEW_GROUPS
    pairs = list(combinations(groups, 2)) if few else [(groups[0], group) for group in groups[1:]]
    for figure in figures:
        for one, other in pairs:
            ours, theirs = one.values(figure), other.values(figure)
            if ours and theirs and figure != "executions":
                yield PairOfGroups(figure, one.name, other.name, ranked(ours, theirs))


def _warnings(runs: Sequence[CampaignRun]) -> Iterator[str]:
    for run in runs:
        if run.at_work:
            yield f"{run.folder} is still running: its figures are those of now"
    executed = sorted(runs, key=lambda run: run.figures["executions"])
    least, most = executed[0], executed[-1]
    counts = [int(run.figures["executions"]) for run in (least, most)]
    if counts[1] - counts[0] > max(_largest_step(run) for run in runs):
        yield (
            f"{least.folder} ran {counts[0]:,} inputs and {most.folder} {counts[1]:,}: more inputs find more, whatever "
            f"the settings; give both the same --executions"
        )


def _largest_step(run: CampaignRun) -> int:
    """Inputs, by which campaigns of one budget may differ."""
    batch = run.record.settings.get("batch") or 0
    grown = min(LARGEST_STEP, int(run.figures["executions"]) // STEPS_BEFORE_GROWTH)
    return max(FIRST_BATCH, grown) if isinstance(batch, str) else int(batch)
