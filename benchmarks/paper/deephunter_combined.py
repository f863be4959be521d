"""All six criteria at once beside each alone, on LeNet-5: what DeepHunter's paper leaves for the future."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paper.deephunter_published import CRITERIA
from paper.hunt_cells import TOGETHER, budgets_told, hunt_cells, results_of
from paper.markdown import markdown_table
from paper.sample_statistics import Comparison, mann_whitney, spread
from paper.table import Cell, Data, Result, Section, Table

SUBJECT = "lenet5"


def _cells(data: Data) -> Sequence[Cell]:
    return hunt_cells(data, (SUBJECT,), (*CRITERIA, *TOGETHER))


def _section(results: Mapping[str, Result]) -> Section:
    rows = [_row(results, criterion) for criterion in CRITERIA]
    header = ("criterion, %", "alone", *(title for name in TOGETHER.values() for title in (name, "against alone")))
    failing = [
        f"{name} {spread([run['failing'] for run in results_of(results, SUBJECT, strategy)], ',.0f')}"
        for strategy, name in ((*((one, one.upper()) for one in CRITERIA), *TOGETHER.items()))
    ]
    body = (budgets_told(results), markdown_table(header, rows), f"Failing tests: {'; '.join(failing)}.", NOTE)
    return Section(verdict(against_alone(results)), "\n\n".join(body))


def covered(results: Mapping[str, Result], strategy: str, criterion: str) -> list[float]:
    """Per cent of a criterion in the end."""
    return [run["curve"][-1][1][criterion] for run in results_of(results, SUBJECT, strategy)]


def against_alone(results: Mapping[str, Result]) -> dict[tuple[str, str], Comparison]:
    """By way of going together and criterion, all at once against that one alone."""
    tests = {}
    for strategy in TOGETHER:
        for criterion in CRITERIA:
            ours, alone = (covered(results, one, criterion) for one in (strategy, criterion))
            if ours and alone:
                tests[strategy, criterion] = mann_whitney(ours, alone)
    return tests


def verdict(tests: Mapping[tuple[str, str], Comparison]) -> str:
    """What there is to say without a claim of the paper."""
    said = []
    for strategy, name in TOGETHER.items():
        own = {criterion: test for (one, criterion), test in tests.items() if one == strategy}
        above = [criterion.upper() for criterion, test in own.items() if test.above]
        below = [criterion.upper() for criterion, test in own.items() if test.below]
        said.append(f"{name}: significantly more of {', '.join(above) or 'none'}, less of {', '.join(below) or 'none'}")
    return f"The paper makes no claim. With as many executions as each criterion has alone, {'; '.join(said)}."


def _row(results: Mapping[str, Result], criterion: str) -> list[str]:
    tests = against_alone(results)
    row = [criterion.upper(), spread(covered(results, criterion, criterion), ".2f")]
    for strategy in TOGETHER:
        row += [spread(covered(results, strategy, criterion), ".2f"), str(tests.get((strategy, criterion), ""))]
    return row


NOTE = (
    "A test is kept if it is new to any criterion. The batch pool is the paper's; `adaptive` spends more on "
    "descendants of tests that were new to a criterion which still grows."
)
COMBINED = Table(
    "combined",
    "DeepHunter, criteria together against each alone",
    "Combining criteria is named as future work; there is no figure.",
    "1",
    _cells,
    _section,
)
