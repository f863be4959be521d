"""A recipe is a function of a model and seeds, which a script can call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from jostle.campaign import Campaign
from jostle.commands.coverage_meter import CoverageMeter
from jostle.errors import PreflightFailed, UsageError
from jostle.recipes.deephunter import deephunter
from jostle.recipes.deepxplore import deepxplore
from jostle.recipes.dlfuzz import dlfuzz
from jostle.recipes.random import random
from jostle.recipes.tensorfuzz import tensorfuzz
from jostle.records import Seeds
from jostle.subjects.registry import load
from jostle.zoo import lenet1, mnist_sample

IMAGES, LABELS = (some[:20] for some in mnist_sample())
SEEDS = Seeds(IMAGES, LABELS, tuple(map(str, range(20))))
RECIPES: dict[str, tuple[Callable[..., Campaign], dict[str, Any]]] = {
    "tensorfuzz": (tensorfuzz, {"oracle": "flip"}),
    "deephunter": (deephunter, {}),
    "dlfuzz": (dlfuzz, {"neurons": 3}),
    "deepxplore": (deepxplore, {"models": ["jostle.zoo:lenet5"]}),
    "random": (random, {"oracle": ["flip"]}),
}


@pytest.mark.parametrize("name", RECIPES)
def test_it_makes_a_campaign_that_its_seed_determines(name: str) -> None:
    recipe, options = RECIPES[name]
    runs = [recipe(load("jostle.zoo:lenet1"), SEEDS, executions=600, seed=1, **options) for _ in range(2)]
    summaries = [campaign.run() for campaign in runs]
    assert [summary.executions for summary in summaries] == [600, 600]
    assert summaries[0].findings == summaries[1].findings
    assert torch.equal(runs[0].corpus.select(torch.arange(20)).inputs, runs[1].corpus.select(torch.arange(20)).inputs)


def test_other_models_and_a_twin_may_be_subjects_themselves() -> None:
    own, other = load("jostle.zoo:lenet1"), load("jostle.zoo:lenet5")
    assert deepxplore(own, SEEDS, models=[other], executions=200).run().rates.keys() == {"model", "model 2"}
    assert tensorfuzz(own, SEEDS, twin=other, executions=200).run().rates.keys() == {"model", "twin"}


def test_a_twin_is_compared_and_a_profile_is_measured_against() -> None:
    profile = CoverageMeter(lenet1(), ["kmnc"]).take_profile([IMAGES])
    campaign = deephunter(load("jostle.zoo:lenet1"), SEEDS, executions=300, twin="weights16", profile=profile)
    assert campaign.run().rates.keys() == {"model", "twin"}


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        ({"out": "folder"}, "out is of jostle fuzz"),
        ({"isolate": True}, "isolate is of jostle fuzz"),
        ({"recipe": "dlfuzz"}, "recipe is of jostle fuzz"),
        ({"profile": "data.npz"}, "give a Profile"),
        ({"mean": [0.5]}, "--mean has 1 numbers, --std has 0"),
        ({"executions": 5}, "the 20 seeds run first"),
        ({"gamma": 3, "scheduler": "recent"}, "--gamma needs --scheduler"),
        ({"sigmma": 3}, "did you mean 'sigma'"),
    ],
)
def test_what_a_script_cannot_have_is_refused(options: dict[str, Any], cause: str) -> None:
    with pytest.raises(UsageError, match=cause):
        deephunter(load("jostle.zoo:lenet1"), SEEDS, **options)


def test_pre_flight_is_for_scripts_too() -> None:
    with pytest.raises(PreflightFailed, match="outside the declared range"):
        deephunter(load("jostle.zoo:lenet1"), Seeds(IMAGES * 255, LABELS, SEEDS.names))
