"""Which entries the choosers prefer, counted over many draws of a fixed generator."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.interfaces import Scheduler
from jostle.randomness import randomness
from jostle.schedulers.recent import NewestFew, SmoothRecency, Uniform

DRAWS = 100_000


def shares(scheduler: Scheduler, entries: int) -> Tensor:
    """How often each entry is planned, as a share of all."""
    ids = scheduler.plan(entries, DRAWS, randomness(0, 0))
    return torch.bincount(ids, minlength=entries) / DRAWS


@pytest.mark.parametrize("scheduler", [Uniform(), SmoothRecency(0)])
def test_breadth_first_plans_every_entry_equally_often(scheduler: Scheduler) -> None:
    assert shares(scheduler, 10).tolist() == pytest.approx([0.1] * 10, abs=0.005)


def test_the_newest_few_share_alike_and_one_place_is_drawn_from_all() -> None:
    share = shares(NewestFew(4), 20)
    assert share[:16].tolist() == pytest.approx([1 / 5 / 20] * 16, abs=0.003)
    assert share[16:].tolist() == pytest.approx([1 / 5 + 1 / 5 / 20] * 4, abs=0.006)


def test_a_corpus_smaller_than_the_newest_few_is_planned_evenly() -> None:
    assert shares(NewestFew(5), 2).tolist() == pytest.approx([0.5, 0.5], abs=0.01)


def test_the_smooth_chooser_prefers_the_newer_the_more_the_higher_its_bias() -> None:
    newer_half = [float(shares(SmoothRecency(bias), 100)[50:].sum()) for bias in (0, 0.25, 0.5, 0.75, 0.95)]
    assert newer_half == sorted(newer_half)
    # age = u^(1/(1-bias)) lies below a half with probability 0.5^(1-bias)
    assert newer_half == pytest.approx([0.5 ** (1 - bias) for bias in (0, 0.25, 0.5, 0.75, 0.95)], abs=0.01)


def test_with_some_bias_no_entry_is_planned_more_often_than_a_newer_one() -> None:
    share = shares(SmoothRecency(0.5), 10)
    assert (share.diff() > 0).all()


def test_towards_depth_first_almost_only_the_newest_is_planned() -> None:
    assert shares(SmoothRecency(0.999), 10)[-1] > 0.99


@pytest.mark.parametrize("bias", [-0.1, 1.0, 2.0, float("nan")])
def test_a_bias_outside_its_range_is_refused(bias: float) -> None:
    with pytest.raises(UsageError, match="--recency"):
        SmoothRecency(bias)


def test_no_newest_at_all_is_refused() -> None:
    with pytest.raises(UsageError, match="--newest 0"):
        NewestFew(0)
