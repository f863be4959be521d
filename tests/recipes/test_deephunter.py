"""What DeepHunter's recipe reaches on LeNet-5, beside the same transformations of the seeds without guidance."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from jostle import CoverageMeter
from jostle.records import Candidates, Trace
from jostle.session.assemble import assemble
from jostle.step_records import Summary
from jostle.targets.contained import Contained
from jostle.zoo import lenet5, mnist_sample
from making import options, run_session
from soaking import times

EXECUTIONS = 5_000
TRAINING = "jostle.zoo:mnist_sample"
Fuzz = Callable[..., tuple[Summary, Tensor]]


@pytest.fixture
def fuzz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fuzz:
    """Runs a recipe with the paper's ranges for so many executions: its summary, and every input that was run."""
    images, labels = mnist_sample()
    ran: list[Tensor] = []

    really = Contained.run

    def noted(target: Contained, batch: Candidates, watched: bool = True) -> Trace:
        ran.append(batch.inputs.clone())
        return really(target, batch, watched)

    monkeypatch.setattr(Contained, "run", noted)

    def run(digits: int, seed: int, executions: int = EXECUTIONS, **settings: Any) -> tuple[Summary, Tensor]:
        seeds = tmp_path / f"{digits}.npz"
        np.savez(seeds, x=images[:digits].numpy(), y=labels[:digits].numpy())
        out = str(tmp_path / f"{settings['recipe']}-{seed}-{settings.get('ranges')}")
        named = {"model": "jostle.zoo:lenet5", "seeds": str(seeds), "seed": seed, "executions": executions, "out": out}
        session = assemble(options(**{"ranges": "paper", **named, **settings}))
        ran.clear()  # of the training data, which a profile runs
        return run_session(session), torch.cat(ran)

    return run


def sections_covered(inputs: Tensor) -> float:
    """The share of KMNC's sections, whichever recipe ran the inputs, and whatever its oracles said of them."""
    meter = CoverageMeter(lenet5(), ["kmnc"])
    meter.take_profile(mnist_sample()[0].split(256))
    for some in inputs.split(256):
        meter.add(some)
    return meter.coverage()["kmnc"]["covered"]


def both(fuzz: Fuzz, digits: int, seed: int, executions: int = EXECUTIONS) -> tuple[float, float]:
    """KMNC with guidance and without, after the same executions."""
    guided, guided_inputs = fuzz(digits, seed, executions, recipe="deephunter", profile=TRAINING)
    unguided, unguided_inputs = fuzz(
        digits, seed, executions, recipe="random", mutator=("metamorphic",), oracle=("flip", "nan")
    )
    assert guided.executions == unguided.executions == executions
    with_guidance = sections_covered(guided_inputs)
    assert guided.coverage["kmnc"]["covered"] <= with_guidance  # it leaves out its findings
    return with_guidance, sections_covered(unguided_inputs)


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("seed", range(times(2, 3)))
def test_it_finds_flips_within_five_thousand_executions(seed: int, fuzz: Fuzz) -> None:
    summary, _ = fuzz(100, seed, recipe="deephunter", profile=TRAINING)
    assert summary.executions == EXECUTIONS
    assert summary.findings["flip"] >= 10


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("seed", range(times(2, 3)))
def test_careful_ranges_find_flips_too_and_far_fewer(seed: int, fuzz: Fuzz) -> None:
    careful, of_paper = (fuzz(500, seed, 10_000, recipe="deephunter", ranges=name)[0] for name in ("careful", "paper"))
    assert 5 <= careful.findings["flip"] < of_paper.findings["flip"] / 4


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("seed", range(times(2, 3)))
def test_from_one_digit_it_covers_more_than_unguided_transformations(seed: int, fuzz: Fuzz) -> None:
    guided, unguided = both(fuzz, 1, seed)
    assert guided > unguided


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("seed", range(times(1, 3)))
def test_from_ten_digits_it_covers_more_once_most_sections_are_taken(seed: int, fuzz: Fuzz) -> None:
    guided, unguided = both(fuzz, 10, seed, executions=20_000)  # before that nearly every mutant is new, guided or not
    assert guided > unguided
