"""A setting that would make every result meaningless is refused, with the fix named."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from jostle.errors import PreflightFailed
from jostle.inputs.preflight import Flight, ModelFacts, check_images, preflight
from jostle.inputs.value_range import ValueRange
from jostle.records import NO_LABEL, Seeds
from jostle.subjects.instrument import traits_on
from jostle.subjects.torch_module import of_module
from jostle.subjects.torch_target import Metadata, TorchTarget
from jostle.targets.contained import Contained
from jostle.zoo import lenet1, mnist_sample
from making import seeds_of


def checked(
    module: nn.Module,
    seeds: Seeds,
    low: float = 0,
    high: float = 1,
    force: bool = False,
    metadata: Metadata | None = None,
) -> Flight:
    target = Contained(TorchTarget(module, metadata=metadata))
    known = ModelFacts(traits=traits_on(of_module(module), seeds.inputs))
    return preflight(target, seeds, ValueRange.of(seeds.inputs, low, high), 16, force, known)


def digits(count: int = 50) -> Seeds:
    images, labels = mnist_sample()
    return seeds_of(images[:count], labels[:count])


def refused(module: nn.Module, seeds: Seeds, match: str, **choices: object) -> None:
    with pytest.raises(PreflightFailed, match=match) as error:
        checked(module, seeds, **choices)  # type: ignore[arg-type]
    assert "\n" not in str(error.value)


def doubted(module: nn.Module, seeds: Seeds, match: str, **choices: object) -> None:
    """Refused, and with force a warning."""
    refused(module, seeds, f"{match}.*, or --force", **choices)
    (warning,) = checked(module, seeds, force=True, **choices).warnings  # type: ignore[arg-type]
    assert match.split(".*")[0] in warning


def test_a_good_model_and_good_seeds_are_cleared_with_their_accuracy() -> None:
    flight = checked(lenet1(), digits())
    assert flight.warnings == () and flight.accuracy is not None and flight.accuracy > 0.9
    assert torch.equal(flight.seeds.labels, digits().labels)


def test_arrays_that_may_be_images_with_channels_last_are_told_of() -> None:
    seeds = seeds_of(digits().inputs.movedim(1, -1), digits().labels)
    (warning,) = checked(nn.Sequential(nn.Flatten(), lenet1_of_flat()), seeds).warnings
    assert warning.startswith("seeds of shape [28, 28, 1] are changed as plain arrays") and "--layout nhwc" in warning


def lenet1_of_flat() -> nn.Module:
    return nn.Sequential(nn.Unflatten(1, (1, 28, 28)), lenet1())


def test_where_labels_are_unknown_the_models_answer_is_the_label_to_keep() -> None:
    known = digits().labels.clone()
    known[::2] = NO_LABEL
    flight = checked(lenet1(), seeds_of(digits().inputs, known))
    expected = torch.where(known == NO_LABEL, lenet1()(digits().inputs).argmax(1), known)
    assert torch.equal(flight.seeds.labels, expected)
    assert flight.seeds.completed is not None and torch.equal(flight.seeds.completed, known == NO_LABEL)


def test_a_model_that_gives_no_classes_gets_no_labels_and_no_accuracy() -> None:
    flight = checked(nn.Identity(), digits())
    assert flight.accuracy is None
    assert checked(nn.Identity(), seeds_of(digits().inputs)).seeds.labels.tolist() == [NO_LABEL] * 50


def test_values_outside_the_range_are_refused_with_a_range_that_fits_even_by_force() -> None:
    seeds = seeds_of(digits().inputs * 255)
    for force in (False, True):
        refused(lenet1(), seeds, r"from 0 to 255, outside .* 0 to 1: give --range 0,255", force=force)


def test_seeds_that_are_not_finite_are_refused_by_name() -> None:
    inputs = digits().inputs.clone()
    inputs[3, 0, 0, 0] = torch.nan
    refused(lenet1(), seeds_of(inputs), "seed seed 3 holds NaN or infinity: remove it")


def test_seeds_that_fill_next_to_nothing_of_the_range_are_doubted() -> None:
    doubted(lenet1(), digits(), "seeds span only 0 to 1 of the declared 0 to 255.*give their real --range", high=255)


def test_seeds_of_a_shape_that_the_model_refuses_are_refused() -> None:
    refused(lenet1(), seeds_of(torch.rand(4, 3, 28, 28)), r"shape \[3, 28, 28\].*check the seeds' shape")


def test_labels_that_the_model_has_no_output_for_are_refused() -> None:
    refused(lenet1(), seeds_of(digits().inputs, digits().labels + 1), "label 10 but the model has 10 outputs")


def test_an_accuracy_of_about_chance_is_doubted() -> None:
    doubted(lenet1(), seeds_of(digits().inputs, (digits().labels + 1) % 10), "accuracy on the seeds is .*check --range")


@pytest.mark.parametrize(("right", "doubtful"), [(0.5, True), (0.7, False), (0.95, False)])
def test_a_binary_classifier_is_about_chance_near_one_half_only(right: float, doubtful: bool) -> None:
    inputs = torch.rand(100, 2, generator=torch.Generator().manual_seed(0))
    labels = inputs.argmax(1)
    wrong = torch.arange(100) >= 100 * right
    seeds = seeds_of(inputs, torch.where(wrong, 1 - labels, labels))
    assert bool(checked(nn.Identity(), seeds, force=True).warnings) == doubtful


def test_low_accuracy_on_a_handful_of_seeds_may_be_chance() -> None:
    few = digits(10)
    assert checked(lenet1(), seeds_of(few.inputs, (few.labels + 1) % 10)).warnings == ()


def test_an_output_that_is_always_the_same_is_doubted() -> None:
    class Constant(nn.Module):
        def forward(self, inputs: Tensor) -> Tensor:
            return torch.ones(len(inputs), 3)

    doubted(Constant(), seeds_of(digits().inputs), "the output is the same for all 50 seeds.*check")


def test_equal_seeds_may_have_equal_outputs() -> None:
    assert checked(nn.Identity(), seeds_of(torch.rand(1, 4).expand(5, 4).clone())).warnings == ()


def test_a_model_that_answers_differently_each_time_is_doubted() -> None:
    class Noisy(nn.Module):
        def forward(self, inputs: Tensor) -> Tensor:
            return nn.functional.dropout(inputs, 0.5, training=True)

    doubted(Noisy(), seeds_of(torch.rand(20, 8)), "the model answers differently each time.*remove dropout")


def test_a_layer_that_stays_in_training_mode_is_doubted() -> None:
    class Stubborn(nn.Module):
        def train(self, mode: bool = True) -> nn.Module:
            return super().train(True)

        def forward(self, inputs: Tensor) -> Tensor:
            return inputs

    doubted(Stubborn(), seeds_of(torch.rand(4, 3)), "a layer is in training mode.*fix the model's train")


def test_metadata_that_fails_is_refused() -> None:
    def broken(inputs: Tensor, outputs: Tensor, labels: Tensor) -> dict[str, Tensor]:
        return {"loss": outputs[:, 99]}

    refused(lenet1(), digits(), "IndexError in test_preflight.py:broken", metadata=broken)


def test_a_loss_averaged_over_the_batch_is_refused() -> None:
    def averaged(inputs: Tensor, outputs: Tensor, labels: Tensor) -> dict[str, Tensor]:
        return {"loss": nn.functional.cross_entropy(outputs, labels)}

    refused(lenet1(), digits(), "'loss' has shape .*not one row per input", metadata=averaged)


class Picky(nn.Linear):
    """Fails on bright inputs."""

    def forward(self, inputs: Tensor) -> Tensor:
        if (inputs > 0.99).any():
            raise ValueError("too bright")
        return super().forward(inputs)


@pytest.mark.parametrize("bright", [0, 7, 39])
def test_a_seed_that_the_model_fails_on_is_left_to_the_crash_oracle(bright: int) -> None:
    inputs = torch.rand(40, 4, generator=torch.Generator().manual_seed(0)) * 0.9
    inputs[bright, 2] = 1.0
    module = Picky(4, 3)
    flight = preflight(Contained(TorchTarget(module)), seeds_of(inputs), ValueRange(0, 1), 16, force=False)
    assert len(flight.seeds) == 40 and flight.classes and not flight.warnings


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 5, 7), (3, 8, 16, 16), (1, 1, 4, 4), (16, 3, 32, 32)])
def test_images_and_volumes_can_be_transformed(shape: tuple[int, ...]) -> None:
    check_images(seeds_of(torch.zeros(2, *shape)))


@pytest.mark.parametrize(
    ("shape", "fix"),
    [
        ((20,), "use --mutator noise"),
        ((28, 28), "use --mutator noise"),
        ((1, 2, 3, 4, 5), "use --mutator noise"),
        ((28, 28, 1), r"x.transpose\(0, 3, 1, 2\)"),
        ((16, 32, 32, 3), r"x.transpose\(0, 4, 1, 2, 3\)"),
    ],
)
def test_what_cannot_be_transformed_is_refused_with_the_fix(shape: tuple[int, ...], fix: str) -> None:
    with pytest.raises(PreflightFailed, match=fix):
        check_images(seeds_of(torch.zeros(2, *shape)))


class Detecting(nn.Module):
    """Returns boxes and scores by name; fails on bright inputs."""

    def forward(self, inputs: Tensor) -> dict[str, Tensor]:
        if (inputs > 0.99).any():
            raise ValueError("too bright")
        return {"boxes": inputs.reshape(-1, 1, 4), "scores": inputs[:, :1]}


def test_all_that_the_model_said_of_the_seeds_is_kept() -> None:
    inputs = torch.rand(40, 4, generator=torch.Generator().manual_seed(0)) * 0.9
    inputs[7] = 1.0
    seeds = checked(Detecting(), seeds_of(inputs)).seeds
    inputs[7] = torch.nan  # of which it said nothing
    assert seeds.answers is not None
    torch.testing.assert_close(seeds.answers, inputs[:, None], equal_nan=True)
    torch.testing.assert_close(dict(seeds.other_answers), {"output.scores": inputs[:, :1]}, equal_nan=True)
    assert seeds.as_candidates().select(torch.tensor([3])).other_answers["output.scores"].tolist() == [[inputs[3, 0]]]


def test_of_a_model_with_one_output_nothing_else_is_kept() -> None:
    assert checked(lenet1(), digits()).seeds.other_answers == {}
