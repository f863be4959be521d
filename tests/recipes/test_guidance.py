"""Guidance must beat the same mutations without it, where the paper says so."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from torch import nn

from jostle import (
    Agreement,
    BestOfSeed,
    Budget,
    Campaign,
    FarFromSeen,
    Finite,
    NearerToDisagreement,
    NewestFew,
    Noise,
    SameTop,
    Seeds,
    TorchTarget,
    Twins,
    Uniform,
)
from jostle.feedback.gap import to_another_top
from jostle.interfaces import Feedback, Scheduler
from jostle.records import TWIN
from jostle.subjects.torch_twins import TWINS
from jostle.zoo import lenet5, mnist_sample
from soaking import times

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

import nan_loss

BUDGET = 300_000
LOGITS = "5"


@pytest.fixture(scope="module")
def classifier() -> nn.Module:
    return nan_loss.classifier()


def found_after(classifier: nn.Module, feedbacks: Sequence[Feedback], seed: int) -> int | None:
    images, labels = mnist_sample()
    campaign = Campaign(
        target=TorchTarget(classifier, [LOGITS], metadata=nan_loss.loss),
        mutator=Noise(sigma=0.2, low=-1, high=1),
        feedbacks=feedbacks,
        oracles=[Finite()],
        scheduler=NewestFew(),
        seeds=Seeds(images, labels, ("",) * len(labels)),
        budget=Budget(executions=BUDGET, findings=1),
        seed=seed,
    )
    summary = campaign.run()
    return summary.executions if summary.findings else None


@pytest.mark.slow
@pytest.mark.soak
def test_tensorfuzz_finds_the_nan_with_every_seed_and_random_search_with_none(classifier: nn.Module):
    seeds = range(times(1, 3))
    guided = [found_after(classifier, [FarFromSeen([LOGITS], criterion="magnitude")], seed) for seed in seeds]
    unguided = [found_after(classifier, [], seed) for seed in seeds]
    assert None not in guided
    assert set(unguided) == {None}


def test_the_nan_is_traced_to_the_loss(classifier: nn.Module):
    images, labels = mnist_sample()
    spread_out = nn.Sequential(*classifier, Scaled(4.0))
    seeds = Seeds(images, labels, ("",) * len(labels))
    target = TorchTarget(spread_out, [LOGITS], metadata=nan_loss.loss)
    verdicts = Finite().judge(seeds.as_candidates(), target.run(seeds.as_candidates()))
    row = int((verdicts.bugs >= 0).nonzero()[0])
    assert verdicts.describe(row).details["place"] in ("softmax", "loss")


class Scaled(nn.Module):
    """Logits a few times as large, which the careless loss does not survive."""

    def __init__(self, factor: float):
        super().__init__()
        self._factor = factor

    def forward(self, logits):
        return logits * self._factor


def disagreements(feedbacks: Sequence[Feedback], scheduler: Scheduler, seed: int) -> int:
    """How many digits, in 3,000 executions, LeNet-5 and its twin of 16-bit weights are brought to disagree on."""
    images, labels = mnist_sample()
    campaign = Campaign(
        target=Twins(TorchTarget(lenet5(), ["fc3"]), {TWIN: TorchTarget(TWINS["weights16"](lenet5()))}),
        mutator=Noise(sigma=0.1, low=0, high=1, radius=0.4, halvings=12),
        feedbacks=feedbacks,
        oracles=[Agreement(SameTop())],
        scheduler=scheduler,
        seeds=Seeds(images[:10], labels[:10], ("",) * 10),
        budget=Budget(executions=3_000),
        seed=seed,
        batch=64,
    )
    return campaign.run().findings.get("agree", 0)


@pytest.mark.parametrize("seed", range(3))
def test_the_gap_leads_to_disagreements_and_neither_coverage_nor_chance_does(seed: int):
    gap = disagreements([NearerToDisagreement({TWIN: to_another_top()})], BestOfSeed(), seed)
    nearest = disagreements([FarFromSeen(["fc3"])], NewestFew(), seed)
    chance = disagreements([], Uniform(), seed)
    assert gap >= 4 * max(1, nearest, chance)
