"""A target whose crashes are outcomes."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from jostle.foreign import Crash, FailedElsewhere
from jostle.interfaces import StepAbandoned
from jostle.oracles.agreement import Agreement
from jostle.oracles.comparisons import Close
from jostle.oracles.crash import NoCrash
from jostle.oracles.numeric import Finite
from jostle.records import MODEL, NO_BUG, Candidates, Outcome, Trace
from jostle.subjects.torch_target import TorchTarget
from jostle.targets.chunks import InChunks
from jostle.targets.contained import Contained
from jostle.targets.twins import Twins
from making import batch_of


class Picky(nn.Module):
    """Raises for negative inputs, in two different ways."""

    def __init__(self) -> None:
        super().__init__()
        self.clip = nn.Hardtanh(-1e9, 1e9)

    def forward(self, inputs: Tensor) -> Tensor:
        if (inputs < -1).any():
            raise KeyError("very negative")
        if (inputs < 0).any():
            raise ValueError("negative\nand a second line")
        return self.clip(inputs) * 2


def contained() -> Contained:
    target = Contained(TorchTarget(Picky(), ["clip"], metadata=lambda x, y, labels: {"loss": y.sum(1)}))
    target.run(batch_of(torch.ones(1, 1)))
    return target


@settings(deadline=None, derandomize=True, max_examples=60)
@given(guilty=st.lists(st.booleans(), min_size=1, max_size=40))
def test_exactly_the_guilty_rows_crash_and_the_others_are_as_if_alone(guilty: list[bool]) -> None:
    inputs = torch.where(torch.tensor(guilty), -0.5, torch.arange(len(guilty)) + 1.0)[:, None]
    trace = contained().run(batch_of(inputs))
    assert (~trace.ran).tolist() == guilty
    assert sorted(trace.crashes) == [row for row, crashes in enumerate(guilty) if crashes]
    assert torch.equal(trace.outputs[MODEL][trace.ran], inputs[trace.ran] * 2)
    for _, values in trace.everywhere():
        assert len(values) == len(guilty)
        assert values[~trace.ran].isnan().all() and not values[trace.ran].isnan().any()


def test_a_crash_tells_type_place_first_line_and_traceback() -> None:
    trace = contained().run(batch_of(torch.tensor([[1.0], [-0.5], [-2.0]])))
    assert {row: crash.error for row, crash in trace.crashes.items()} == {1: "ValueError", 2: "KeyError"}
    crash = trace.crashes[1]
    assert (crash.message, crash.where) == ("negative", "test_contained.py:forward")
    assert "and a second line" in crash.traceback


def test_when_all_rows_crash_every_oracle_can_still_judge() -> None:
    batch = batch_of(torch.full((5, 1), -0.5))
    trace = contained().run(batch)
    assert not trace.ran.any()
    assert (NoCrash().judge(batch, trace).bugs != NO_BUG).all()
    assert (Finite().judge(batch, trace).bugs == NO_BUG).all()


def test_crashes_before_anything_ran_are_outcomes_too() -> None:
    trace = Contained(TorchTarget(Picky())).run(batch_of(torch.full((3, 1), -0.5)))
    assert len(trace.crashes) == 3 and not trace.ran.any()


def test_a_twin_that_crashes_makes_the_row_crash() -> None:
    target = Contained(Twins(TorchTarget(nn.Identity()), {"twin": TorchTarget(Picky())}))
    batch = batch_of(torch.tensor([[1.0], [-0.5], [2.0]]))
    trace = target.run(batch)
    assert trace.ran.tolist() == [True, False, True]
    assert Agreement(Close(1e-3)).judge(batch, trace).bugs[1] == NO_BUG


def test_chunks_that_crash_are_taken_apart() -> None:
    target = Contained(InChunks(TorchTarget(Picky()), 4))
    trace = target.run(batch_of(torch.tensor([1.0, 2, -0.5, 3, 4, 5, 6, -0.5, 7])[:, None]))
    assert (~trace.ran).nonzero().flatten().tolist() == [2, 7]


class WideWhenLarge(nn.Module):
    """A layer of it, or its answer, has more columns for large inputs."""

    def __init__(self, answers: bool) -> None:
        super().__init__()
        self.layer, self.answers = nn.Identity(), answers

    def forward(self, inputs: Tensor) -> Tensor:
        wide = self.layer(torch.cat([inputs, inputs], 1) if (inputs > 5).any() else inputs)
        return wide if self.answers else inputs


@pytest.mark.parametrize("answers", [False, True])
def test_a_layer_or_an_answer_of_another_shape_is_a_crash(answers: bool) -> None:
    target = Contained(TorchTarget(WideWhenLarge(answers), [] if answers else ["layer"]))
    target.run(batch_of(torch.ones(2, 3)), watched=not answers)
    trace = target.run(batch_of(torch.tensor([[1.0, 1, 1], [9, 9, 9]])), watched=not answers)
    assert [crash.error for crash in trace.crashes.values()] == ["ShapeChanged"] and trace.ran.tolist() == [True, False]


def test_predicting_is_not_contained() -> None:
    with pytest.raises(ValueError, match="negative"):
        contained().predict(torch.tensor([[-0.5]]))


def test_an_interruption_is_not_a_crash() -> None:
    class Interrupted(nn.Module):
        def forward(self, inputs: Tensor) -> Tensor:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Contained(TorchTarget(Interrupted())).run(batch_of(torch.zeros(1, 1)))


def test_joined_traces_keep_their_crashes_by_row() -> None:
    target = contained()
    parts = [target.run(batch_of(torch.tensor(rows)[:, None])) for rows in ([1.0, -0.5], [-0.5], [1.0, 2.0, -2.0])]
    joined = Trace.joined(parts)
    assert {row: crash.error for row, crash in joined.crashes.items()} == {
        1: "ValueError",
        2: "ValueError",
        5: "KeyError",
    }
    assert sorted(joined.select(torch.tensor([5, 0, 2])).crashes) == [0, 2]


class Hanging:
    """A target whose process hangs, or is ended, on some rows; counts the runs that took as long as they may."""

    def __init__(self, hangs: set[int], together: bool = False, error: str = "Hang") -> None:
        self.hangs, self.together, self.error, self.timeouts, self.runs = hangs, together, error, 0, 0

    def predict(self, inputs: Tensor) -> Tensor:
        return inputs

    def run(self, batch: Candidates, watched: bool = True) -> Trace:
        self.runs += 1
        guilty = self.hangs & set(batch.inputs.flatten().long().tolist())
        if guilty and not (self.together and len(guilty) < len(self.hangs)):
            self.timeouts += 1
            raise FailedElsewhere(Crash(self.error, "no answer", "the target", "", fatal=True))
        return Trace(torch.full((len(batch),), Outcome.OK), {MODEL: batch.inputs})


NUMBERS = batch_of(torch.arange(8.0)[:, None])


@settings(deadline=None, derandomize=True, max_examples=60)
@given(hangs=st.sets(st.integers(0, 7), min_size=1), together=st.booleans())
def test_a_batch_with_hangs_takes_at_most_two_timeouts(hangs: set[int], together: bool) -> None:
    target = Hanging(hangs, together)
    trace = Contained(target).run(NUMBERS)
    assert target.timeouts <= 2 and len(trace.outcome) == 8
    if together and len(hangs) > 1:
        assert trace.ran.all() and list(trace.crashes) == [0]  # the first stands for its batch
    else:
        first = min(hangs)
        assert trace.outcome.tolist()[: first + 1] == [Outcome.OK] * first + [Outcome.CRASHED]
        assert trace.crashes[first].error == "Hang"
        assert set(trace.outcome.tolist()[first + 1 :]) <= {Outcome.SKIPPED}


def test_rows_are_left_alone_once_the_time_is_spent_and_what_ran_is_kept() -> None:
    target = Hanging({6})
    contained = Contained(target)
    contained.ask_between_rows(lambda: target.runs > 3)
    trace = contained.run(NUMBERS)
    assert trace.outcome.tolist() == [Outcome.OK] * 3 + [Outcome.SKIPPED] * 5
    assert {row: crash.error for row, crash in trace.crashes.items()} == {0: "Hang"}


def test_somebody_who_asks_to_stop_is_heard_between_rows() -> None:
    def stop() -> bool:
        raise StepAbandoned

    target = Hanging({6})
    contained = Contained(target)
    contained.ask_between_rows(stop)
    with pytest.raises(StepAbandoned):
        contained.run(NUMBERS)
    assert target.runs == 2
