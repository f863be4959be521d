"""Surprise against scipy's kernel density and loops as in the paper."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.stats import gaussian_kde
from torch import Tensor

from jostle.errors import UsageError
from jostle.feedback import surprise
from jostle.feedback.surprise import DSA, LSA, Distance, Likelihood, SurpriseCoverage
from jostle.known_traces import KnownTraces, TraceSample
from jostle.part import Part, PartContext
from jostle.profile import Profile, profiled
from jostle.randomness import randomness
from jostle.records import NO_LABEL, Seeds
from making import assessed, trace_of

CLASSES = 3


def known_from(seed: int, rows: int = 90, neurons: int = 4) -> KnownTraces:
    """Classes that lie apart, and a last neuron that hardly varies."""
    rng = randomness(seed, 0)
    predicted = torch.arange(rows) % CLASSES
    points = torch.randn(rows, neurons, generator=rng) + 2 * predicted[:, None]
    points[:, -1] = 1e-4 * points[:, -1]
    return KnownTraces(("it",), points, predicted)


def queries_from(seed: int) -> tuple[Tensor, Tensor]:
    rng = randomness(seed, 1)
    return 2 + 3 * torch.randn(25, 4, generator=rng), torch.randint(CLASSES, (25,), generator=rng)


def slow_likelihood(known: KnownTraces, point: Tensor, predicted: int, least_variance: float) -> float:
    points, classes = known.points.double().numpy(), known.predicted.numpy()
    removed = {
        column
        for one in range(CLASSES)
        for column in range(points.shape[1])
        if np.var(points[classes == one][:, column]) < least_variance
    }
    used = [column for column in range(points.shape[1]) if column not in removed]
    density = gaussian_kde(points[classes == predicted][:, used].T)
    return float(-density.logpdf(point.double().numpy()[used])[0])


def slow_distance(known: KnownTraces, point: Tensor, predicted: int) -> float:
    """The nearest of the same class, then the nearest to that one of another class."""
    pairs = list(zip(known.points.tolist(), known.predicted.tolist(), strict=True))
    nearest = min((one for one, own in pairs if own == predicted), key=lambda one: math.dist(one, point.tolist()))
    other = min(math.dist(one, nearest) for one, own in pairs if own != predicted)
    return math.dist(nearest, point.tolist()) / other


@pytest.mark.parametrize("seed", range(3))
def test_likelihood_is_that_of_scipy_on_the_neurons_that_vary(seed: int) -> None:
    known, (points, predicted) = known_from(seed), queries_from(seed)
    found = Likelihood(known).of(points, predicted)
    expected = [slow_likelihood(known, *one, 1e-5) for one in zip(points, predicted.tolist(), strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_distance_is_that_of_two_loops(seed: int) -> None:
    known, (points, predicted) = known_from(seed), queries_from(seed)
    found = Distance(known).of(points, predicted)
    expected = [slow_distance(known, *one) for one in zip(points, predicted.tolist(), strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_points_are_compared_in_parts_as_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    known, (points, predicted) = known_from(0), queries_from(0)
    at_once = [kind(known).of(points, predicted) for kind in (Likelihood, Distance)]
    monkeypatch.setattr(surprise, "AT_ONCE", 40)
    in_parts = [kind(known).of(points, predicted) for kind in (Likelihood, Distance)]
    for one, other in zip(at_once, in_parts, strict=True):
        torch.testing.assert_close(one, other)


def test_a_class_of_which_nothing_is_known_is_beyond_all_surprise() -> None:
    known = known_from(0)
    for kind in (Likelihood, Distance):
        assert kind(known).of(known.points[:2], torch.tensor([7, 7])).tolist() == [math.inf, math.inf]


def test_neurons_that_always_go_together_still_have_a_density() -> None:
    known = known_from(0)
    doubled = KnownTraces(("it",), torch.cat([known.points[:, :3], known.points[:, :3]], 1), known.predicted)
    found = Likelihood(doubled).of(doubled.points, doubled.predicted)
    assert found.isfinite().all()


def test_neurons_that_never_vary_are_refused_with_the_fix() -> None:
    flat = KnownTraces(("it",), torch.zeros(9, 2), torch.arange(9) % 3)
    with pytest.raises(UsageError, match="lower --least-variance"):
        Likelihood(flat)


def test_distance_needs_classes_to_compare() -> None:
    known = known_from(0)
    with pytest.raises(UsageError, match="sees one class in all known data: use lsa"):
        Distance(KnownTraces(("it",), known.points, torch.zeros(90, dtype=torch.int64)))


class Given:
    """Surprise that is the first neuron."""

    limit = 2.0

    def of(self, points: Tensor, predicted: Tensor) -> Tensor:
        return points[:, 0].double()


def test_buckets_are_of_equal_width_open_below_and_nothing_counts_beyond_the_limit() -> None:
    feedback = SurpriseCoverage("it", ["layer"], Given(), 4)
    values = torch.tensor([0.0, 0.5, 0.51, 0.2, 2.0, 2.01, -1.0, 1.75, 1.2])
    gains = assessed(feedback, trace_of(torch.zeros(9, 2), activations={"layer": values[:, None]}))
    assert gains.tolist() == [0, 1, 1, 0, 1, 0, 0, 0, 1]
    assert feedback.coverage() == {"it": {"covered": 1.0, "limit": 2.0}}


def test_the_sample_of_known_data_is_bounded_and_evenly_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jostle.known_traces.MOST_ROWS", 10)
    sample = TraceSample(["layer"])
    for part in torch.arange(100.0).split(7):
        sample.add(trace_of(torch.zeros(len(part), 2), activations={"layer": part[:, None]}))
    known = sample.taken()
    assert known is not None and known.points[:, 0].tolist() == [0, 16, 32, 48, 64, 80, 96]


@pytest.mark.parametrize("part", [LSA, DSA])
def test_a_profile_without_known_traces_is_refused_with_the_command_that_makes_them(part: Part) -> None:  # type: ignore[type-arg]
    seeds = Seeds(torch.zeros(1, 2), torch.tensor([NO_LABEL]), ("",))
    before = Profile((("it", 4),), torch.zeros(4), torch.ones(4), 9)
    context = PartContext(seeds, novelty_layers=["it"], profile=before)
    with pytest.raises(UsageError, match=r"needs what it does on known data.*: make it again with jostle profile"):
        part.make(None, context)  # type: ignore[arg-type]


def test_a_profile_takes_the_traces_of_the_layers_that_surprise_looks_at() -> None:
    outputs = torch.eye(3)
    profile = profiled([trace_of(outputs, activations={"a": 2 * outputs, "b": 3 * outputs})], ["b"])
    assert profile.known is not None and profile.known.layers == ("b",)
    assert torch.equal(profile.known.points, 3 * outputs) and profile.known.predicted.tolist() == [0, 1, 2]
