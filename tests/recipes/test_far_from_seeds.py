"""What havoc is for: two functions that differ only far from all seeds."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from jostle.recipes.tensorfuzz import tensorfuzz
from jostle.step_records import Summary
from jostle.subjects.registry import subject_of
from jostle.subjects.subject import Subject
from making import seeds_of

SHAPE = (4, 4)
POSITIVE = torch.rand(20, *SHAPE, generator=torch.Generator().manual_seed(0)) / 2 + 0.5
WEIGHTS = torch.arange(32.0).view(16, 2)
EXECUTIONS = 3000


def weighted(inputs: Tensor) -> Tensor:
    return inputs.flatten(1) @ WEIGHTS


def weighted_unless_negative(inputs: Tensor) -> Tensor:
    return torch.where((inputs < 0).flatten(1).all(1, keepdim=True), 0.0, weighted(inputs))


def subject(function: object) -> Subject:
    found = subject_of(function)
    assert found is not None
    return found


def searched(seed: int, **chosen: Any) -> Summary:
    campaign = tensorfuzz(
        subject(weighted),
        seeds_of(POSITIVE),
        twin=subject(weighted_unless_negative),
        **{"range": (-1, 1), "oracle": "agree", "agree": "1e-3", "executions": EXECUTIONS, "findings": 1, **chosen},
        seed=seed,
    )
    return campaign.run()


@pytest.mark.parametrize("mutator", ["havoc", "noise,havoc"])
@pytest.mark.parametrize("seed", range(5))
def test_a_difference_where_all_values_are_negative_is_found_from_positive_seeds(mutator: str, seed: int) -> None:
    assert searched(seed, mutator=mutator).findings == {"agree": 1}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("radius", [None, 2])
def test_noise_alone_does_not_find_it_near_the_seeds_nor_with_the_whole_range(radius: float | None, seed: int) -> None:
    assert searched(seed, mutator="noise", radius=radius).findings == {}


def test_a_radius_keeps_havoc_from_it() -> None:
    summary = searched(0, mutator="noise,havoc", radius=0.2)
    assert summary.findings == {} and summary.executions == EXECUTIONS
