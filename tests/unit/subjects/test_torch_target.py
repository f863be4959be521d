"""A torch module as a target."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from jostle.records import MODEL
from jostle.subjects.torch_target import TorchTarget
from making import batch_of


def cubes(inputs: Tensor, outputs: Tensor, labels: Tensor) -> dict[str, Tensor]:
    return {"cube": (outputs.double() ** 3).sum(1), "labels": labels, "fixed": torch.ones(len(inputs))}


def test_metadata_is_computed_from_inputs_outputs_and_labels() -> None:
    def told(inputs: Tensor, outputs: Tensor, labels: Tensor) -> dict[str, Tensor]:
        return {"sum": inputs.sum(1) + 10 * outputs.sum(1) + 100 * labels}

    batch = batch_of(torch.ones(2, 1), labels=torch.tensor([1, 2]))
    assert TorchTarget(nn.Identity(), metadata=told).run(batch).metadata["sum"].tolist() == [111, 211]


def test_gradients_equal_finite_differences(rng: torch.Generator) -> None:
    module = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2)).double()
    inputs = torch.rand(4, 3, generator=rng, dtype=torch.float64)
    target = TorchTarget(module, mean=[0.1, 0.2, 0.3], std=[0.5, 0.6, 0.7], metadata=cubes, gradients=True)
    gradient = target.run(batch_of(inputs)).metadata["cube.grad"]
    assert gradient.shape == (4, 3)
    step = 1e-5
    for column in range(3):
        moved = torch.zeros(4, 3, dtype=torch.float64)
        moved[:, column] = step
        above, below = (target.run(batch_of(inputs + sign * moved)).metadata["cube"] for sign in (1, -1))
        torch.testing.assert_close(gradient[:, column], (above - below) / (2 * step), rtol=1e-5, atol=1e-7)


def test_values_that_do_not_depend_on_the_input_have_no_gradient() -> None:
    metadata = TorchTarget(nn.Linear(2, 2), metadata=cubes, gradients=True).run(batch_of(torch.rand(3, 2))).metadata
    assert list(metadata) == ["cube", "labels", "fixed", "cube.grad"]


def test_without_asking_there_are_no_gradients() -> None:
    metadata = TorchTarget(nn.Linear(2, 2), metadata=cubes).run(batch_of(torch.rand(3, 2))).metadata
    assert list(metadata) == ["cube", "labels", "fixed"]


def test_inputs_can_be_kept_after_their_gradients_were_taken() -> None:
    batch = batch_of(torch.rand(3, 2))
    TorchTarget(nn.Linear(2, 2), metadata=cubes, gradients=True).run(batch)
    batch.inputs.numpy()


class Differentiating(nn.Module):
    """Works with gradients, whatever it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.Linear(2, 2)

    def forward(self, inputs: Tensor) -> dict[str, Tensor]:
        with torch.enable_grad():
            return {"logits": self.weights(inputs), "more": self.weights(inputs)}


def test_what_a_model_answers_has_no_graph_behind_it() -> None:
    target, batch = TorchTarget(Differentiating(), ["weights"]), batch_of(torch.rand(3, 2))
    trace = target.run(batch)
    given = [target.predict(batch.inputs), *trace.outputs.values(), *trace.others.values(), *trace.activations.values()]
    assert len(given) == 5 and not any(value.requires_grad for value in given)


def test_metadata_must_have_one_row_per_input() -> None:
    target = TorchTarget(nn.Identity(), metadata=lambda inputs, outputs, labels: {"loss": outputs.mean()})
    with pytest.raises(ValueError, match=r"'loss' has shape \[\], not one row per input"):
        target.run(batch_of(torch.rand(1, 2)))


def test_normalisation_is_per_channel_and_inside_the_target() -> None:
    images = torch.rand(2, 3, 4, 4)
    target = TorchTarget(nn.Identity(), mean=[0.1, 0.2, 0.3], std=[1.0, 2.0, 4.0])
    expected = (images - torch.tensor([0.1, 0.2, 0.3]).view(3, 1, 1)) / torch.tensor([1.0, 2.0, 4.0]).view(3, 1, 1)
    torch.testing.assert_close(target.predict(images), expected)
    torch.testing.assert_close(target.run(batch_of(images)).outputs[MODEL], expected)


def test_dropout_and_batch_normalisation_are_in_eval_mode() -> None:
    module = nn.Sequential(nn.BatchNorm1d(4), nn.Dropout(0.5)).train()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    target, batch = TorchTarget(module), batch_of(torch.rand(8, 4) * 9)
    assert torch.equal(target.run(batch).outputs[MODEL], target.run(batch).outputs[MODEL])
    torch.testing.assert_close(target.run(batch).outputs[MODEL], batch.inputs, rtol=1e-4, atol=1e-4)
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())


@pytest.mark.parametrize(
    "give", [lambda x: (x, x.sum()), lambda x: {"aux": x * 0, "logits": x}, lambda x: [None, x], lambda x: {"out": x}]
)
def test_the_output_is_found_in_tuples_and_mappings(give: object) -> None:
    class Giving(nn.Module):
        def forward(self, inputs: Tensor) -> object:
            return give(inputs)  # type: ignore[operator]

    inputs = torch.rand(3, 2)
    assert torch.equal(TorchTarget(Giving()).predict(inputs), inputs)


@pytest.mark.parametrize("give", [lambda x: x.sum(), lambda x: x[:1], lambda x: None, lambda x: "text"])
def test_an_output_without_one_row_per_input_is_an_error(give: object) -> None:
    class Giving(nn.Module):
        def forward(self, inputs: Tensor) -> object:
            return give(inputs)  # type: ignore[operator]

    with pytest.raises(ValueError, match="not one row per input"):
        TorchTarget(Giving()).run(batch_of(torch.rand(3, 2)))


def test_activations_that_a_crash_left_behind_do_not_show_later() -> None:
    class Fussy(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Identity()

        def forward(self, inputs: Tensor) -> Tensor:
            if (self.first(inputs) > 1).any():
                raise ValueError("too large")
            return inputs

    target = TorchTarget(Fussy(), ["first"])
    with pytest.raises(ValueError, match="too large"):
        target.run(batch_of(torch.full((5, 1), 2.0)))
    trace = target.run(batch_of(torch.zeros(2, 1)))
    assert {name: value.shape for name, value in trace.activations.items()} == {"first": (2, 1)}


def test_a_model_in_double_precision_gets_doubles() -> None:
    trace = TorchTarget(nn.Linear(3, 2).double()).run(batch_of(torch.rand(4, 3)))
    assert trace.outputs[MODEL].dtype == torch.float64


def test_gradients_of_metadata_that_does_not_depend_on_the_input_are_an_error() -> None:
    target = TorchTarget(nn.Identity(), metadata=lambda inputs, outputs, labels: {"x": labels.float()}, gradients=True)
    with pytest.raises(ValueError, match="no metadata value depends on the input"):
        target.run(batch_of(torch.rand(4, 3)))
