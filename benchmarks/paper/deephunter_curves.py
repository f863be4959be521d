"""Coverage over executions: DeepHunter beside no guidance, and beside what TensorFuzz and DeepTest would do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from paper.deephunter_published import NAMES
from paper.hunt_cells import MEASURED, budgets_told, hunt_cells, results_of
from paper.markdown import markdown_table
from paper.plots import Curve, line_chart
from paper.sample_statistics import mann_whitney, spread
from paper.strategies import strategy_named
from paper.table import Cell, Data, Result, Section, Table

SUBJECTS = ("lenet5", "resnet20")
OTHERS = ("random", "nearest", "nearest-noise", "greedy")
PICTURE = "deephunter-coverage.svg"
Panels = Mapping[tuple[str, str], Mapping[str, list[Result]]]  # by subject and criterion, runs of each strategy


def _cells(data: Data) -> Sequence[Cell]:
    return hunt_cells(data, SUBJECTS, (*MEASURED, *OTHERS))


def _section(results: Mapping[str, Result]) -> Section:
    panels = compared(results)
    picture = line_chart({_title(*case): _curves(case[1], runs) for case, runs in panels.items()}, "executions", "%")
    body = "\n\n".join((budgets_told(results), f"![Coverage over executions](pictures/{PICTURE})", _rows(panels), NOTE))
    return Section(verdict(panels), body, {PICTURE: picture})


def compared(results: Mapping[str, Result]) -> Panels:
    """What was measured; DeepHunter is guided by the criterion that a panel shows."""
    panels = {}
    for subject in SUBJECTS:
        for criterion in MEASURED:
            runs = {name: results_of(results, subject, name) for name in (criterion, *OTHERS)}
            if runs[criterion]:
                panels[subject, criterion] = {name: some for name, some in runs.items() if some}
    return panels


def reached(runs: Sequence[Result], criterion: str) -> list[float]:
    """Per cent in the end."""
    return [run["curve"][-1][1][criterion] for run in runs]


def verdict(panels: Panels) -> str:
    """Guidance by a criterion reaches more of it than any other strategy with as many executions."""
    more: dict[str, list[str]] = {"above": [], "below": [], "beside": []}
    for (subject, criterion), runs in panels.items():
        ours = reached(runs[criterion], criterion)
        for name in OTHERS:
            if name in runs:
                test = mann_whitney(ours, reached(runs[name], criterion))
                place = "above" if test.above else "below" if test.significant else "beside"
                more[place].append(f"{strategy_named(name).name} ({_title(subject, criterion)})")
    count = sum(map(len, more.values()))
    said = f"DeepHunter ends significantly higher in {len(more['above'])} of {count} comparisons (p < 0.05 each)"
    said += f"; lower than {', '.join(more['below'])}" if more["below"] else ""
    said += f"; not told apart from {', '.join(more['beside'])}" if more["beside"] else ""
    if not more["below"] and not more["beside"]:
        return f"Holds: {said}."
    return f"{'Holds in part' if more['above'] else 'Does not hold'}: {said}."


def _title(subject: str, criterion: str) -> str:
    return f"{NAMES[subject]}, {criterion.upper()}"


def _curves(criterion: str, runs: Mapping[str, Sequence[Result]]) -> list[Curve]:
    return [_curve(strategy_named(name).name, some, criterion) for name, some in runs.items()]


def _curve(label: str, runs: Sequence[Result], criterion: str) -> Curve:
    """All runs at the points of the first."""
    lines = [[(at, percents[criterion]) for at, percents in run["curve"]] for run in runs]
    points = [at for at, _ in lines[0]]
    return Curve(label, points, [np.interp(points, *zip(*line, strict=True)).tolist() for line in lines])


def _rows(panels: Panels) -> str:
    rows = []
    for (subject, criterion), runs in panels.items():
        ours = reached(runs[criterion], criterion)
        for name, some in runs.items():
            values = reached(some, criterion)
            test = "" if name == criterion else str(mann_whitney(ours, values))
            rows.append([_title(subject, criterion), strategy_named(name).name, spread(values, ".2f"), test])
    return markdown_table(("model, criterion", "strategy", "in the end, %", "DeepHunter against it"), rows)


NOTE = (
    "Random: the same transformations of the seeds, nothing kept. TensorFuzz's: what lies far from all activations"
    " seen before in the layer before softmax is kept, and the newest entries are mutated, by DeepHunter's "
    "transformations or by noise as TensorFuzz has it (within a tenth of the value range). DeepTest-like: "
    "transformations are combined greedily, going on with the newest image of each seed as long as neuron coverage"
    " (threshold 0.2) grows; unlike DeepTest it has no fog and no rain, moves an image once only, holds to "
    "Equation 1, works on all seeds in turn instead of one after another, and judges by labels. All count the same"
    " neurons, of inputs that do not fail. DeepHunter is the recipe as it ships: half of its mutants come from seeds, "
    "a share that was tried out on KMNC of LeNet-5 before."
)
FIGURE_COVERAGE = Table(
    "figure_coverage",
    "DeepHunter, coverage over executions against other strategies",
    "Guidance significantly boosts coverage. The paper shows Table 4 only, no curves and no other fuzzer; TensorFuzz, "
    "DeepTest and random transformations are put beside it here.",
    "1",
    _cells,
    _section,
)
