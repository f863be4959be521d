"""DLFuzz's Figure 4: neuron coverage by the number of images tested, for the four strategies and DeepXplore."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paper.dlfuzz_subjects import CONSTRAINTS, FIRST_DRAW, LENETS, deepxplore, dlfuzz
from paper.plots import Curve, line_chart
from paper.sample_statistics import Comparison, mann_whitney, spread
from paper.table import Cell, Data, Result, Section, Table

DRAWS = 5
COUNTS = (5, 10, 15, 20)
STRATEGIES = {"frequent": "strategy 1", "rare": "strategy 2", "heavy": "strategy 3", "near": "strategy 4"}
LABELS = {**STRATEGIES, **{constraint: f"DeepXplore, {constraint}" for constraint in CONSTRAINTS}}
PICTURES = {"all": "paper-figure4-all.svg", "tests": "paper-figure4-tests.svg"}
NETWORKS = ("lenet1", "lenet5")  # the paper shows two and does not say which; LeNet-4 is left out for time


def cells(data: Data) -> Sequence[Cell]:
    counts = COUNTS[:2] if data.quick else COUNTS
    return [
        Cell(f"{name}/{how}/draw{draw}", 4, measured, {"name": name, "how": how, "draw": draw, "counts": list(counts)})
        for name in NETWORKS
        for how in LABELS
        for draw in data.seeds(DRAWS, FIRST_DRAW)
    ]


def measured(data: Data, name: str, how: str, draw: int, counts: Sequence[int]) -> Result:
    """Coverage in per cent after so many images, each number in a run of its own on the first of the draw."""
    runs = [
        dlfuzz(data, name, draw, count, strategy=(how,), minimise=False)
        if how in STRATEGIES
        else deepxplore(data, name, draw, count, how)
        for count in counts
    ]
    coverage = {"all": [100 * run.coverage for run in runs], "tests": [100 * run.tests_coverage for run in runs]}
    return {"name": name, "how": how, "counts": list(counts), **coverage}


def section(results: Mapping[str, Result]) -> Section:
    runs: dict[tuple[str, str], list[Result]] = {}
    for one in results.values():
        runs.setdefault((one["name"], one["how"]), []).append(one)
    networks = [name for name in NETWORKS if any((name, how) in runs for how in LABELS)]
    pictures = {file: _picture(networks, runs, of) for of, file in PICTURES.items()}
    counts = next(iter(results.values()))["counts"]
    draws = len(results) // (len(networks) * len(LABELS))
    body = f"""The same setting as Table 1, {draws} draws of the images; medians, in bands from the smallest to the
largest. First NC of all inputs run, then of seeds and tests generated, by the number of images.

![NC of all inputs run](pictures/{PICTURES["all"]})

![NC of seeds and tests generated](pictures/{PICTURES["tests"]})

NC after {counts[-1]} images, of all inputs run / of seeds and tests generated:

| | {" | ".join(LENETS[name] for name in networks)} |
|---|{"---|" * len(networks)}
{chr(10).join(_row(how, networks, runs) for how in LABELS)}

Mann–Whitney, p < 0.05:

{chr(10).join(_compared(name, runs) for name in networks)}"""
    return Section(_verdict(networks, runs), body, pictures)


def _last(runs: Sequence[Result], of: str) -> list[float]:
    return [one[of][-1] for one in runs]


def _row(how: str, networks: Sequence[str], runs: Mapping[tuple[str, str], Sequence[Result]]) -> str:
    cells = [
        " / ".join(spread(_last(runs.get((name, how), []), of), ".1f") for of in ("all", "tests")) for name in networks
    ]
    return f"| {LABELS[how]} | {' | '.join(cells)} |"


def _above(name: str, runs: Mapping[tuple[str, str], Sequence[Result]], constraint: str, of: str) -> int:
    """How many strategies end above DeepXplore with this constraint, and not by chance."""
    theirs = _last(runs.get((name, constraint), []), of)
    ours = [_last(runs.get((name, how), []), of) for how in STRATEGIES]
    return sum(mann_whitney(one, theirs).above for one in ours if one and theirs)


def _compared(name: str, runs: Mapping[tuple[str, str], Sequence[Result]]) -> str:
    told = [
        f"{constraint} {_above(name, runs, constraint, 'all')} / {_above(name, runs, constraint, 'tests')}"
        for constraint in CONSTRAINTS
    ]
    against = [f"{LABELS[how]} {test.figures}" for how, test in _against_first(name, runs).items()]
    return (
        f"- {LENETS[name]}: strategies of four that end above DeepXplore, of all inputs run / of tests generated: "
        f"{', '.join(told)}; strategy 1 by all inputs run, against {'; '.join(against)}"
    )


def _picture(networks: Sequence[str], runs: Mapping[tuple[str, str], Sequence[Result]], of: str) -> bytes:
    panels = {
        LENETS[name]: [
            Curve(label, some[0]["counts"], [one[of] for one in some])
            for how, label in LABELS.items()
            if (some := runs.get((name, how)))
        ]
        for name in networks
    }
    return line_chart(panels, "images", "NC, per cent")


def _verdict(networks: Sequence[str], runs: Mapping[tuple[str, str], Sequence[Result]]) -> str:
    count = len(networks) * len(CONSTRAINTS) * len(STRATEGIES)
    above = {of: sum(_above(name, runs, one, of) for name in networks for one in CONSTRAINTS) for of in PICTURES}
    told = (
        f"strategies end above DeepXplore in {above['all']} of {count} comparisons by all inputs run and in "
        f"{above['tests']} by tests generated (p < 0.05)."
    )
    whole = min(above.values()) == count
    kind = "Holds" if whole else "Holds in part" if any(above.values()) else "Does not hold"
    return f"{kind}: {told} {_first(networks, runs)}"


def _first(networks: Sequence[str], runs: Mapping[tuple[str, str], Sequence[Result]]) -> str:
    """Whether strategy 1 is ahead of the others, by all inputs run."""
    tests = [test for name in networks for test in _against_first(name, runs).values()]
    return (
        f"Strategy 1 ends above another strategy in {sum(test.above for test in tests)} and below in "
        f"{sum(test.below for test in tests)} of {len(tests)}, by all inputs run."
    )


def _against_first(name: str, runs: Mapping[tuple[str, str], Sequence[Result]]) -> dict[str, Comparison]:
    first = _last(runs.get((name, "frequent"), []), "all")
    others = {how: _last(runs.get((name, how), []), "all") for how in STRATEGIES if how != "frequent"}
    return {how: mann_whitney(first, values) for how, values in others.items() if first and values}


FIGURE4 = Table(
    "figure4",
    "DLFuzz, Figure 4: strategies of choosing neurons",
    "on two networks all four strategies raise neuron coverage more than DeepXplore does, and differ little; the first "
    "seems slightly ahead. No figures are given besides the drawing.",
    "1",
    cells,
    section,
)
