"""DeepHunter's Table 7 (RQ4): tests that the network answers otherwise once a share of its weights is in 16 bit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean, median

from paper.deephunter_published import CRITERIA, DEFECTS, NAMES
from paper.hunt_cells import (
    LENETS,
    QUANTISED,
    budgets_told,
    hunt_cells,
    measured_subjects,
    results_of,
    seeds_cells,
    twin_cells,
)
from paper.markdown import markdown_table
from paper.other_instances import SHARES
from paper.sample_statistics import spread
from paper.table import Cell, Data, Result, Section, Table

Defects = Mapping[tuple[str, str, str], Sequence[float]]  # by subject, share and criterion, for each seed of randomness


def _cells(data: Data) -> Sequence[Cell]:
    return [*hunt_cells(data, QUANTISED, CRITERIA), *seeds_cells(data), *twin_cells(data)]


def _section(results: Mapping[str, Result]) -> Section:
    found, hunted, seeds = defects(results), hunted_defects(results), on_seeds(results)
    parts = (budgets_told(results), _rows(found), _on_seeds(seeds, results), _hunted(results, hunted))
    return Section(verdict(found, hunted, seeds), "\n\n".join(filter(None, parts)))


def defects(results: Mapping[str, Result]) -> Defects:
    """Tests kept or failing that are answered otherwise, averaged over the draws of weights."""
    found = {}
    for subject in measured_subjects(results, CRITERIA, QUANTISED):
        for share in SHARES:
            for criterion in CRITERIA:
                runs = [run["otherwise"] for run in results_of(results, subject, criterion)]
                if runs:
                    found[subject, share, criterion] = [
                        mean(run["kept"][share]) + mean(run["failing"][share]) for run in runs
                    ]
    return found


def hunted_defects(results: Mapping[str, Result]) -> dict[tuple[str, str], list[int]]:
    """By subject and share, executions on which the network and itself quantised answer otherwise."""
    found: dict[tuple[str, str], list[int]] = {}
    for subject in LENETS:
        for run in results_of(results, subject, "twins"):
            for share in SHARES:
                found.setdefault((subject, share), []).append(run["disagreements"][share])
    return found


def on_seeds(results: Mapping[str, Result]) -> dict[str, float]:
    """By subject, the most that any network in 16 bit answers otherwise of the seeds themselves."""
    runs = {subject: results_of(results, subject, "seeds") for subject in QUANTISED}
    return {
        subject: max(count for run in some for counts in run["otherwise"].values() for count in counts)
        for subject, some in runs.items()
        if some
    }


def verdict(found: Defects, hunted: Mapping[tuple[str, str], Sequence[int]], seeds: Mapping[str, float]) -> str:
    """RQ4: tests find defects of 16 bit in all cases, seeds in none."""
    shown = sum(median(counts) > 0 for counts in found.values())
    ever = sum(max(counts) > 0 for counts in found.values())
    clean = bool(seeds) and not any(seeds.values())
    said = f"tests show defects in the median in {shown} of {len(found)} cases, in some run in {ever}"
    said += "; seeds show none" if clean else "; **seeds show some too**" if seeds else "; seeds were not measured"
    if hunted:
        looking = sum(median(counts) > 0 for counts in hunted.values())
        said += f"; campaigns that look at every execution show some in {looking} of {len(hunted)} cases"
    if shown == len(found) and clean:
        return f"Holds: {said}."
    if ever or any(max(counts) for counts in hunted.values()):
        return f"Holds in part: {said}."
    return f"Not reproduced, because defects of 16 bit are rarer than one in so many executions: {said}."


def _rows(found: Defects) -> str:
    rows = []
    for subject in QUANTISED:
        for place, share in enumerate(SHARES):
            cases = {criterion: found.get((subject, share, criterion)) for criterion in CRITERIA}
            if any(cases.values()):
                rows.append(
                    [NAMES[subject], share, *(_told(subject, name, place, some) for name, some in cases.items())]
                )
    header = ("model", "in 16 bit", *(criterion.upper() for criterion in CRITERIA))
    note = (
        "Tests, kept and failing, that the network answers otherwise once so many of its weights are rounded to 16"
        " bit, mean of five draws of the weights; and the paper's number after 24 hours. VGG-8 is not there, "
        "because its weights ship in 16 bit."
    )
    return f"{markdown_table(header, rows)}\n\n{note}"


def _told(subject: str, criterion: str, place: int, counts: Sequence[float] | None) -> str:
    theirs = DEFECTS.get(subject, {}).get(criterion)
    published = "" if theirs is None else f"; paper {theirs[place]}"
    return f"{spread(counts or [], '.3g')}{published}"


def _on_seeds(seeds: Mapping[str, float], results: Mapping[str, Result]) -> str:
    """With how many more tests there are than seeds, because many images show more than few."""
    if not seeds:
        return ""
    told = "; ".join(f"{NAMES[subject]} {count:g}" for subject, count in seeds.items())
    times = [
        (run["tests"] + run["failing"]) / run["seeds"]
        for subject in seeds
        for criterion in CRITERIA
        for run in results_of(results, subject, criterion)
    ]
    more = f" There are {spread(times)} times as many tests as seeds." if times else ""
    return f"Of the seeds themselves, at most, over all shares and draws: {told}.{more}"


def _hunted(results: Mapping[str, Result], hunted: Mapping[tuple[str, str], Sequence[int]]) -> str:
    if not hunted:
        return ""
    subjects = dict.fromkeys(subject for subject, _ in hunted)
    rows = [[NAMES[subject], *(spread(hunted[subject, share], ",.0f") for share in SHARES)] for subject in subjects]
    executions = next(run["executions"] for subject in subjects for run in results_of(results, subject, "twins"))
    title = (
        f"Campaigns guided by KMNC that compare the network with itself quantised on each of {executions:,} "
        "executions, not only on the tests that they keep: executions that are answered otherwise."
    )
    return f"{title}\n\n{markdown_table(('model', *SHARES), rows)}"


TABLE7 = Table(
    "table7",
    "DeepHunter, Table 7: defects of quantisation",
    "With 1, 50 and 100 % of the weights in 16 bit no seed is answered otherwise, and tests of every criterion are"
    " (but for NC on ResNet-20): 2 to 164 of them on the LeNets, 0 to 71 on ResNet-20 and VGG-16, in tests of 24 "
    "hours. On MobileNet and ResNet-50, which are not measured here, there are 6 to 58,796.",
    "1",
    _cells,
    _section,
)
