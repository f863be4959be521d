"""A model whose inputs have no answer of their own is told by its real name, with its fix."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from jostle.composition.compose import watching
from jostle.errors import PreflightFailed
from jostle.inputs.behaviour import ExaminedRows, examined_rows, remarks_on_traits
from jostle.inputs.preflight import Flight, ModelFacts, preflight
from jostle.inputs.value_range import ValueRange
from jostle.recipes.tensorfuzz import TENSORFUZZ
from jostle.subjects.instrument import Instrumented, instrument
from jostle.subjects.subject import Watch
from jostle.subjects.torch_module import of_module
from jostle.subjects.torch_twins import int8
from jostle.traits import Traits
from making import batch_of, options, seeds_of

ROWS = torch.rand(12, 3, 6, 6, generator=torch.Generator().manual_seed(0))
VECTORS = ROWS.flatten(1)


class Calling(nn.Module):
    """Any function of a batch as a module."""

    def __init__(self, function: object, inner: nn.Module | None = None):
        super().__init__()
        self._function, self.inner = function, inner

    def forward(self, inputs: Tensor) -> Tensor:
        return self._function(inputs) if self.inner is None else self._function(self.inner, inputs)  # type: ignore


class Stubborn(nn.Sequential):
    """Stays in training mode."""

    def train(self, mode: bool = True) -> nn.Module:
        return super().train(True)


def over_the_batch(inputs: Tensor) -> Tensor:
    flat = inputs.flatten(1)
    return (flat - flat.mean(0)) / (flat.std(0, correction=0) + 0.1)


def instrumented(module: nn.Module, inputs: Tensor) -> Instrumented:
    return instrument(watching(TENSORFUZZ, options()), of_module(module), inputs).contained()


def flown(module: nn.Module, inputs: Tensor = ROWS, force: bool = False, batch: int = 16) -> Flight:
    model = instrumented(module, inputs)
    return preflight(model.target, seeds_of(inputs), ValueRange(0, 1), batch, force, ModelFacts(traits=model.traits))


def doubted(module: nn.Module, *parts: str, inputs: Tensor = ROWS) -> None:
    """Refused in one line that holds these parts; a warning, and the only one, by force."""
    with pytest.raises(PreflightFailed) as refusal:
        flown(module, inputs)
    assert all(part in str(refusal.value) for part in (*parts, "--force")), refusal.value
    assert "\n" not in str(refusal.value)
    (warning,) = flown(module, inputs, force=True).warnings
    assert all(part in warning for part in parts)


def warned(module: nn.Module, *parts: str, inputs: Tensor = ROWS) -> None:
    (warning,) = flown(module, inputs).warnings
    assert all(part in warning for part in parts), warning


def test_batch_normalisation_in_training_mode_is_named() -> None:
    model = Stubborn(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(64, 5))
    doubted(model, "1 (BatchNorm2d) is in training mode", "normalises over the batch", "fix the model's train()")


def test_a_layer_that_the_model_itself_puts_in_training_mode_is_named() -> None:
    doubted(Calling(lambda inner, x: inner.train()(x), nn.BatchNorm2d(3)), "inner (BatchNorm2d) is in training mode")


def test_batch_normalisation_of_vectors_is_named_although_it_fails_on_one_input() -> None:
    with pytest.raises(PreflightFailed, match=r"0 \(BatchNorm1d\) is in training mode"):
        flown(Stubborn(nn.BatchNorm1d(108)), VECTORS)


def test_batch_normalisation_without_statistics_is_named() -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4, track_running_stats=False), nn.Flatten())
    doubted(model, "1 (BatchNorm2d) is without running statistics", "track_running_stats=True")


def test_batch_normalisation_as_it_should_be_says_nothing() -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.InstanceNorm2d(4), nn.Flatten(), nn.Linear(64, 5))
    assert flown(model).warnings == ()


@pytest.mark.parametrize(
    "function",
    [
        over_the_batch,
        lambda x: nn.functional.batch_norm(x, None, None, training=True),
        lambda x: x.flatten(1) - x[:1].flatten(1) / 2,
        lambda x: x.flatten(1).softmax(0),
    ],
    ids=["standardised", "batch_norm", "first row", "softmax over the batch"],
)
def test_code_that_mixes_rows_is_told(function: object) -> None:
    doubted(Calling(function), "depends on the others in its batch", "not over the batch", "--batch 1")


def test_rows_that_run_alone_cannot_depend_on_their_batch() -> None:
    assert flown(Calling(lambda x: x.flatten(1) + x.flatten(1).mean(0)), batch=1).warnings == ()


def test_dynamic_quantisation_is_a_warning_that_names_the_layer() -> None:
    torch.manual_seed(0)
    model = int8(nn.Sequential(nn.Linear(108, 64), nn.ReLU(), nn.Linear(64, 5)))
    warned(model, "(Linear)", "dynamic quantisation", "flaky", "--batch 1", inputs=VECTORS)


def test_a_slight_dependence_of_unknown_cause_is_a_warning() -> None:
    coarse = Calling(lambda x: x.flatten(1) + 0.01 * x.amax() * x.flatten(1).mean(0))
    warned(coarse, "differs by up to", "as by dynamic quantisation", "flaky")


@pytest.mark.parametrize(
    "function",
    [
        lambda x: nn.functional.dropout(x.flatten(1), 0.5, training=True),
        lambda x: x.flatten(1) + torch.randn(len(x), 108),
    ],
    ids=["dropout", "noise"],
)
def test_a_random_model_is_told_as_such_and_not_as_one_that_mixes_rows(function: object) -> None:
    doubted(Calling(function), "answers differently each time", "remove dropout or noise")


@pytest.mark.parametrize(
    "function",
    [lambda x: x.sub_(0.5).flatten(1), lambda x: x.relu_().flatten(1)],
    ids=["another value", "the same value here"],
)
def test_a_model_that_changes_its_input_is_a_warning(function: object) -> None:
    warned(Calling(function), "changes its input in place", "inputs.clone()")


def test_metadata_get_the_input_as_it_was_given() -> None:
    watch = Watch(metadata=lambda inputs, outputs, labels: {"input": inputs.flatten(1)})
    target = of_module(Calling(lambda x: x.sub_(0.5).flatten(1))).target(watch)
    assert torch.equal(target.run(batch_of(ROWS)).metadata["input"], VECTORS)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.view(1, 108) * 2,
        lambda x: x.mean(0, keepdim=True).flatten(1) * 2,
        lambda x: x.flatten()[None] * 2,
    ],
    ids=["raises", "averages", "merges rows"],
)
def test_a_model_that_needs_batches_of_one_gets_them(function: object) -> None:
    warned(Calling(function), "one input at a time only", "let it take [batch, ...]")
    outputs = instrumented(Calling(function), ROWS).target.run(batch_of(ROWS)).outputs["model"]
    assert torch.allclose(outputs, VECTORS * 2)


def test_layers_of_a_model_that_needs_batches_of_one_are_watched() -> None:
    def first(inner: nn.Module, x: Tensor) -> Tensor:
        return inner(x.view(1, 108))

    model = instrumented(Calling(first, nn.Linear(108, 4)), ROWS)
    assert model.layers == ["inner"] and model.traits.one_by_one
    assert model.target.run(batch_of(ROWS)).activations["inner"].shape == (12, 4)


@pytest.mark.parametrize(
    "function",
    [lambda x: x.flatten(1).sum(1, keepdim=True).squeeze(), lambda x: x.mean(), lambda x: x.flatten()],
    ids=["squeeze", "one number", "flatten"],
)
def test_an_output_without_a_row_per_input_is_refused_with_the_fix(function: object) -> None:
    with pytest.raises(PreflightFailed, match=r"batch of 1 has shape .*return one row per input, with squeeze\(1\)"):
        flown(Calling(function))


def test_several_layers_are_told_by_the_first() -> None:
    (remark,) = remarks_on_traits(Traits(in_training=True, over_batch=("a (B)", "c (B)", "d (B)")))
    assert remark.misleads and remark.text.startswith("a (B) (as 2 more) is in training mode")


def test_half_precision_may_round_more() -> None:
    model = nn.Sequential(nn.Flatten(), nn.Linear(108, 64), nn.ReLU(), nn.Linear(64, 5)).to(torch.bfloat16)
    examined = examined_rows(instrumented(model, ROWS).target, ROWS, Traits(), 16)
    assert examined == ExaminedRows((), independent=True)


def test_values_that_are_not_finite_are_compared_too() -> None:
    calls = iter([1.0, torch.inf])
    model = Calling(lambda x: torch.full((len(x), 2), next(calls)))
    examined = examined_rows(of_module(model).target(), ROWS, Traits(), 16)
    (remark,) = examined.remarks
    assert "answers differently each time" in remark.text and not examined.independent


def independent(model: nn.Module, batch: int = 16, traits: Traits | None = None) -> bool:
    """Whether pre-flight knows rows of this model not to depend on each other."""
    return examined_rows(of_module(model).target(), ROWS, traits or Traits(), batch).independent


def fails_above(rows: int) -> Calling:
    """A model that takes so many rows at once, and no more."""

    def called(inputs: Tensor) -> Tensor:
        assert len(inputs) <= rows
        return inputs.flatten(1)[:, :2]

    return Calling(called)


def test_rows_are_called_independent_only_where_answers_were_compared_and_are_the_same_but_for_rounding() -> None:
    linear = nn.Sequential(nn.Flatten(), nn.Linear(108, 5))
    assert independent(linear)
    assert not independent(linear, batch=1)  # never compared, for want of a batch
    assert not independent(fails_above(1)) and not independent(fails_above(0))
    assert not independent(Calling(lambda x: x.flatten(1)[:, :2] - x.mean()))
    assert not independent(Calling(lambda x: x.flatten(1)[:, :2] + torch.rand(len(x), 2)))


@pytest.mark.parametrize("traits", [Traits(in_training=True), Traits(over_batch=("a",)), Traits(quantised=("a",))])
def test_rows_that_layers_tell_to_depend_on_each_other_are_not_called_independent(traits: Traits) -> None:
    assert not independent(nn.Sequential(nn.Flatten(), nn.Linear(108, 5)), traits=traits)
