"""What does the model do with this batch? What holds of every ModelTarget."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from jostle.interfaces import ModelTarget
from jostle.isolation.process import Limits
from jostle.options.campaign import EVERY_UNIT
from jostle.records import MODEL, Candidates, Trace
from jostle.session.isolate import isolated
from jostle.subjects.torch_function import Function
from jostle.subjects.torch_target import TorchTarget
from jostle.subjects.torch_twins import int8
from jostle.targets.chunks import InChunks
from jostle.targets.contained import Contained
from jostle.targets.panel import Panel
from jostle.targets.twins import Twins
from jostle.zoo import lenet1, lenet5, mnist_sample
from making import batch_of, options

WATCHED = ["conv1", "conv2", "fc1"]
MANY = 11


def losses(inputs: Tensor, outputs: Tensor, labels: Tensor) -> dict[str, Tensor]:
    return {"loss": nn.functional.cross_entropy(outputs, labels, reduction="none"), "scores": outputs.softmax(1)}


def starts_in_place() -> nn.Module:
    return nn.Sequential(nn.Threshold(0.5, 0.0, inplace=True), nn.Flatten())


def scaled_in_place(images: np.ndarray) -> np.ndarray:
    images *= 2
    return images


@cache
def isolated_lenet1() -> ModelTarget:
    """One worker for all laws, because it takes seconds to start."""
    given = options(model="jostle.zoo:lenet1", seeds="jostle.zoo:mnist_sample", layers=WATCHED)
    return isolated(given, mnist_sample()[0][:1], Limits(60, 2**40))[0].target


TARGETS: dict[str, Callable[[], ModelTarget]] = {
    "torch": lambda: TorchTarget(lenet1(), WATCHED),
    "torch, every unit": lambda: TorchTarget(lenet1(), WATCHED, EVERY_UNIT),
    "torch, normalised": lambda: TorchTarget(lenet1(), WATCHED, mean=[0.13], std=[0.31]),
    "torch, loss": lambda: TorchTarget(lenet1(), WATCHED, metadata=losses),
    "torch, gradients": lambda: TorchTarget(lenet1(), WATCHED, metadata=losses, gradients=True),
    "torch, in place": lambda: TorchTarget(starts_in_place()),
    "torch function": lambda: TorchTarget(Function(lambda images: images.flip(2))),
    "numpy function": lambda: TorchTarget(Function(scaled_in_place)),
    "contained": lambda: Contained(TorchTarget(lenet1(), WATCHED, metadata=losses)),
    "isolated": isolated_lenet1,
    "in chunks": lambda: InChunks(TorchTarget(lenet1(), WATCHED, metadata=losses), 4),
    "twins": lambda: Twins(TorchTarget(lenet1(), WATCHED), {"twin": TorchTarget(lenet5())}),
    "panel": lambda: Panel([TorchTarget(lenet1(), WATCHED), InChunks(TorchTarget(lenet5(), WATCHED), 4)]),
    "int8 twin in chunks, contained": lambda: Contained(
        Twins(InChunks(TorchTarget(lenet5(), WATCHED), 3), {"twin": TorchTarget(int8(lenet5()))})
    ),
}
every_target = pytest.mark.parametrize("name", TARGETS)


@pytest.fixture
def digits() -> Candidates:
    images, labels = mnist_sample()
    return batch_of(images[:MANY].clone(), labels[:MANY])


def assert_same(one: Trace, other: Trace) -> None:
    assert torch.equal(one.outcome, other.outcome)
    assert one.crashes == other.crashes
    for ours, theirs in (
        (one.outputs, other.outputs),
        (one.activations, other.activations),
        (one.metadata, other.metadata),
    ):
        assert list(ours) == list(theirs)
        for place in ours:
            # An int8 layer scales its inputs by the batch's extremes, so its twin is not exactly row by row.
            tolerance = 0.3 if place == "twin" else 1e-4
            torch.testing.assert_close(ours[place], theirs[place], rtol=tolerance, atol=tolerance, equal_nan=True)


@every_target
def test_a_batch_runs_as_its_rows_one_after_another(name: str, digits: Candidates) -> None:
    target = TARGETS[name]()
    rows = [target.run(digits.select(torch.tensor([row]))) for row in range(MANY)]
    assert_same(target.run(digits), Trace.joined(rows))


@every_target
def test_every_value_of_a_trace_has_one_row_per_input(name: str, digits: Candidates) -> None:
    trace = TARGETS[name]().run(digits)
    assert trace.ran.shape == (MANY,) and trace.ran.all()
    assert all(len(value) == MANY for _, value in trace.everywhere())
    assert all(value.ndim == 2 and value.device.type == "cpu" for value in trace.activations.values())
    assert not any(value.requires_grad for _, value in trace.everywhere())


@every_target
def test_predicting_gives_the_outputs_of_running(name: str, digits: Candidates) -> None:
    target = TARGETS[name]()
    torch.testing.assert_close(target.predict(digits.inputs), target.run(digits).outputs[MODEL], rtol=1e-4, atol=1e-4)


@every_target
def test_what_ran_before_does_not_matter(name: str, digits: Candidates) -> None:
    target = TARGETS[name]()
    fresh = target.run(digits)
    target.predict(digits.inputs[:3])
    target.run(digits.select(torch.tensor([4])))
    assert_same(target.run(digits), fresh)


@every_target
def test_inputs_are_left_as_they_were(name: str, digits: Candidates) -> None:
    inputs = digits.inputs.clone()
    target = TARGETS[name]()
    target.predict(digits.inputs)
    target.run(digits)
    assert torch.equal(digits.inputs, inputs)
    assert not digits.inputs.requires_grad


@every_target
def test_time_is_counted_for_every_variant(name: str, digits: Candidates) -> None:
    trace = TARGETS[name]().run(digits)
    assert trace.seconds.keys() == trace.outputs.keys()
    assert all(seconds > 0 for seconds in trace.seconds.values())


@every_target
def test_selecting_and_joining_rows_gives_the_trace_back(name: str, digits: Candidates) -> None:
    trace = TARGETS[name]().run(digits)
    assert_same(Trace.joined([trace.select(part) for part in torch.arange(MANY).split(4)]), trace)
    assert_same(trace.select(torch.arange(MANY)), trace)
