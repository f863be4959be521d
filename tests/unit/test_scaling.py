"""Activations as DeepXplore compares them: scaled to 0..1 over all values that a layer takes for one input."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from jostle.options.campaign import EVERY_UNIT
from jostle.records import Trace
from jostle.scaling import extremes_in, layer_numbers, scaled
from jostle.subjects.torch_target import TorchTarget
from making import batch_of

LAYERS = (("conv", 2), ("fc", 3))


def test_neurons_are_numbered_by_their_layer() -> None:
    assert layer_numbers(LAYERS).tolist() == [0, 0, 1, 1, 1]
    assert layer_numbers(()).tolist() == []


def test_extremes_stand_side_by_side_and_a_layer_that_did_not_run_has_none() -> None:
    extremes = {"fc": torch.tensor([[-1.0, 2.0], [0.0, 3.0]])}
    assert extremes_in(extremes, LAYERS, 2).tolist() == [[[0, 0], [-1, 2]], [[0, 0], [0, 3]]]


def test_values_are_shares_of_their_layers_span() -> None:
    extremes = torch.tensor([[[-2.0, 2.0], [0.0, 10.0]]])
    values = torch.tensor([[-2.0, 1.0, 0.0, 5.0, 10.0]])
    assert scaled(values, extremes, layer_numbers(LAYERS)).tolist() == [[0.0, 0.75, 0.0, 0.5, 1.0]]


@settings(deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), shift=st.floats(-100, 100), factor=st.floats(0.01, 100))
def test_shares_do_not_depend_on_the_unit_of_a_layer(seed: int, shift: float, factor: float) -> None:
    rng = torch.Generator().manual_seed(seed)
    values = torch.rand(4, 5, generator=rng, dtype=torch.float64)
    extremes = torch.tensor([[[0.0, 1.0], [-1.0, 2.0]]], dtype=torch.float64).expand(4, 2, 2)
    once = scaled(values, extremes, layer_numbers(LAYERS))
    again = scaled(values * factor + shift, extremes * factor + shift, layer_numbers(LAYERS))
    torch.testing.assert_close(once, again, rtol=1e-6, atol=1e-6)


def share_of(module: nn.Module, inputs: Tensor, **choices: object) -> Tensor:
    """How active the neurons of a module of one layer are, scaled [batch, neurons]."""
    target = TorchTarget(nn.Sequential(module), ["0"], extremes=True, **choices)  # type: ignore[arg-type]
    trace: Trace = target.run(batch_of(inputs))
    values = trace.activations["0"]
    layers = (("0", values.shape[1]),)
    return scaled(values, extremes_in(trace.extremes, layers, len(values)), layer_numbers(layers))


def test_every_neuron_of_a_real_layer_has_a_share_from_nothing_to_all(rng: torch.Generator) -> None:
    images = torch.rand(5, 1, 12, 12, generator=rng)
    means = share_of(nn.Conv2d(1, 6, 3), images)
    units = share_of(nn.Conv2d(1, 6, 3), images, units=EVERY_UNIT)
    for shares in (means, units):
        assert float(shares.min()) >= -1e-6 and float(shares.max()) <= 1 + 1e-6
    assert (units.amin(1) == 0).all() and (units.amax(1) == 1).all()


@pytest.mark.parametrize("value", [0.0, 0.1, -0.7])
def test_a_layer_that_is_the_same_everywhere_has_no_active_neuron(value: float) -> None:
    """Although the mean of many equal numbers may come out a little beside them."""
    shares = share_of(nn.Identity(), torch.full((2, 1, 24, 24), value))
    assert shares.tolist() == [[0.0], [0.0]]
