"""The loop and its budget."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from fragile_campaign import (
    SEEDS,
    Fragile,
    Lessons,
    RowByRow,
    Run,
    Sturdy,
    interrupted,
    two_bounds,
)
from jostle import campaign
from jostle.campaign import Budget
from jostle.errors import Interrupted
from jostle.feedback.nearest import FarFromSeen
from jostle.inputs.distances import relative_distances
from jostle.interfaces import Scheduler
from jostle.mutators.metamorphic import Metamorphic
from jostle.mutators.noise import Noise
from jostle.oracles.numeric import Finite
from jostle.records import NO_PARENT, Candidates
from jostle.schedulers.batch_pool import BatchPool
from jostle.schedulers.recent import NewestFew, Uniform
from jostle.schedulers.seed_list import SeedList
from making import seeds_of


@pytest.fixture(scope="module")
def found() -> Run:
    return Run(Budget(executions=2000)).to_the_end()


def test_the_same_seed_gives_the_same_campaign_step_by_step(found: Run) -> None:
    torch.manual_seed(99)
    assert Run(Budget(executions=2000)).to_the_end().journal() == found.journal()


def test_another_seed_gives_another_campaign(found: Run) -> None:
    assert Run(Budget(executions=2000), seed=1).to_the_end().journal() != found.journal()


def test_a_campaign_leaves_the_global_random_state_alone() -> None:
    before = torch.get_rng_state()
    Run(Budget(executions=200)).to_the_end()
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("executions", [12, 13, 28, 29, 500])
def test_a_budget_of_executions_is_kept_to_the_last_one(executions: int) -> None:
    run = Run(Budget(executions=executions)).to_the_end()
    assert run.summary.executions == run.records[-1].so_far.executions == executions


def test_a_budget_of_findings_ends_the_campaign_in_the_step_that_reaches_it() -> None:
    run = Run(Budget(executions=20_000, findings=2)).to_the_end()
    assert sum(run.summary.findings.values()) >= 2
    assert sum(len(record.findings) for record in run.records[:-1]) < 2


def test_a_budget_of_time_ends_the_campaign_in_the_step_that_reaches_it() -> None:
    run = Run(Budget(seconds=1)).to_the_end()
    assert run.records[-2].so_far.seconds < 1 <= run.summary.seconds
    assert run.summary.executions > 12


def test_a_run_ends_when_there_is_no_more_room_for_what_it_writes() -> None:
    run = Run(Budget(executions=2000))
    run.to_the_end(full=lambda: len(run.records) == 4)
    assert [record.step for record in run.records] == [0, 1, 2, 3]


def test_who_asks_to_stop_while_seeds_run_one_by_one_gets_a_result() -> None:
    run = Run(Budget(executions=2000), target=RowByRow)
    run.campaign.stop()
    assert run.to_the_end().summary.executions == len(SEEDS)
    assert [record.step for record in run.records] == [0]


def test_a_beginning_that_may_be_interrupted_ends_there_with_seeds_and_on_resume(tmp_path: Path) -> None:
    run = Run(Budget(executions=2000), target=RowByRow, interruptible_beginning=True)
    run.campaign.stop()
    with pytest.raises(Interrupted):
        run.to_the_end()
    assert not run.records
    resumed, history = interrupted(tmp_path, 300, Budget(executions=900), target=RowByRow, interruptible_beginning=True)
    resumed.campaign.stop()
    with pytest.raises(Interrupted):
        resumed.to_the_end(history)
    resumed.listeners[0].release()


def test_the_campaign_carries_on_after_a_finding(found: Run) -> None:
    first = next(record.step for record in found.records if record.findings)
    assert found.records[-1].step > first
    assert found.summary.findings == {"nan": 1, "crash": 1}


def test_a_bug_is_reported_once_and_counted_every_time(found: Run) -> None:
    fingerprints = [finding.violation.fingerprint for record in found.records for finding in record.findings]
    assert len(fingerprints) == len(set(fingerprints)) == 2
    assert found.summary.violations["nan"] > 1
    assert found.summary.violations["nan"] == sum(record.violations.get("nan", 0) for record in found.records)


def test_a_finding_shows_the_first_input_of_its_bug(found: Run) -> None:
    for record in found.records:
        for finding in record.findings:
            assert len(finding.row) == 1 and finding.step == record.step
            if finding.violation.kind == "nan":
                assert finding.row.inputs[0, 0] > 0.9
            else:
                assert finding.row.inputs[0, 1] > 0.97


def test_violating_inputs_are_not_kept(found: Run) -> None:
    corpus = found.campaign.corpus
    inputs = corpus.select(torch.arange(len(corpus))).inputs
    assert len(inputs) > 12
    assert (inputs[:, 0] <= 0.9).all() and (inputs[:, 1] <= 0.97).all()


def test_all_seeds_enter_the_corpus_even_those_that_are_not_new() -> None:
    seeds = seeds_of(SEEDS.inputs[[0, 0, 0, 1]])
    run = Run(Budget(executions=4), seeds=seeds).to_the_end()
    assert run.summary.corpus == 4


def test_seeds_that_violate_are_found_and_not_kept() -> None:
    inputs = SEEDS.inputs.clone()
    inputs[3, 0], inputs[5, 1] = 0.95, 0.99
    run = Run(Budget(executions=12), seeds=seeds_of(inputs)).to_the_end()
    assert run.summary.findings == {"nan": 1, "crash": 1}
    assert run.summary.corpus == 10


def test_when_every_seed_violates_the_campaign_ends_after_planting() -> None:
    inputs = SEEDS.inputs.clone()
    inputs[:, 0] = 0.95
    run = Run(Budget(executions=500), seeds=seeds_of(inputs), feedbacks=lambda: [FarFromSeen([], 1.0)]).to_the_end()
    assert (run.summary.executions, run.summary.corpus) == (12, 0)


def test_what_is_new_is_kept_with_its_parent_and_root(found: Run) -> None:
    kept = [record.kept for record in found.records[1:] if len(record.kept)]
    assert kept
    size = 12
    for record in found.records[1:]:
        for parent, root in zip(record.kept.parents.tolist(), record.kept.roots.tolist(), strict=True):
            assert NO_PARENT < parent < size
            assert found.campaign.corpus.select(torch.tensor([parent])).roots.tolist() == [root]
        size += len(record.kept)
    assert size == found.summary.corpus == found.records[-1].so_far.corpus


def test_without_guidance_the_corpus_stays_the_seeds_and_no_coverage_is_claimed() -> None:
    run = Run(Budget(executions=1000), feedbacks=list).to_the_end()
    assert run.summary.corpus == 12 and run.summary.executions == 1000
    assert run.summary.coverage == {} and run.summary.findings == {"nan": 1, "crash": 1}


# Several criteria, and parts that learn


@pytest.fixture
def scheduler() -> Lessons:
    return Lessons()


@pytest.fixture
def of_two(scheduler: Lessons) -> Run:
    return Run(Budget(executions=1000), feedbacks=two_bounds, scheduler=lambda: scheduler).to_the_end()


def test_a_row_that_is_new_to_any_criterion_is_kept(of_two: Run) -> None:
    kept = torch.cat([record.kept.inputs for record in of_two.records[1:]])
    large, first = kept.sum(1) > 2, kept[:, 0] * 2 > 1.2
    assert (large | first).all() and (large & ~first).any() and (first & ~large).any()
    assert of_two.summary.coverage == {"sum": {"bound": 2.0}, "twice the first": {"bound": 1.2}}
    assert of_two.records[-1].so_far.coverage == of_two.summary.coverage


def test_a_part_that_learns_gets_what_each_step_kept_and_found(of_two: Run, scheduler: Lessons) -> None:
    assert len(scheduler.lessons) == len(of_two.records)
    for lesson, record in zip(scheduler.lessons, of_two.records, strict=True):
        inputs = lesson.kept.inputs
        assert lesson.kept is record.kept and lesson.gains.shape == (len(inputs), 2)
        outputs = torch.stack([inputs.sum(1), inputs[:, 0] * 2], 1)
        torch.testing.assert_close(lesson.trace.outputs["model"], outputs, rtol=0, atol=1e-5)
        expected = (outputs - torch.tensor([2.0, 1.2])).clamp(min=0)
        torch.testing.assert_close(lesson.gains, expected, rtol=0, atol=1e-5)
        assert lesson.found == tuple(finding.row.mutations[0] for finding in record.findings)
    assert len(scheduler.lessons[0].kept) == 12
    assert any(lesson.found for lesson in scheduler.lessons)


def test_without_criteria_a_part_that_learns_gets_the_seeds_alone(scheduler: Lessons) -> None:
    Run(Budget(executions=200), feedbacks=list, scheduler=lambda: scheduler).to_the_end()
    sizes = [(len(lesson.kept), lesson.gains.shape[1]) for lesson in scheduler.lessons]
    assert sizes == [(12, 0)] + [(0, 0)] * 12


def test_the_summary_fits_into_json(found: Run) -> None:
    summary = found.summary.as_json()
    assert summary["executions"] == 2000 and summary["findings"] == {"nan": 1, "crash": 1}
    assert summary["executions_per_second"] == pytest.approx(2000 / found.summary.seconds, rel=0.1)
    assert summary["inputs_per_second_by_variant"]["model"] > 0


# A plan of nothing


class Thrice(Uniform):
    """Plans three steps, and then nothing."""

    def __init__(self) -> None:
        self._plans = 0

    def plan(self, entries: int, children: int, rng: torch.Generator) -> Tensor:
        self._plans += 1
        ids = super().plan(entries, children, rng)
        return ids if self._plans <= 3 else ids[:0]


def test_a_plan_of_nothing_ends_the_run() -> None:
    run = Run(Budget(executions=100_000), scheduler=Thrice).to_the_end()
    assert [record.step for record in run.records] == [0, 1, 2, 3]
    assert run.summary.executions == 12 + 3 * 16


def test_a_list_of_one_round_ends_the_run_after_every_entry_had_its_turn() -> None:
    run = Run(Budget(executions=100_000), scheduler=lambda: SeedList(iterations=2, limit=0.3, rounds=1)).to_the_end()
    listed = [record.kept for record in run.records]
    near = [relative_distances(kept.inputs, kept.references) < 0.3 for kept in listed]
    assert 12 * 2 <= run.summary.executions - 12 <= 2 * sum(int(some.sum()) for some in near)
    parents = torch.cat([kept.parents for kept in listed[1:]])
    assert set(range(12)) & set(parents.tolist())


@pytest.mark.parametrize(("largest", "sizes"), [(None, {16}), (16, {16}), (40, {16, 32, 40}), (64, {16, 32, 48, 64})])
def test_steps_grow_once_the_campaign_has_eight_like_them_behind_it(largest: int | None, sizes: set[int]) -> None:
    run = Run(Budget(executions=1600), largest_step=largest).to_the_end()
    planned, before = [record.planned for record in run.records[1:-1]], 12
    assert set(planned) == sizes and planned == sorted(planned)
    for rows in planned:
        assert rows == 16 or rows * 8 <= before
        before += rows
    assert run.summary.executions == 1600


@pytest.mark.parametrize("scheduler", [Uniform, lambda: BatchPool(1.0)])
@pytest.mark.parametrize("budget", [Budget(executions=900), Budget(findings=2), Budget(executions=12)])
def test_steps_that_overlap_are_those_of_one_after_another(
    budget: Budget, scheduler: Callable[[], Scheduler], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = []
    for processors in (1, 1024):
        monkeypatch.setattr(campaign, "_all_processors", lambda processors=processors: processors)
        runs.append(Run(budget, plans_ahead=True, scheduler=scheduler, largest_step=64).to_the_end())
    one_by_one, overlapping = runs
    assert overlapping.journal() == one_by_one.journal()
    assert overlapping.summary.as_json()["coverage"] == one_by_one.summary.as_json()["coverage"]


def test_of_steps_that_overlap_the_one_under_way_is_kept_when_somebody_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "_all_processors", lambda: 1024)
    run = Run(Budget(executions=9000), plans_ahead=True, module=Sturdy())
    run.listeners = (lambda record: run.campaign.stop() if record.step == 3 else None,)
    run.to_the_end()
    assert [record.step for record in run.records] == [0, 1, 2, 3, 4]  # the fourth ran when the third was told
    assert run.summary.executions == run.records[-1].so_far.executions == 12 + 4 * 16


def test_of_steps_that_overlap_one_that_found_something_is_told_before_the_model_runs_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Watching(Fragile):
        def forward(self, inputs: Tensor) -> Tensor:
            bugs = len(run.campaign._judge.seen()[0])
            assert bugs == sum(len(record.findings) for record in run.records)
            return super().forward(inputs)

    monkeypatch.setattr(campaign, "_all_processors", lambda: 1024)
    run = Run(Budget(executions=2000), plans_ahead=True, module=Watching(), oracles=(Finite,))
    run.to_the_end()
    assert run.summary.findings == {"nan": 1}  # a failed assertion would be a crash of the model, and count as none


def test_of_steps_that_overlap_none_begins_once_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    passed = [0.0]

    class Slow(Sturdy):
        def forward(self, inputs: Tensor) -> Tensor:
            passed[0] += 1.0
            return super().forward(inputs)

    monkeypatch.setattr(campaign.time, "monotonic", lambda: passed[0])
    steps = []
    for processors in (1, 1024):
        monkeypatch.setattr(campaign, "_all_processors", lambda processors=processors: processors)
        passed[0] = 0.0
        steps.append(len(Run(Budget(seconds=4.5), plans_ahead=True, module=Slow()).to_the_end().records))
    assert steps[0] == steps[1]


def test_a_script_that_has_inference_mode_on_can_run_a_campaign(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "_all_processors", lambda: 1024)
    run = Run(Budget(executions=300), plans_ahead=True, module=Sturdy())
    with torch.inference_mode():
        run.to_the_end()
    assert run.summary.executions == 300


@pytest.mark.parametrize("recipe", ["deephunter", "tensorfuzz"])
def test_a_model_that_has_another_default_dtype_while_it_runs_changes_nothing(
    recipe: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Images(Sturdy):
        def forward(self, inputs: Tensor) -> Tensor:
            return super().forward(inputs.flatten(1))

    class InDouble(Images):
        def forward(self, inputs: Tensor) -> Tensor:
            torch.set_default_dtype(torch.float64)
            try:
                time.sleep(0.01)  # for the thread beside it to work meanwhile
                return super().forward(inputs)
            finally:
                torch.set_default_dtype(torch.float32)

    monkeypatch.setattr(campaign, "_all_processors", lambda: 1024)
    images = seeds_of(SEEDS.inputs.repeat(1, 16).view(-1, 1, 8, 8), SEEDS.labels)
    mutator = {"deephunter": lambda: Metamorphic(0, 1), "tensorfuzz": lambda: Noise(0.2, 0, 1)}[recipe]
    how: dict[str, Any] = {"plans_ahead": True, "seeds": images, "mutator": mutator, "scheduler": lambda: BatchPool(1)}
    double, plain = (Run(Budget(executions=300), module=of(), **how).to_the_end() for of in (InDouble, Images))
    assert double.journal() == plain.journal()


def test_of_steps_that_overlap_the_one_before_is_kept_when_one_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    class Spoiling(Sturdy):
        def forward(self, inputs: Tensor) -> Tensor:
            if len(run.records) == 4:
                raise Interrupted
            return super().forward(inputs)

    monkeypatch.setattr(campaign, "_all_processors", lambda: 1024)
    run = Run(Budget(executions=9000), plans_ahead=True, module=Spoiling())
    with pytest.raises(Interrupted):
        run.to_the_end()
    assert [record.step for record in run.records] == [0, 1, 2, 3, 4]


def test_a_step_made_ahead_descends_from_what_was_kept_two_steps_before() -> None:
    run = Run(Budget(executions=900), module=Sturdy(), plans_ahead=True, scheduler=NewestFew).to_the_end()
    known = [0]  # entries after each step
    for record in run.records:
        known.append(known[-1] + len(record.kept))
        if record.step and len(record.kept):
            assert int(record.kept.parents.max()) < known[max(1, record.step - 1)]
    assert run.summary.executions == 900


def test_what_making_a_step_raises_is_raised_when_the_one_before_it_has_run(monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing(Noise):
        def mutate(self, parents: Candidates, rng: torch.Generator) -> Candidates:
            if len(run.records) == 3:
                raise KeyError("ours")
            return super().mutate(parents, rng)

    monkeypatch.setattr(campaign, "_all_processors", lambda: 1024)
    run = Run(Budget(executions=900), plans_ahead=True, mutator=lambda: Failing(0.1, 0, 1))
    with pytest.raises(KeyError):
        run.to_the_end()
    assert [record.step for record in run.records] == [0, 1, 2, 3]  # and the one that had run by then is kept
