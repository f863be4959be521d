"""LabelReading a layer's output while the model runs."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from jostle.subjects.torch_probes import Probes, Reduction, channel_means, every_unit


def seen(module: nn.Module, inputs: Tensor, reduction: Reduction = channel_means) -> dict[str, Tensor]:
    with Probes(module, [name for name, child in module.named_modules() if name], reduction).watching() as seen:
        module(inputs)
    return seen.activations


def test_a_channel_is_its_mean() -> None:
    images = torch.rand(2, 3, 5, 4)
    torch.testing.assert_close(channel_means(nn.Identity(), images), images.mean((2, 3)))
    volumes = torch.rand(2, 3, 5, 4, 6)
    torch.testing.assert_close(channel_means(nn.Identity(), volumes), volumes.mean((2, 3, 4)))


def test_every_unit_is_a_neuron_of_its_own() -> None:
    images = torch.rand(2, 3, 5, 4)
    assert torch.equal(every_unit(nn.Identity(), images), images.flatten(1))
    assert every_unit(nn.Identity(), torch.rand(7)).shape == (7, 1)


def test_dense_outputs_are_taken_as_they_are() -> None:
    rows = torch.rand(2, 9)
    assert torch.equal(channel_means(nn.Linear(1, 1), rows), rows)
    assert channel_means(nn.Linear(1, 1), torch.rand(7)).shape == (7, 1)


def test_of_sequences_the_last_dimension_is_the_channels_and_of_convolutions_the_first() -> None:
    values = torch.rand(2, 5, 8)
    torch.testing.assert_close(channel_means(nn.LayerNorm(8), values), values.mean(1))
    torch.testing.assert_close(channel_means(nn.Conv1d(1, 5, 1), values), values.mean(2))


def test_means_are_finite_exactly_where_the_output_is() -> None:
    large = torch.full((3, 2, 4, 4), 3e38)
    large[1, 0, 2, 2] = torch.inf
    large[2, 1, 0, 0] = torch.nan
    means = channel_means(nn.Conv2d(1, 2, 1), large)
    assert means.isfinite().tolist() == [[True, True], [False, True], [True, False]]
    half = torch.full((1, 2, 64, 64), 60000.0, dtype=torch.float16)
    assert channel_means(nn.Conv2d(1, 2, 1), half).isfinite().all()


def test_a_layer_that_is_called_again_is_a_layer_of_its_own() -> None:
    class Shared(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.clip = nn.Hardtanh(-4, 4)

        def forward(self, inputs: Tensor) -> Tensor:
            return self.clip(self.clip(self.clip(inputs) * 2) * 2)

    activations = seen(Shared(), torch.ones(1, 1))
    assert {name: float(value) for name, value in activations.items()} == {"clip": 1, "clip#2": 2, "clip#3": 4}


def test_the_first_tensor_of_a_tuple_is_read() -> None:
    class Recurrent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(3, 6, batch_first=True)

        def forward(self, inputs: Tensor) -> Tensor:
            return self.lstm(inputs)[0][:, -1]

    module, inputs = Recurrent(), torch.rand(2, 5, 3)
    with torch.no_grad():
        expected = module.lstm(inputs)[0].mean(1)
    torch.testing.assert_close(seen(module, inputs)["lstm"], expected)


def test_nothing_hangs_on_the_module_between_runs_also_after_a_crash() -> None:
    module = nn.Sequential(nn.Linear(2, 2))
    probes = Probes(module, ["0"], channel_means)
    with pytest.raises(RuntimeError), probes.watching():
        module(torch.zeros(1, 3))
    assert not module[0]._forward_hooks
    with probes.watching() as seen_by_one:
        module(torch.zeros(1, 2))
    module(torch.zeros(1, 2))
    assert list(seen_by_one.activations) == ["0"]


@pytest.mark.parametrize("reduction", [channel_means, every_unit])
def test_extremes_are_of_all_values_of_a_layer_where_asked_for(reduction: Reduction) -> None:
    module, images = nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU()), torch.rand(2, 1, 6, 6)
    with (
        Probes(module, ["0", "1"], reduction, extremes=True).watching() as asked,
        Probes(module, ["0", "1"], reduction).watching() as unasked,
    ):
        outputs = module(images)
    assert list(asked.extremes) == ["0", "1"] and asked.extremes["0"].shape == (2, 2)
    assert asked.extremes["1"].tolist() == [[row.min().item(), row.max().item()] for row in outputs]
    assert unasked.extremes == {}
