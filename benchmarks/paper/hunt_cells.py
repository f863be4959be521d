"""Campaigns that several of DeepHunter's tables are written of: each is run once, and its result tells all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paper.deephunter_published import CRITERIA, NAMES
from paper.hunt_measures import measure_few, measure_hunt, measure_seeds, measure_twins
from paper.preys import TRAINED, lacking
from paper.table import Cell, Data, Result

LENETS = ("lenet1", "lenet4", "lenet5")
SUBJECTS = (*LENETS, "resnet20", "vgg8")
QUANTISED = (*LENETS, "resnet20")  # the weights of VGG-8 ship in 16 bit
STAGED = (*(f"{name}{TRAINED}" for name in LENETS), "resnet20")  # of VGG-8 the last stage alone ships
TOGETHER = {"together-pool": "all, batch pool", "together-adaptive": "all, adaptive"}  # all criteria guide
MEASURED = ("kmnc", "nbc")  # of strategies that no neuron criterion guides
HUNTS = "deephunter-hunts-1"  # what results are kept under; another number once they no longer count
REPEATS = 5  # seeds of randomness


@dataclass(frozen=True)
class HuntBudget:
    """What a campaign on a subject may take."""

    executions: int
    per_class: int  # seeds
    seconds: float  # on one core, about
    batch: int = 256  # mutants a step; fewer where there are few, so that guidance gets its turns
    evaluating: float = 1.0  # seconds more, where tests are run on other instances
    quick: int = 400  # executions, where tables are only tried


BUDGETS = {
    **dict.fromkeys(LENETS, HuntBudget(25_000, 100, 5)),
    **dict.fromkeys((f"{name}{TRAINED}" for name in LENETS), HuntBudget(12_000, 100, 3)),
    "resnet20": HuntBudget(1_500, 50, 5, batch=64, evaluating=4),
    "vgg8": HuntBudget(1_500, 50, 5, batch=64),
    "efficientnet_lite0": HuntBudget(60, 2, 12, batch=16, quick=48),
}


def published_name(subject: str) -> str:
    """What the paper's subject is called here."""
    return subject.removesuffix(TRAINED)


def hunt_cells(data: Data, subjects: Sequence[str], strategies: Sequence[str]) -> list[Cell]:
    """A campaign for each subject, strategy and seed of randomness."""
    return [
        _hunt_cell(data, subject, strategy, seed)
        for subject in subjects
        for strategy in strategies
        for seed in data.seeds(REPEATS)
    ]


def _hunt_cell(data: Data, subject: str, strategy: str, seed: int) -> Cell:
    settings = _settings(data, subject, seed) | {"strategy": strategy}
    if strategy in CRITERIA:
        settings["in_16_bit"] = subject in QUANTISED
    elif strategy not in TOGETHER:
        settings["measured"] = MEASURED
    budget = BUDGETS[subject]
    seconds = budget.seconds + (budget.evaluating if strategy in CRITERIA else 0)
    cost = 1 if data.quick else seconds
    return Cell(f"{subject}/{strategy}/seed{seed}", cost, measure_hunt, settings, lacking(subject, data), HUNTS)


def few_cells(data: Data) -> list[Cell]:
    """Ten published seeds and 10,000 mutants, as DeepHunter's own code was run."""
    missing = data.lacks("seeds/deephunter-10", "lenets/deephunter")
    return [
        Cell(
            f"few/{subject}/{criterion}/seed{seed}",
            2,
            measure_few,
            {"subject": subject, "criterion": criterion, "mutants": data.budget(10_000, 300), "seed": seed},
            missing,
        )
        for subject in LENETS
        for criterion in CRITERIA
        for seed in data.seeds(REPEATS)
    ]


def seeds_cells(data: Data) -> list[Cell]:
    """What networks in 16 bit say of the seeds themselves."""
    return [
        Cell(
            f"{subject}/seeds/seed{seed}",
            1,
            measure_seeds,
            {"subject": subject, "per_class": _settings(data, subject, seed)["per_class"], "seed": seed},
            lacking(subject, data),
        )
        for subject in QUANTISED
        for seed in data.seeds(REPEATS)
    ]


def twin_cells(data: Data) -> list[Cell]:
    """Campaigns that compare a network with itself in 16 bit on every execution."""
    return [
        Cell(f"{subject}/twins/seed{seed}", 9, measure_twins, _settings(data, subject, seed), lacking(subject, data))
        for subject in LENETS
        for seed in data.seeds(REPEATS)
    ]


def _settings(data: Data, subject: str, seed: int) -> dict[str, object]:
    budget = BUDGETS[subject]
    return {
        "subject": subject,
        "executions": data.budget(budget.executions, budget.quick),
        "per_class": min(budget.per_class, data.budget(budget.per_class, 10)),
        "batch": budget.batch,
        "seed": seed,
    }


def results_of(results: Mapping[str, Result], subject: str, strategy: str) -> list[Result]:
    """What was measured of a strategy on a subject, one result for each seed of randomness, in their order."""
    start = f"{subject}/{strategy}/seed"
    seeds = {int(name.removeprefix(start)): result for name, result in results.items() if name.startswith(start)}
    return [seeds[seed] for seed in sorted(seeds)]


def measured_subjects(
    results: Mapping[str, Result], strategies: Sequence[str], among: Sequence[str] = tuple(BUDGETS)
) -> list[str]:
    """Those of which something was measured."""
    return [subject for subject in among if any(results_of(results, subject, name) for name in strategies)]


def budgets_told(results: Mapping[str, Result]) -> str:
    """How many executions, seeds and seeds of randomness the figures are of, in a sentence."""
    told: dict[str, list[str]] = {}
    for subject in BUDGETS:
        runs = {name: run for name, run in results.items() if name.startswith(f"{subject}/") and "curve" in run}
        if runs:
            run, repeats = next(iter(runs.values())), len({name.rsplit("seed", 1)[1] for name in runs})
            said = f"{run['executions']:,} executions, {run['seeds']:,} of them seeds, {repeats} seeds of randomness"
            told.setdefault(said, []).append(NAMES[published_name(subject)])
    budgets = "; ".join(f"{', '.join(names)}: {said}" for said, names in told.items())
    return f"Each campaign on {budgets}."
