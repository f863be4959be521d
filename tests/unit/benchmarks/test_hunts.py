"""One hunt of the papers' tables: what guides it, what is only measured, and what it leaves."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import pytest
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))

from jostle import CoverageMeter, Seeds
from jostle.zoo import lenet1, mnist_sample
from paper.hunts import Hunt, Prey, hunt
from paper.other_instances import SHARES, answered_otherwise, distinct, quantised, scores
from paper.strategies import OTHERS, strategy_named

LAYERS = ("relu*", "pool*", "softmax")


@cache
def prey() -> Prey:
    model = lenet1()
    model.add_module("softmax", nn.Softmax(1))
    profile = CoverageMeter(model, ["kmnc"], layers=LAYERS).take_profile([mnist_sample()[0]])
    return Prey(model, LAYERS, profile)


def digits(count: int) -> Seeds:
    images, labels = mnist_sample()
    right = (scores(prey().model, images).argmax(1) == labels).nonzero().squeeze(1)[:count]
    return Seeds(images[right], labels[right], ("",) * len(right))


def hunted(strategy: str, executions: int = 600, seed: int = 0) -> Hunt:
    measured = () if strategy.startswith("together") or strategy == "kmnc" else ("kmnc",)
    return hunt(prey(), digits(40), strategy_named(strategy), executions, seed, measured)


@pytest.mark.parametrize("strategy", ["kmnc", *OTHERS])
def test_every_strategy_covers_more_than_its_seeds(strategy: str) -> None:
    ran = hunted(strategy)
    (first, seeds), (last, end) = ran.curve[0], ran.curve[-1]
    assert (first, last) == (40, 600)
    assert end["kmnc"]["covered"] > seeds["kmnc"]["covered"] > 0


def test_a_criterion_that_is_only_measured_keeps_nothing() -> None:
    assert len(hunted("random").kept) == 0


def test_what_is_measured_does_not_change_the_hunt() -> None:
    measured, plain = hunted("nearest"), hunt(prey(), digits(40), strategy_named("nearest"), 600, 0)
    assert torch.equal(measured.kept.inputs, plain.kept.inputs)


def test_all_neurons_are_counted_alike_whatever_guides() -> None:
    sizes = {name: hunted(name, 300).summary.coverage["kmnc"]["neurons"] for name in ("kmnc", "nearest", "random")}
    assert len(set(sizes.values())) == 1


def test_failing_tests_are_each_there_once_and_fail() -> None:
    ran = hunted("kmnc", 2_000)
    assert 0 < len(ran.failing) == len(distinct(ran.failing)) <= ran.summary.violations["flip"]
    right = scores(prey().model, ran.kept.inputs).argmax(1) == ran.kept.labels
    assert bool(right.all())


def test_quantised_networks_are_asked_as_if_all_tests_were_run() -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Linear(8, 3)
        weights = model.weight.detach()
        edge = weights[0] - weights[1]
        inputs = torch.randn(4_000, 8)
        inputs -= (inputs @ edge + model.bias[0] - model.bias[1]).detach()[:, None] * edge / (edge @ edge)  # ties
        inputs += 1e-4 * torch.randn_like(inputs)
    counts = answered_otherwise(model, inputs)
    own = scores(model, inputs).argmax(1)
    for name, share in SHARES.items():
        all_run = [int((scores(quantised(model, share, draw), inputs).argmax(1) != own).sum()) for draw in range(5)]
        assert counts[name] == all_run[: len(counts[name])]
    assert sum(counts["100 %"]) > 0
