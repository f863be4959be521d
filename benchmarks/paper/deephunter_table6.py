"""DeepHunter's Table 6 (RQ3): tests that the network fails, by criterion, beside transformations without guidance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from paper.deephunter_published import CRITERIA, FAILING, NAMES
from paper.hunt_cells import SUBJECTS, budgets_told, hunt_cells, measured_subjects, results_of
from paper.markdown import markdown_table
from paper.sample_statistics import Comparison, mann_whitney, spread
from paper.table import Cell, Data, Result, Section, Table

RANDOM = "random"
CORNERS = ("nbc", "snac", "tknc", "bknc")
CORNERS_NOT_AHEAD = "not every criterion of corners finds more than KMNC and NC"
Counts = Mapping[str, Mapping[str, Sequence[int]]]  # by subject and strategy, for each seed of randomness


def _cells(data: Data) -> Sequence[Cell]:
    return hunt_cells(data, SUBJECTS, (RANDOM, *CRITERIA))


def _section(results: Mapping[str, Result]) -> Section:
    counts = failing(results)
    body = "\n\n".join((budgets_told(results), _rows(counts), _note()))
    return Section(verdict(counts), body)


def failing(results: Mapping[str, Result]) -> Counts:
    """Distinct tests that failed, of what was measured."""
    counts: dict[str, dict[str, list[int]]] = {}
    for subject in measured_subjects(results, (RANDOM, *CRITERIA), SUBJECTS):
        for strategy in (RANDOM, *CRITERIA):
            runs = results_of(results, subject, strategy)
            if runs:
                counts.setdefault(subject, {})[strategy] = [run["failing"] for run in runs]
    return counts


def beside_random(counts: Mapping[str, Sequence[int]], criterion: str) -> Comparison | None:
    """A criterion against no guidance on one subject; None unless both were measured."""
    both = criterion in counts and RANDOM in counts
    return mann_whitney(counts[criterion], counts[RANDOM]) if both else None


def verdict(counts: Counts) -> str:
    """RQ3: every criterion finds failing tests on every model, those of corners more; and guidance beside none."""
    cases = [(subject, name) for subject, found in counts.items() for name in found if name != RANDOM]
    empty = [(subject, name) for subject, name in cases if not median(counts[subject][name])]
    none = [_case(*case) for case in empty if _published_thousands(*case) != 0]
    alike = [_case(*case) for case in empty if _published_thousands(*case) == 0]
    compared = [test for subject, name in cases if (test := beside_random(counts[subject], name)) is not None]
    more = sum(test.above for test in compared)
    fewer = sum(test.below for test in compared)
    guidance = (
        f"; against the same transformations without guidance, which the paper does not compare with, there are "
        f"significantly more in {more} and fewer in {fewer} of {len(compared)} cases"
    )
    totals = over_all_models(counts)
    corners = (
        "each criterion of corners finds more than KMNC and NC" if corners_find_more(totals) else CORNERS_NOT_AHEAD
    )
    said = f"; {corners}: over all models {_told(totals)}" if totals else ""
    said += guidance if compared else ""
    if none:
        kind = "Holds in part" if len(none) < len(cases) else "Does not hold"
        return f"{kind}: in the median no failing test by {', '.join(none)}{said}."
    kind = "Holds" if corners_find_more(totals) else "Holds in part"
    paper = f" ({', '.join(alike)} none, as in the paper)" if alike else ""
    return f"{kind}: every criterion finds failing tests on every model{paper}{said}."


def over_all_models(counts: Counts) -> dict[str, float]:
    """Medians of each criterion, added up; empty unless every criterion was measured on the same models."""
    if any(criterion not in found for found in counts.values() for criterion in CRITERIA):
        return {}
    return {criterion: sum(median(found[criterion]) for found in counts.values()) for criterion in CRITERIA}


def corners_find_more(totals: Mapping[str, float]) -> bool:
    """The paper's: each criterion that reaches for corners finds more than KMNC and NC."""
    return bool(totals) and min(totals[name] for name in CORNERS) > max(totals["kmnc"], totals["nc"])


def _told(totals: Mapping[str, float]) -> str:
    first, *others = totals.items()
    return ", ".join(
        (f"{first[0].upper()} finds {first[1]:,.0f}", *(f"{name.upper()} {sum_:,.0f}" for name, sum_ in others))
    )


def _case(subject: str, criterion: str) -> str:
    return f"{criterion.upper()} on {NAMES[subject]}"


def _rows(counts: Counts) -> str:
    rows = [
        [NAMES[subject], _called(name), spread(some, ",.0f"), _compared(found, name), _published(subject, name)]
        for subject, found in counts.items()
        for name, some in found.items()
    ]
    header = ("model", "guided by", "failing tests", "against random", "paper, in 24 hours")
    return markdown_table(header, rows)


def _called(strategy: str) -> str:
    return "nothing" if strategy == RANDOM else strategy.upper()


def _compared(counts: Mapping[str, Sequence[int]], strategy: str) -> str:
    test = None if strategy == RANDOM else beside_random(counts, strategy)
    return "" if test is None else str(test)


def _published(subject: str, strategy: str) -> str:
    thousands = _published_thousands(subject, strategy)
    return "–" if thousands is None else f"{1000 * thousands:,.0f}"


def _published_thousands(subject: str, strategy: str) -> float | None:
    return FAILING.get(subject, {}).get(strategy)


def _note() -> str:
    return (
        "Failing tests are all inputs whose label differs from their seed's, each counted once, read from the store of "
        "failing tests that every campaign keeps. Guided by nothing, the same transformations change seeds alone. The "
        "paper's budget is time, so its slow criteria ran fewer executions; here all ran as many."
    )


TABLE6 = Table(
    "table6",
    "DeepHunter, Table 6: failing tests",
    "Every criterion but NC on ResNet-20 leads to unique error-triggering tests, 0.6 to 16.6 thousand in 24 hours;"
    " those that reach for corners (NBC, SNAC, TKNC, BKNC) find 49.0 to 54.2 thousand over its seven models (our "
    "sums), KMNC 34.6 and NC 19.5.",
    "1",
    _cells,
    _section,
)
