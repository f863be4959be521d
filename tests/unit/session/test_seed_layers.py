"""What layers give on the seeds, and where inputs lie and depart."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from jostle.records import Trace
from jostle.session.locate import departures, not_finite
from jostle.session.seed_layers import SeedLayers
from jostle.storage.finding_record import DEPARTS, NOT_FINITE
from jostle.subjects.torch_target import TorchTarget
from jostle.zoo import lenet5, mnist_sample
from making import batch_of, seeds_of

LAYERS = ["conv1", "conv2", "fc1", "fc2", "fc3"]
LENET = TorchTarget(lenet5(), LAYERS)


@pytest.fixture(scope="module")
def known() -> SeedLayers:
    images, _ = mnist_sample()
    return SeedLayers.of(LENET, seeds_of(images[:100]), 64, ["fc3"])


def test_the_last_hidden_layer_is_the_one_before_the_scores(known: SeedLayers) -> None:
    assert known.last_hidden == "fc2"
    assert SeedLayers({"only": torch.zeros(2, 3)}, ["only"]).last_hidden == "only"
    assert SeedLayers({}, []).last_hidden is None


@pytest.mark.parametrize("times", [1, 1000])
def test_a_distance_of_one_is_typical_between_a_seed_and_its_nearest(known: SeedLayers, times: float) -> None:
    """However large what the layer gives is."""
    images, _ = mnist_sample()
    trace = LENET.run(batch_of(images[:100].clone()))
    scaled = {name: values * times for name, values in trace.activations.items()}
    places = SeedLayers(scaled, ["fc3"]).places(Trace(trace.outcome, trace.outputs, scaled))
    assert places is not None
    nearest = torch.cdist(places, places).fill_diagonal_(torch.inf).amin(1)
    assert float(nearest.median()) == pytest.approx(1, rel=0.02)


def test_seeds_that_are_all_alike_or_alone_have_a_unit_too() -> None:
    for values in (torch.ones(3, 4), torch.ones(1, 4), torch.zeros(2, 4), torch.full((2, 4), torch.nan)):
        assert SeedLayers({"a": values}).units["a"] in (1.0, 2.0)


def test_an_input_departs_where_it_is_changed(known: SeedLayers) -> None:
    images, _ = mnist_sample()
    usual = LENET.run(batch_of(images[:8].clone()))
    for number, layer in enumerate(LAYERS):
        # From this layer on, another image is seen.
        other = LENET.run(batch_of(images[8:16].clone())).activations
        mixed = {
            name: other[name] if position >= number else values
            for position, (name, values) in enumerate(usual.activations.items())
        }
        for location in departures(Trace(usual.outcome, usual.outputs, mixed), usual, known):
            assert location is not None and location.layer == layer and location.why == DEPARTS
            assert location.high == pytest.approx(known.units[layer]) and location.high < location.low
    assert departures(usual, usual, known) == [None] * 8


class Logarithm(nn.Module):
    """Not finite where the first value is negative."""

    def __init__(self) -> None:
        super().__init__()
        self.shift, self.log, self.scores = nn.Linear(2, 2), Log(), nn.Linear(2, 3)
        self.shift.weight.data, self.shift.bias.data = torch.eye(2), torch.tensor([0.0, 10.0])

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.scores(self.log(self.shift(rows)))
        return scores


class Log(nn.Module):
    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return rows.log()


def test_the_first_layer_that_is_not_finite_is_named_with_what_went_in() -> None:
    target = TorchTarget(Logarithm(), ["shift", "log", "scores"])
    rows = batch_of(torch.tensor([[-0.5, 0.25], [0.5, 0.5], [torch.inf, 1.0]]))
    trace = target.run(rows)
    for gradients in (target, None):
        first, fine, infinite = not_finite(rows, trace, gradients)
        assert first is not None and (first.layer, first.why) == ("log", NOT_FINITE)
        assert (first.low, first.high) == (-0.5, 10.25)
        assert fine is None
        assert infinite is not None and infinite.layer == "shift" and infinite.high == torch.inf


class InBetween(nn.Module):
    """Not finite between two layers where the first value is negative; the second works in place if it shall."""

    def __init__(self, inplace: bool) -> None:
        super().__init__()
        self.shift, self.relu, self.scores = nn.Linear(2, 2), nn.ReLU(inplace), nn.Linear(2, 3)
        self.shift.weight.data, self.shift.bias.data = torch.eye(2), torch.tensor([0.0, 10.0])

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.scores(self.relu(self.shift(rows).log()))
        return scores


def test_a_layer_that_was_given_a_nan_did_not_make_it() -> None:
    target = TorchTarget(InBetween(inplace=False), ["shift", "relu", "scores"])
    rows = batch_of(torch.tensor([[-0.5, 0.25], [0.5, 0.5]]))
    seen, fine = not_finite(rows, target.run(rows), target)
    assert seen is not None and (seen.layer, seen.passed_on, fine) == ("relu", True, None)
    made, _ = not_finite(rows, TorchTarget(Logarithm(), ["log", "scores"]).run(rows), None)
    assert made is not None and not made.passed_on


def test_what_a_layer_that_works_in_place_was_given_is_not_taken_from_what_it_left_there() -> None:
    target = TorchTarget(InBetween(inplace=True), ["shift", "relu", "scores"])
    rows = batch_of(torch.tensor([[-0.5, 0.25]]))
    (seen,) = not_finite(rows, target.run(rows), target)
    assert seen is not None and (seen.layer, seen.low, seen.high) == ("relu", -0.5, 10.25)
