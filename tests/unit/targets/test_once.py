"""What was differentiated need not run again: the forward pass behind a gradient is its trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from jostle.interfaces import DifferentiableTarget
from jostle.mutators.ascent import Ascent
from jostle.mutators.goals import AnotherClass
from jostle.randomness import randomness
from jostle.records import TWIN, Candidates, Linearised, Outcome, Trace
from jostle.subjects.torch_target import TorchTarget
from jostle.targets.chunks import InChunks
from jostle.targets.contained import Contained, ContainedGradients
from jostle.targets.once import UNKNOWN, RunsOnce, positions
from jostle.targets.twins import Twins
from jostle.zoo import lenet1, lenet4, mnist_sample
from making import batch_of

WATCHED = ["relu1", "relu2", "fc1"]
IMAGES, LABELS = mnist_sample()
DIGITS = IMAGES[:12]
GROUPS = ("outputs", "others", "activations", "extremes", "metadata")


@dataclass
class Counted:
    """A target that writes down what it runs and what it differentiates."""

    target: DifferentiableTarget
    ran: list[Tensor] = field(default_factory=list)
    differentiated: list[Tensor] = field(default_factory=list)

    def predict(self, inputs: Tensor) -> Tensor:
        return self.target.predict(inputs)

    def run(self, batch: Candidates, watched: bool = True) -> Trace:
        trace = self.target.run(batch, watched)
        self.ran.append(batch.inputs)
        return trace

    def linearise(self, inputs: Tensor, extremes: bool = False) -> Linearised:
        self.differentiated.append(inputs)
        return self.target.linearise(inputs, extremes)

    def forget(self) -> None:
        self.ran.clear()
        self.differentiated.clear()


def watched_lenet(**choices: Any) -> TorchTarget:
    return TorchTarget(lenet1(), WATCHED, **{"extremes": True, **choices})


def counted(target: DifferentiableTarget | None = None) -> tuple[RunsOnce, Counted]:
    """A target that was tried once, so that it is known whether its passes tell all that runs do."""
    inner = Counted(target or watched_lenet())
    once = RunsOnce(inner, inner)
    once.linearise(DIGITS[-1:])
    once.run(batch_of(DIGITS[-1:]))
    inner.forget()
    return once, inner


def assert_alike(one: Trace, other: Trace) -> None:
    assert torch.equal(one.outcome, other.outcome) and one.crashes == other.crashes
    for name in GROUPS:
        ours, theirs = getattr(one, name), getattr(other, name)
        assert ours.keys() == theirs.keys()
        for place, values in ours.items():
            torch.testing.assert_close(values, theirs[place], rtol=1e-4, atol=1e-4, equal_nan=True)


@pytest.mark.parametrize("wrapped", [lambda target: target, lambda target: InChunks(target, 5)])
@pytest.mark.parametrize("rows", [[3, 0, 7, 1, 10], [5, 4, 3], [11, 10], [2, 2, 9, 2, 9]])
def test_the_trace_is_that_of_a_run_whatever_was_differentiated_before(wrapped: Any, rows: Sequence[int]) -> None:
    once, inner = counted(wrapped(watched_lenet()))
    for some in (DIGITS[:4], DIGITS[4:6]):
        once.linearise(some)
    batch = batch_of(DIGITS).select(torch.tensor(rows))
    assert_alike(once.run(batch), inner.target.run(batch))
    left = [row for row in rows if row >= 6]
    assert sum(map(len, inner.ran)) == len(left)
    assert not left or torch.equal(torch.cat(inner.ran), DIGITS[left])


def test_what_runs_once_more_really_runs() -> None:
    """Or nobody would ever see that a model answers otherwise the second time."""
    once, inner = counted()
    once.linearise(DIGITS)
    once.run(batch_of(DIGITS[:3]))
    assert not inner.ran
    once.run(batch_of(DIGITS[3:6]))
    once.run(batch_of(DIGITS[:3]))
    assert [len(some) for some in inner.ran] == [3, 3]


def test_a_row_that_differs_in_one_bit_is_another_row() -> None:
    once, inner = counted()
    once.linearise(DIGITS)
    other = DIGITS.clone()
    other[4, 0, 0, 0] = -0.0
    once.run(batch_of(other))
    assert torch.equal(torch.cat(inner.ran), other[4:5])


def test_an_unwatched_run_is_what_it_was() -> None:
    once, inner = counted()
    once.linearise(DIGITS)
    assert not once.run(batch_of(DIGITS), watched=False).activations
    assert len(inner.ran) == 1


class Changing(nn.Module):
    """Adds two numbers where a gradient is asked for, as faster ways for inference compute something else."""

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs.flatten(1)[:, 300:310] + (1.0 if torch.is_grad_enabled() else 0.0)


def sums(inputs: Tensor, outputs: Tensor, labels: Tensor) -> dict[str, Tensor]:
    return {"sum": inputs.flatten(1).sum(1)}


@pytest.mark.parametrize(
    "pair",
    [
        lambda: (Twins(watched_lenet(), {TWIN: TorchTarget(lenet4())}), watched_lenet()),
        lambda: (watched_lenet(), watched_lenet(extremes=False)),
        lambda: (watched_lenet(), TorchTarget(lenet1(), WATCHED[:2], extremes=True)),
        lambda: (watched_lenet(metadata=sums), watched_lenet(metadata=sums)),
        lambda: (watched_lenet(), TorchTarget(lenet1(pretrained=False), WATCHED, extremes=True)),
        lambda: (TorchTarget(Changing()), TorchTarget(Changing())),
    ],
    ids=["twins", "no extremes", "fewer layers", "metadata", "other answers", "other answers with gradients"],
)
def test_passes_that_tell_less_or_other_than_runs_are_no_traces(pair: Any) -> None:
    target, gradients = pair()
    inner = Counted(target)
    once = RunsOnce(inner, gradients)
    once.linearise(DIGITS)
    inner.forget()
    assert_alike(once.run(batch_of(DIGITS)), target.run(batch_of(DIGITS)))
    assert torch.equal(torch.cat(inner.ran), DIGITS)


class Fragile(nn.Module):
    """Raises for bright images, unless their gradient is asked for where it is `forgiving`."""

    def __init__(self, forgiving: bool = False) -> None:
        super().__init__()
        self._forgiving = forgiving

    def forward(self, inputs: Tensor) -> Tensor:
        if (inputs.flatten(1).amax(1) > 1).any() and not (self._forgiving and torch.is_grad_enabled()):
            raise ValueError("too bright")
        return inputs.flatten(1)[:, 300:310]


def test_crashes_are_those_of_a_run() -> None:
    images = DIGITS.clone()
    images[[2, 7]] += 1
    target = TorchTarget(Fragile())
    once = RunsOnce(target, target)
    gradients, contained = ContainedGradients(once, DIGITS[:1]), Contained(once)
    gradients.linearise(images[:6])
    trace = contained.run(batch_of(images))
    assert_alike(replace(trace, crashes={}), replace(Contained(target).run(batch_of(images)), crashes={}))
    assert trace.crashes.keys() == {2, 7} and (trace.outcome[[2, 7]] == Outcome.CRASHED).all()


def test_a_row_that_fails_when_it_runs_first_makes_no_pass_a_trace() -> None:
    target = TorchTarget(Fragile(forgiving=True))
    once = RunsOnce(target, target)
    once.linearise(DIGITS + 1)
    assert Contained(once).run(batch_of(DIGITS + 1)).crashes.keys() == set(range(len(DIGITS)))


def test_no_point_of_a_line_runs_twice() -> None:
    once, inner = counted()
    parents = batch_of(IMAGES[:20], LABELS[:20]).select(torch.arange(20).repeat_interleave(3))
    children = Ascent(once, AnotherClass(10), 0, 1).mutate(parents, randomness(0, 1))
    inner_points = sum(map(len, inner.differentiated)) - 20
    trace = once.run(children)
    assert inner_points > 20 and sum(map(len, inner.ran)) == len(children) - inner_points
    assert_alike(trace, inner.target.run(children))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.uint8])
@pytest.mark.parametrize("shape", [(1,), (3,), (5, 7), (1, 8, 8)])
def test_rows_are_found_where_they_stand(dtype: torch.dtype, shape: tuple[int, ...], rng: torch.Generator) -> None:
    known = (torch.rand(40, *shape, generator=rng) * 200).to(dtype)
    asked = torch.cat([known[[7, 3, 3, 39]], (torch.rand(9, *shape, generator=rng) * 200).to(dtype)])
    found = positions(asked, known)
    same = torch.stack([(known == row).flatten(1).all(1) for row in asked])  # [asked, known]
    assert torch.equal(found == UNKNOWN, ~same.any(1))
    assert torch.equal(known[found[found != UNKNOWN]], asked[found != UNKNOWN])
