"""What flows through the loop."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from jostle.inputs.geometry import Placements, place, unmoved
from jostle.lineage import SEED
from jostle.records import LIBRARY, MODEL, NO_BUG, NO_NUMBER, NO_PARENT, Candidates, Outcome, Trace, Verdicts, Violation
from making import CRASH, batch_of, placements_of, seeds_of, trace_of


def test_seeds_are_candidates_without_parents_that_are_their_own_references() -> None:
    seeds = seeds_of(torch.rand(3, 2), torch.tensor([4, 5, 6]))
    candidates = seeds.as_candidates()
    assert torch.equal(candidates.inputs, candidates.references)
    assert candidates.parents.tolist() == [NO_PARENT] * 3 and candidates.roots.tolist() == [0, 1, 2]
    assert candidates.labels.tolist() == [4, 5, 6] and candidates.mutations == (SEED,) * 3


def shifted(count: int, row: int) -> Placements:
    """Placements of which one moves its image sideways by a quarter."""
    placements = unmoved(count)
    placements[row, 0, 2] = 0.5
    return Placements(placements)


def test_seeds_were_never_moved() -> None:
    assert not seeds_of(torch.rand(3, 1, 4, 4)).as_candidates().moved.any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8])
def test_a_reference_is_the_root_moved_as_the_input_was(dtype: torch.dtype) -> None:
    roots = (torch.rand(3, 1, 4, 4) * 255).to(dtype)
    batch = replace(batch_of(roots * 0, references=roots), lineage=shifted(3, row=1))
    assert batch.moved.tolist() == [False, True, False]
    assert torch.equal(batch.originals, roots) and batch.references.dtype == dtype
    assert torch.equal(batch.references[[0, 2]], roots[[0, 2]])
    moved = place(roots[1:2].float(), placements_of(batch)[1:2])
    assert torch.equal(batch.references[1:2], moved.to(dtype)) and not torch.equal(batch.references[1], roots[1])
    assert torch.equal(batch.seeds.inputs, roots)


def test_joining_what_was_selected_gives_the_candidates_back() -> None:
    batch = replace(batch_of(torch.rand(4, 1, 4, 4)), lineage=shifted(4, row=2))
    joined = Candidates.joined([batch.select(part) for part in torch.arange(4).split(3)])
    for field in ("inputs", "parents", "roots", "references"):
        assert torch.equal(getattr(joined, field), getattr(batch, field))
    assert joined.mutations == batch.mutations and torch.equal(placements_of(joined), placements_of(batch))


def test_selecting_candidates_selects_every_field() -> None:
    batch = batch_of(torch.arange(4.0)[:, None], labels=torch.tensor([5, 6, 7, 8]))
    batch = replace(batch, lineage=shifted(4, row=3)).select(torch.tensor([3, 1, 1]))
    assert batch.inputs.flatten().tolist() == [3, 1, 1] and batch.labels.tolist() == [8, 6, 6]
    assert batch.moved.tolist() == [True, False, False]
    assert batch.roots.tolist() == [3, 1, 1] and batch.parents.tolist() == [103, 101, 101] and len(batch) == 3


def test_selecting_from_a_trace_moves_its_crashes_along() -> None:
    rows = torch.arange(4.0)
    trace = trace_of(rows[:, None], metadata={"loss": rows}, extremes={"fc": rows[:, None] * 2}, crashed=[2])
    chosen = trace.select(torch.tensor([2, 0, 3]))
    assert chosen.ran.tolist() == [False, True, True]
    assert chosen.crashes == {0: CRASH}
    assert chosen.metadata["loss"].tolist()[1:] == [0, 3] and chosen.extremes["fc"].flatten().tolist()[1:] == [0, 6]


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


def test_parts_of_libraries_are_filled_up_to_those_of_the_widest_trace_and_nothing_else_is() -> None:
    def trace(width: int) -> Trace:
        numbers = torch.arange(2 * width).reshape(2, width)
        return Trace(torch.full((2,), Outcome.OK), {}, metadata={LIBRARY: numbers, "own": torch.zeros(2, 3)})

    joined = Trace.joined([trace(1), trace(3), trace(0)])
    none = [NO_NUMBER] * 3
    assert joined.metadata[LIBRARY].tolist() == [[0, -1, -1], [1, -1, -1], [0, 1, 2], [3, 4, 5], none, none]
    assert joined.metadata["own"].shape == (6, 3)
    other = Trace(torch.full((2,), Outcome.OK), {}, metadata={"own": torch.zeros(2, 4, dtype=torch.int64)})
    with pytest.raises(RuntimeError, match="Sizes of tensors"):
        Trace.joined([Trace(other.outcome, {}, metadata={"own": torch.zeros(2, 5, dtype=torch.int64)}), other])
