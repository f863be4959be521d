"""DeepHunter's Table 5 (RQ2): the accuracy of earlier instances of a network on tests that its best instance passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from paper.deephunter_published import ACCURACY, CRITERIA, NAMES
from paper.hunt_cells import STAGED, budgets_told, hunt_cells, measured_subjects, published_name, results_of
from paper.markdown import markdown_table
from paper.sample_statistics import Comparison, spread, wilcoxon
from paper.table import Cell, Data, Result, Section, Table

Accuracies = tuple[list[float], list[float]]  # of A and of B, in per cent, for each seed of randomness


def _cells(data: Data) -> Sequence[Cell]:
    few = STAGED[::3]  # so that a table that is only tried need not train every LeNet
    return hunt_cells(data, few if data.quick else STAGED, CRITERIA)


def _section(results: Mapping[str, Result]) -> Section:
    subjects = measured_subjects(results, CRITERIA, STAGED)
    measured = {
        (subject, criterion): accuracies(results, subject, criterion) for subject in subjects for criterion in CRITERIA
    }
    measured = {case: both for case, both in measured.items() if both[0]}
    tests = {criterion: ordered(measured, criterion) for criterion in CRITERIA}
    wider = distinguished(results, measured)
    parts = (budgets_told(results), _instances(results, subjects), _rows(results, measured), _tested(tests))
    return Section(verdict(measured, tests, wider), "\n\n".join(parts))


def accuracies(results: Mapping[str, Result], subject: str, criterion: str) -> Accuracies:
    """Of A and B on the tests; a campaign that kept no test is left out."""
    runs = [run["accuracy"] for run in results_of(results, subject, criterion) if run["tests"]]
    return [run["A"] for run in runs], [run["B"] for run in runs]


def ordered(measured: Mapping[tuple[str, str], Accuracies], criterion: str) -> Comparison | None:
    """Whether B lies above A on tests of one criterion, over all models and seeds of randomness."""
    of_one = [both for (_, name), both in measured.items() if name == criterion]
    a, b = ([value for both in of_one for value in both[which]] for which in (0, 1))
    return wilcoxon(b, a) if a else None


def distinguished(results: Mapping[str, Result], measured: Mapping[tuple[str, str], Accuracies]) -> int:
    """In how many cases B and A lie farther apart on the tests than on held-out images."""
    wider = 0
    for (subject, criterion), (a, b) in measured.items():
        held_out = results_of(results, subject, criterion)[0]["held_out"]
        wider += median(b) - median(a) > held_out["B"] - held_out["A"]
    return wider


def verdict(measured: Mapping[tuple[str, str], Accuracies], tests: Mapping[str, Comparison | None], wider: int) -> str:
    """RQ2: seeds that all instances get right become tests that tell better instances from worse, A < B < 100 %."""
    holds = sum(median(a) < median(b) < 100 for a, b in measured.values())
    unsure = [name.upper() for name, test in tests.items() if test is not None and not test.above]
    said = f"A < B < 100 % in the median in {holds} of {len(measured)} cases of model and criterion"
    said += f"; not significant (Wilcoxon) over all models for {', '.join(unsure)}" if unsure else ""
    said += f"; B and A lie farther apart than on all held-out images in {wider}"
    if holds == len(measured) and not unsure:
        return f"Holds: {said}."
    return f"{'Holds in part' if 2 * holds > len(measured) else 'Does not hold'}: {said}."


def _instances(results: Mapping[str, Result], subjects: Sequence[str]) -> str:
    def told(subject: str) -> str:
        run = next(one for criterion in CRITERIA for one in results_of(results, subject, criterion))
        figures = ", ".join(f"{stage} {value:.1f} %" for stage, value in run["held_out"].items())
        return f"{NAMES[published_name(subject)]} {figures}"

    return f"Accuracy on held-out images: {'; '.join(map(told, subjects))}. On the seeds it is 100 % for all instances."


def _rows(results: Mapping[str, Result], measured: Mapping[tuple[str, str], Accuracies]) -> str:
    rows = []
    for (subject, criterion), (a, b) in measured.items():
        name = published_name(subject)
        tests = [run["tests"] for run in results_of(results, subject, criterion)]
        theirs = [f"{value:g}" for value in ACCURACY[name][criterion]]
        rows.append([NAMES[name], criterion.upper(), spread(tests, ",.0f"), spread(a), spread(b), *theirs])
    header = ("model", "criterion", "tests", "A, %", "B, %", "paper: A", "paper: B")
    return markdown_table(header, rows)


def _tested(tests: Mapping[str, Comparison | None]) -> str:
    told = "; ".join(f"{name.upper()} {test}" for name, test in tests.items() if test is not None)
    note = "Runs on one model are alike, so that p is smaller than as many independent pairs would make it."
    return f"B against A, in pairs of all models and seeds of randomness: {told}. {note}"


TABLE5 = Table(
    "table5",
    "DeepHunter, Table 5: tests tell better instances from worse",
    "Instances A, B and C are taken from three stages of one training, and all classify all seeds rightly. On "
    "tests made on C, and classified rightly by C, A is right in 94.2 (NC) to 86.4 % (NBC) on average and B in "
    "95.7 to 91.5 %: the tests tell that B is better than A, mostly by more than the test set does. Of VGG-8, which "
    "stands for VGG-16 here, only the last stage ships, so it has no row.",
    "1",
    _cells,
    _section,
)
