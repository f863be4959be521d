"""Which way must an input change for the model to do something else? What holds of every Differentiable."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from jostle.interfaces import Differentiable
from jostle.options.campaign import EVERY_UNIT
from jostle.randomness import randomness
from jostle.records import MODEL, TWIN, Linearised
from jostle.subjects.keras_file import of_model
from jostle.subjects.layers import scores_layer
from jostle.subjects.subject import Watch
from jostle.subjects.torch_layers import layers_of
from jostle.subjects.torch_target import TorchTarget
from jostle.targets.chunks import InChunks
from jostle.targets.contained import ContainedGradients
from jostle.targets.panel import Panel
from jostle.targets.twins import Twins
from jostle.zoo import LeNet, lenet1, lenet4, mnist_sample
from making import batch_of
from model_files import as_keras

WATCHED = ["conv1", "relu1", "conv2", "fc1"]
MANY = 7
STEP = 1e-5
SAMPLE = torch.zeros(2, 1, 28, 28)
Net = Callable[[], LeNet]
Weights = Mapping[str, Tensor]


def smooth(net: LeNet) -> LeNet:
    """The same network in double precision without a kink, so that differences come near to its derivative."""
    for name, child in net.named_children():
        if isinstance(child, nn.ReLU):
            setattr(net, name, nn.Tanh())
        elif isinstance(child, nn.MaxPool2d):
            setattr(net, name, nn.AvgPool2d(2))
    return net.double()


def with_softmax(net: LeNet) -> LeNet:
    net.add_module("softmax", nn.Softmax(1))
    return net


def torch_target(net: LeNet, **choices: Any) -> TorchTarget:
    sample = SAMPLE.to(next(net.parameters()).dtype)
    return TorchTarget(net, WATCHED, extremes=True, scores=scores_layer(layers_of(net, sample)), **choices)


def keras_target(net: LeNet, fused: bool = False, **choices: Any) -> Differentiable:
    subject = of_model(as_keras(net, fused), "a LeNet", {}).channels_last()
    layers = subject.layers(SAMPLE)
    return subject.target(Watch(WATCHED, extremes=True, scores=scores_layer(layers), **choices))


def twin_target(net: LeNet) -> TorchTarget:
    """Of which only the scores are looked at."""
    sample = SAMPLE.to(next(net.parameters()).dtype)
    return TorchTarget(net, scores=scores_layer(layers_of(net, sample)))


def contained(target: Differentiable) -> ContainedGradients:
    return ContainedGradients(target, mnist_sample()[0][:1])


# Each is made from ways to get networks that are its own.
TARGETS: dict[str, Callable[[Net, Net], Differentiable]] = {
    "torch": lambda net, other: torch_target(net()),
    "torch, softmax": lambda net, other: torch_target(with_softmax(net())),
    "torch, every unit": lambda net, other: torch_target(net(), units=EVERY_UNIT),
    "torch, normalised": lambda net, other: torch_target(net(), mean=[0.13], std=[0.31]),
    "in chunks": lambda net, other: InChunks(torch_target(net()), 4),
    "panel": lambda net, other: Panel([torch_target(net()), InChunks(torch_target(with_softmax(other())), 3)]),
    "twins": lambda net, other: Twins(torch_target(net()), {TWIN: twin_target(other())}),
    "several twins": lambda net, other: Twins(
        torch_target(net()), {"a": InChunks(twin_target(with_softmax(other())), 3), "b": twin_target(net())}
    ),
    "contained": lambda net, other: contained(torch_target(net())),
    "keras": lambda net, other: keras_target(net()),
    "keras, fused softmax": lambda net, other: keras_target(net(), fused=True, units=EVERY_UNIT),
    "keras, normalised": lambda net, other: keras_target(with_softmax(net()), mean=[0.13], std=[0.31]),
    "panel in chunks, contained": lambda net, other: contained(
        Panel([InChunks(torch_target(other()), 2), torch_target(net())])
    ),
}
every_target = pytest.mark.parametrize("name", TARGETS)


def usual(name: str) -> Differentiable:
    return TARGETS[name](lenet1, lenet4)


def differentiable(name: str) -> Differentiable:
    return TARGETS[name](lambda: smooth(lenet1()), lambda: smooth(lenet4()))


@pytest.fixture
def digits() -> Tensor:
    return mnist_sample()[0][:MANY].clone()


def drawn_like(values: Weights, rng: torch.Generator) -> dict[str, Tensor]:
    return {name: torch.randn(value.shape, generator=rng, dtype=value.dtype) for name, value in values.items()}


def objective(passed: Linearised, scores: Weights, activations: Weights) -> Tensor:
    """The weighted sum of each row [batch]."""
    pairs = [(passed.scores[name], weight) for name, weight in scores.items()]
    pairs += [(passed.activations[name], weight) for name, weight in activations.items()]
    return torch.stack([(value * weight).sum(1) for value, weight in pairs]).sum(0)


def no_weights(values: Weights) -> dict[str, Tensor]:
    return {name: torch.zeros_like(value) for name, value in values.items()}


@every_target
@pytest.mark.parametrize("weighed", ["scores", "activations", "both"])
def test_the_gradient_matches_central_differences_in_every_direction(name: str, weighed: str, digits: Tensor) -> None:
    target, rng = differentiable(name), randomness(3, 0)
    inputs = digits.double()
    passed = target.linearise(inputs)
    scores, neurons = drawn_like(passed.scores, rng), drawn_like(passed.activations, rng)
    scores = no_weights(scores) if weighed == "activations" else scores
    neurons = {} if weighed == "scores" else neurons
    gradient = passed.pull(scores, neurons)
    assert gradient.shape == inputs.shape
    for _ in range(3):
        direction = torch.randn(inputs.shape, generator=rng, dtype=torch.float64)
        above, below = (
            objective(target.linearise(inputs + sign * STEP * direction), scores, neurons) for sign in (1, -1)
        )
        along = (gradient * direction).flatten(1).sum(1)
        torch.testing.assert_close(along, (above - below) / (2 * STEP), rtol=1e-5, atol=1e-6)


@every_target
def test_a_batch_is_differentiated_as_its_rows_one_after_another(name: str, digits: Tensor) -> None:
    target, rng = usual(name), randomness(4, 0)
    whole = target.linearise(digits, extremes=True)
    scores, neurons = drawn_like(whole.scores, rng), drawn_like(whole.activations, rng)
    rows = [target.linearise(digits[row : row + 1], extremes=True) for row in range(MANY)]
    for field in ("scores", "activations", "extremes"):
        together = getattr(whole, field)
        assert together and all(getattr(row, field).keys() == together.keys() for row in rows)
        for place, values in together.items():
            alone = torch.cat([getattr(row, field)[place] for row in rows])
            torch.testing.assert_close(values, alone, rtol=1e-4, atol=1e-4)
    alone = [
        row.pull(*({key: weight[i : i + 1] for key, weight in some.items()} for some in (scores, neurons)))
        for i, row in enumerate(rows)
    ]
    torch.testing.assert_close(whole.pull(scores, neurons), torch.cat(alone), rtol=1e-3, atol=1e-4)


@every_target
def test_a_rows_weights_move_that_row_alone(name: str, digits: Tensor) -> None:
    passed = usual(name).linearise(digits)
    scores = no_weights(passed.scores)
    for weight in scores.values():
        weight[2] = torch.arange(10.0)
    gradient = passed.pull(scores, no_weights(passed.activations)).flatten(1)
    assert gradient[2].any()
    assert not gradient[torch.arange(MANY) != 2].any()


@every_target
def test_weights_of_zero_give_a_gradient_of_zero(name: str, digits: Tensor) -> None:
    passed = usual(name).linearise(digits)
    gradient = passed.pull(no_weights(passed.scores), no_weights(passed.activations))
    assert gradient.shape == digits.shape and not gradient.any()


@every_target
def test_what_is_seen_needs_no_graph_and_is_as_long_as_the_batch(name: str, digits: Tensor) -> None:
    passed = usual(name).linearise(digits, extremes=True)
    seen = [*passed.scores.values(), *passed.activations.values(), *passed.extremes.values()]
    assert all(len(value) == MANY and not value.requires_grad for value in seen)
    assert passed.extremes.keys() == passed.activations.keys()
    for place, (low, high) in ((place, ends.unbind(1)) for place, ends in passed.extremes.items()):
        assert (low <= high).all()
        neurons = passed.activations[place]
        assert (low[:, None] <= neurons + 1e-4).all() and (neurons <= high[:, None] + 1e-4).all()
    assert usual(name).linearise(digits).extremes == {}


@every_target
def test_what_a_pass_says_of_a_run_is_what_the_run_gives(name: str, digits: Tensor) -> None:
    target = usual(name)
    trace = target.linearise(digits).trace
    assert (trace is not None) == (name.startswith("torch") or name in ("in chunks", "contained"))
    if trace is None or not isinstance(target, TorchTarget | InChunks):
        return
    ran = target.run(batch_of(digits))
    assert torch.equal(trace.outcome, ran.outcome)
    for field in ("outputs", "others", "activations", "extremes", "metadata"):
        told, given = getattr(trace, field), getattr(ran, field)
        assert told.keys() == given.keys()
        assert not any(value.requires_grad for value in told.values())
        for place, values in given.items():
            torch.testing.assert_close(told[place], values, rtol=1e-4, atol=1e-4)


@every_target
def test_scores_are_those_before_any_softmax(name: str, digits: Tensor) -> None:
    plain = torch_target(lenet4() if "panel in" in name else lenet1()).predict(digits)
    if "normalised" in name:
        plain = torch_target(lenet1(), mean=[0.13], std=[0.31]).predict(digits)
    torch.testing.assert_close(usual(name).linearise(digits).scores[MODEL], plain, rtol=1e-4, atol=1e-4)


@every_target
def test_nothing_hangs_on_the_networks_afterwards(name: str, digits: Tensor) -> None:
    made: list[LeNet] = []

    def noted(make: Net) -> Net:
        def net() -> LeNet:
            made.append(make())
            return made[-1]

        return net

    target = TARGETS[name](noted(lenet1), noted(lenet4))
    before = [{key: value.clone() for key, value in net.state_dict().items()} for net in made]
    inputs = digits.clone()
    passed = target.linearise(digits, extremes=True)
    passed.pull(passed.scores, passed.activations)
    target.linearise(digits)  # and is never pulled
    assert made
    for net, was in zip(made, before, strict=True):
        assert not any(child._forward_hooks or child._forward_pre_hooks for child in net.modules())
        assert all(weight.grad is None for weight in net.parameters())
        assert all(torch.equal(value, was[key]) for key, value in net.state_dict().items())
    assert torch.equal(digits, inputs) and not digits.requires_grad


@every_target
def test_no_grad_around_it_does_not_matter(name: str, digits: Tensor) -> None:
    target = usual(name)
    with torch.no_grad():
        passed = target.linearise(digits)
        gradient = passed.pull(passed.scores, {})
    again = target.linearise(digits)
    assert gradient.any() and torch.equal(gradient, again.pull(again.scores, {}))


# Rows that crash


class RaisesForward(nn.Module):
    """Scores of the inputs [batch, 3]; raises for negative ones."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 2)

    def forward(self, inputs: Tensor) -> Tensor:
        if (inputs < 0).any():
            raise ArithmeticError("negative")
        return self.fc(inputs)


class NoNegative(torch.autograd.Function):
    """Passes values on, and raises when a gradient is asked for where they are negative."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor) -> Tensor:
        ctx.save_for_backward(inputs)
        return inputs.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        if (ctx.saved_tensors[0] < 0).any():
            raise ArithmeticError("negative")
        return gradient


class RaisesBackward(nn.Module):
    """As the other, but only when it is differentiated."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 2)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.fc(NoNegative.apply(inputs))


@pytest.mark.parametrize("module", [RaisesForward, RaisesBackward])
@pytest.mark.parametrize("size", [None, 4], ids=["any size", "in chunks"])
@settings(deadline=None, derandomize=True, max_examples=10)
@given(guilty=st.lists(st.booleans(), min_size=1, max_size=12))
def test_exactly_the_rows_that_crash_have_a_gradient_of_zero(
    module: type[nn.Module], size: int | None, guilty: list[bool]
) -> None:
    torch.manual_seed(0)
    net = module()
    plain = TorchTarget(net, ["fc"], extremes=True)
    target = ContainedGradients(plain if size is None else InChunks(plain, size), torch.ones(1, 3))
    inputs = torch.rand(len(guilty), 3) + 0.1
    inputs[torch.tensor(guilty)] *= -1
    passed = target.linearise(inputs, extremes=True)
    weights = {MODEL: torch.ones(len(guilty), 2)}
    gradient = passed.pull(weights, {"fc": torch.ones(len(guilty), 2)})
    assert (gradient == 0).all(1).tolist() == (gradient == 0).any(1).tolist() == guilty
    expected = 2 * net.fc.weight.detach().sum(0)  # type: ignore[union-attr, operator]
    torch.testing.assert_close(gradient[~torch.tensor(guilty)], expected.expand(guilty.count(False), 3))
    assert passed.scores[MODEL].shape == passed.activations["fc"].shape == passed.extremes["fc"].shape
    without_scores = guilty if module is RaisesForward else [False] * len(guilty)
    assert (
        passed.scores[MODEL].isnan().all(1).tolist() == passed.scores[MODEL].isnan().any(1).tolist() == without_scores
    )


def test_a_target_that_fails_on_its_sample_fails_when_it_is_made() -> None:
    with pytest.raises(ArithmeticError, match="negative"):
        ContainedGradients(TorchTarget(RaisesForward()), -torch.ones(1, 3))


def test_a_model_that_nothing_can_be_differentiated_of_says_so() -> None:
    class Counting(nn.Module):
        def forward(self, inputs: Tensor) -> Tensor:
            return (inputs > 0.5).float()

    passed = TorchTarget(Counting()).linearise(torch.rand(3, 2))
    with pytest.raises(ValueError, match="nothing that the model computes can be differentiated"):
        passed.pull({MODEL: torch.ones(3, 2)}, {})
