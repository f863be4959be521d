"""What flows through the loop."""

from __future__ import annotations

import torch

from jostle.records import MODEL, NO_BUG, NO_PARENT, Outcome, Trace, Verdicts, Violation
from making import CRASH, batch_of, seeds_of, trace_of


def test_seeds_are_candidates_without_parents_that_are_their_own_references() -> None:
    seeds = seeds_of(torch.rand(3, 2), torch.tensor([4, 5, 6]))
    candidates = seeds.as_candidates()
    assert torch.equal(candidates.inputs, candidates.references)
    assert candidates.parents.tolist() == [NO_PARENT] * 3 and candidates.roots.tolist() == [0, 1, 2]
    assert candidates.labels.tolist() == [4, 5, 6] and candidates.steps == ("", "", "")


def test_selecting_candidates_selects_every_field() -> None:
    batch = batch_of(torch.arange(4.0)[:, None], labels=torch.tensor([5, 6, 7, 8])).select(torch.tensor([3, 1, 1]))
    assert batch.inputs.flatten().tolist() == [3, 1, 1] and batch.labels.tolist() == [8, 6, 6]
    assert batch.roots.tolist() == [3, 1, 1] and batch.parents.tolist() == [103, 101, 101] and len(batch) == 3


def test_selecting_from_a_trace_moves_its_crashes_along() -> None:
    trace = trace_of(torch.arange(4.0)[:, None], metadata={"loss": torch.arange(4.0)}, crashed=[2])
    chosen = trace.select(torch.tensor([2, 0, 2]))
    assert chosen.ran.tolist() == [False, True, False]
    assert chosen.crashes == {0: CRASH, 2: CRASH}
    assert chosen.metadata["loss"][1] == 0


def test_joining_adds_up_the_time_and_fills_places_that_a_part_lacks_with_nan() -> None:
    one = Trace(torch.zeros(1).long(), {MODEL: torch.ones(1, 2)}, seconds={MODEL: 1.0})
    other = Trace(torch.ones(2).long(), {}, crashes={1: CRASH})
    joined = Trace.joined([one, other, one])
    assert joined.seconds == {MODEL: 2.0}
    assert joined.outputs[MODEL].isnan().all(1).tolist() == [False, True, True, False]
    assert joined.crashes == {2: CRASH}


def test_places_are_listed_in_the_order_they_were_computed() -> None:
    trace = trace_of(torch.zeros(1, 1), torch.zeros(1, 1), {"conv": torch.zeros(1, 1)}, {"loss": torch.zeros(1)})
    assert [place for place, _ in trace.everywhere()] == ["conv", "output", "output of the twin", "loss"]


def test_verdicts_hold_of_rows_that_ran_only() -> None:
    trace = trace_of(torch.zeros(3, 1), crashed=[1])
    everything = torch.ones(3).bool()
    verdicts = Verdicts.where("nan", trace, everything, torch.tensor([7, 8, 9]), lambda row: Violation("nan", "x", "x"))
    assert verdicts.bugs.tolist() == [7, NO_BUG, 9]


def test_a_layer_that_did_not_run_for_a_row_is_zero_there_and_nan_only_where_the_row_crashed() -> None:
    ran = Trace(torch.tensor([Outcome.OK]), {"model": torch.ones(1, 2)}, {"rare": torch.ones(1, 3)})
    skipped = Trace(torch.tensor([Outcome.OK]), {"model": torch.ones(1, 2)})
    crashed = Trace(torch.tensor([Outcome.CRASHED]), {})
    joined = Trace.joined([ran, skipped, crashed])
    assert joined.activations["rare"][:2].tolist() == [[1, 1, 1], [0, 0, 0]]
    assert joined.activations["rare"][2].isnan().all() and joined.outputs["model"][2].isnan().all()
