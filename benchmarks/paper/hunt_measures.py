"""What is measured in one cell of DeepHunter's tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from deephunter_lenets import published_seeds
from jostle.records import Seeds
from paper.hunts import Coverage, hunt
from paper.neuron_shares import percent, percent_by_rank
from paper.other_instances import SHARES, accuracy, answered_otherwise, quantised, scores
from paper.preys import held_out_accuracy, prey_of, seeds_of, subject_named
from paper.strategies import deephunter, strategy_named
from paper.table import Data, Result


def measure_hunt(
    data: Data,
    subject: str,
    strategy: str,
    executions: int,
    per_class: int,
    batch: int,
    seed: int,
    measured: Sequence[str] = (),
    in_16_bit: bool = False,
) -> Result:
    """Coverage over executions, failing tests, and what other instances say of the tests, networks in 16 bit if asked.

    Criteria that do not guide are measured beside those that do.
    """
    prey, seeds = prey_of(subject, data), seeds_of(subject, data, per_class, seed)
    ran = hunt(prey, seeds, strategy_named(strategy), executions, seed, measured, batch)
    sizes = [size for _, size in prey.profile.layers]
    earlier = {stage: model for stage, model in subject_named(subject, data).instances.items() if stage != "C"}
    kept = ran.kept
    return {
        "executions": ran.summary.executions,
        "seeds": len(seeds),
        "neurons": sum(sizes),
        "curve": [[at, _percents(coverage, sizes)] for at, coverage in ran.curve],
        "tests": len(kept),
        "failing": len(ran.failing),
        "accuracy": {stage: accuracy(model, kept.inputs, kept.labels) for stage, model in earlier.items()},
        "held_out": held_out_accuracy(subject, data),
        "otherwise": {
            name: answered_otherwise(prey.model, inputs)
            for name, inputs in (("kept", kept.inputs), ("failing", ran.failing))
            if in_16_bit
        },
    }


def measure_few(data: Data, subject: str, criterion: str, mutants: int, seed: int) -> Result:
    """What ten published seeds and so many mutants cover in the end."""
    prey = prey_of(subject, data)
    assert data.folder is not None, "such a cell is missing without a folder"
    images = published_seeds(data.folder)
    seeds = Seeds(images, scores(prey.model, images).argmax(1), ("",) * len(images))
    ran = hunt(prey, seeds, deephunter(criterion), len(images) + mutants, seed)
    sizes, figures = [size for _, size in prey.profile.layers], ran.summary.coverage[criterion]
    by_rank = {"by_rank": percent_by_rank(figures, sizes)} if "ranks" in figures else {}
    return {"percent": percent(criterion, figures, sizes), **by_rank}


def measure_seeds(data: Data, subject: str, per_class: int, seed: int) -> Result:
    """How many of the seeds the network in 16 bit answers otherwise."""
    inputs = seeds_of(subject, data, per_class, seed).inputs
    return {"seeds": len(inputs), "otherwise": answered_otherwise(prey_of(subject, data).model, inputs)}


def measure_twins(data: Data, subject: str, executions: int, per_class: int, batch: int, seed: int) -> Result:
    """On how many executions the network and itself in 16 bit answer otherwise."""
    prey, seeds = prey_of(subject, data), seeds_of(subject, data, per_class, seed)
    names = {share: f"weights16:{share.removesuffix(' %')}%" for share in SHARES}
    twins = {names[share]: quantised(prey.model, part, seed) for share, part in SHARES.items()}
    ran = hunt(replace(prey, twins=twins), seeds, deephunter("kmnc"), executions, seed, batch=batch)
    found = ran.summary.violations
    return {
        "executions": ran.summary.executions,
        "disagreements": {share: found.get(f"agree {name}", 0) for share, name in names.items()},
    }


def _percents(coverage: Coverage, sizes: Sequence[int]) -> dict[str, float]:
    """By neuron criterion; other feedback has no share of anything."""
    return {name: percent(name, figures, sizes) for name, figures in coverage.items() if "covered" in figures}
