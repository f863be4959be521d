"""A model next to its twin."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor, nn

from jostle.errors import UsageError
from jostle.records import MODEL, TWIN
from jostle.subjects.torch_target import TorchTarget
from jostle.subjects.torch_twins import TWINS
from jostle.targets.twins import Twins
from jostle.zoo import lenet5, mnist_sample
from making import batch_of

every_twin = pytest.mark.parametrize("name", TWINS)
PLACE = {"float16": "_module.", "bfloat16": "_module.", "weights16": ""}  # of the model in its twin


@pytest.fixture(scope="module")
def images() -> Tensor:
    return mnist_sample()[0][:100]


@every_twin
def test_a_twin_is_close_to_its_model_but_not_the_same(name: str, images: Tensor) -> None:
    trace = Twins(TorchTarget(lenet5()), {"twin": TorchTarget(TWINS[name](lenet5()))}).run(batch_of(images))
    model, twin = trace.outputs[MODEL], trace.outputs[TWIN]
    assert twin.dtype == torch.float32
    gap = (model - twin).abs().max()
    assert 0 < gap < 1.5
    assert (model.argmax(1) == twin.argmax(1)).float().mean() >= 0.97


@every_twin
def test_making_a_twin_of_a_copy_leaves_the_model_alone(name: str, images: Tensor) -> None:
    model = lenet5()
    before = model(images).detach()
    TWINS[name](copy.deepcopy(model))
    assert torch.equal(model(images), before)


@pytest.mark.parametrize(("name", "dtype"), [("float16", torch.float16), ("bfloat16", torch.bfloat16)])
def test_a_twin_of_lower_precision_computes_in_it(name: str, dtype: torch.dtype) -> None:
    class Noting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear, self.seen = nn.Linear(2, 2), []

        def forward(self, inputs: Tensor) -> Tensor:
            result = self.linear(inputs)
            self.seen.append(result.dtype)
            return result

    module = Noting()
    assert TWINS[name](module)(torch.rand(1, 2)).dtype == torch.float32
    assert module.seen == [dtype]


def test_half_precision_overflows_where_single_does_not() -> None:
    class Large(nn.Module):
        def forward(self, inputs: Tensor) -> Tensor:
            return inputs * 1e5

    inputs = torch.ones(1, 2)
    assert Large()(inputs).isfinite().all()
    assert TWINS["float16"](Large())(inputs).isinf().all()
    assert TWINS["bfloat16"](Large())(inputs).isfinite().all()


def test_rounded_weights_are_what_16_bits_can_hold_and_compute_in_32() -> None:
    twin = TWINS["weights16"](lenet5())
    for weights, original in zip(twin.parameters(), lenet5().parameters(), strict=True):
        assert weights.dtype == torch.float32
        assert torch.equal(weights, original.half().float())


def test_int8_quantises_the_linear_layers() -> None:
    for model, linear in ((lenet5(), 3), (nn.Linear(2, 2), 1)):
        kinds = [
            type(layer).__qualname__ for layer in TWINS["int8"](model).modules() if "quantized" in str(type(layer))
        ]
        assert kinds.count("Linear") == linear


def test_int8_without_a_linear_layer_is_refused() -> None:
    with pytest.raises(UsageError, match="the model has none: choose another twin"):
        TWINS["int8"](nn.Sequential(nn.Conv2d(1, 1, 3)))


def test_the_trace_is_the_models_with_the_twins_outputs_added(images: Tensor) -> None:
    model = TorchTarget(lenet5(), ["conv1"])
    trace = Twins(model, {"twin": TorchTarget(nn.Flatten(), ["start_dim"][:0])}).run(batch_of(images))
    assert list(trace.activations) == ["conv1"]
    assert torch.equal(trace.outputs[TWIN], images.flatten(1))
    assert trace.seconds.keys() == {MODEL, TWIN}


@pytest.mark.parametrize("name", ["float16", "bfloat16", "weights16"])
def test_twins_are_differentiated_by_scores_before_a_softmax_in_whatever_precision(name: str, images: Tensor) -> None:
    model, twin = (nn.Sequential(lenet5(), nn.Softmax(1)) for _ in range(2))
    passed = Twins(
        TorchTarget(model, scores="0"), {TWIN: TorchTarget(TWINS[name](twin), scores=f"{PLACE[name]}0")}
    ).linearise(images)
    assert passed.scores.keys() == {MODEL, TWIN}
    torch.testing.assert_close(passed.scores[TWIN].float(), passed.scores[MODEL], rtol=0.05, atol=0.3)


def test_a_gradient_is_the_sum_of_those_that_weigh(images: Tensor) -> None:
    twins = {"a": TorchTarget(TWINS["weights16"](lenet5())), "b": TorchTarget(nn.Sequential(nn.Flatten(), nn.Tanh()))}
    weights = {MODEL: torch.rand(100, 10), "a": torch.rand(100, 10)}
    both = Twins(TorchTarget(lenet5()), twins).linearise(images).pull(weights, {})
    alone = [
        TorchTarget(lenet5()).linearise(images).pull({MODEL: weights[MODEL]}, {}),
        twins["a"].linearise(images).pull({MODEL: weights["a"]}, {}),
    ]
    torch.testing.assert_close(both, sum(alone))
