"""Going on from an earlier run: replaying its steps, and doing again those that are lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from fragile_campaign import (
    SEEDS,
    Fragile,
    Lessons,
    Run,
    ShyAtFirst,
    Sturdy,
    WorseInCompany,
    in_tenths,
    interrupted,
    two_bounds,
)
from jostle.campaign import Budget, Campaign
from jostle.errors import OutputRefused
from jostle.feedback.gap import NearerToDisagreement, to_another_top
from jostle.feedback.nearest import FarFromSeen
from jostle.interfaces import Feedback
from jostle.mutators.havoc import Havoc
from jostle.mutators.mixed import Costed, Mixed
from jostle.mutators.noise import Noise
from jostle.oracles.agreement import Agreement
from jostle.oracles.comparisons import SameTop
from jostle.oracles.labels import LabelKept
from jostle.records import TWIN
from jostle.schedulers.adaptive import WhereGainsCome
from jostle.schedulers.batch_pool import BatchPool
from jostle.schedulers.best_of_seed import BestOfSeed
from jostle.schedulers.least_fuzzed import LeastFuzzed
from jostle.schedulers.seed_list import SeedList
from jostle.step_records import StepRecord
from jostle.storage.archive import open_archive, open_campaign
from jostle.storage.campaign_record import CampaignRecord
from jostle.storage.history import read_history
from jostle.storage.journal import journal_line
from jostle.subjects.torch_target import TorchTarget
from jostle.targets.twins import Twins
from making import seeds_of


def test_a_resumed_campaign_goes_on_counting(tmp_path: Path) -> None:
    run, history = interrupted(tmp_path, 300, Budget(executions=900))
    run.to_the_end(history)
    assert run.summary.executions == 900 and run.summary.seconds > 1.5
    assert run.records[0].step == history.steps[-1].step + 1
    run.listeners[0].release()
    again = read_history(tmp_path, SEEDS)
    assert again is not None and again.executions == 900


def test_a_resumed_campaign_does_not_report_known_bugs_again(tmp_path: Path) -> None:
    run, history = interrupted(tmp_path, 2000, Budget(executions=4000))
    assert dict(history.findings) == {"nan": 1, "crash": 1}
    run.to_the_end(history)
    assert not any(record.findings for record in run.records)
    assert run.summary.findings == {"nan": 1, "crash": 1}
    assert run.summary.violations["nan"] > history.violations["nan"]
    assert len(list((tmp_path / "findings").iterdir())) == 2


def test_a_spent_budget_is_spent_for_the_resumed_campaign_too(tmp_path: Path) -> None:
    run, history = interrupted(tmp_path, 300, Budget(executions=300))
    run.to_the_end(history)
    assert run.records == [] and run.summary.executions == 300


@pytest.mark.parametrize("ahead", [False, True])
def test_where_nothing_violates_an_interruption_changes_nothing(ahead: bool, tmp_path: Path) -> None:
    at_once = Run(Budget(executions=12 + 16 * 40), module=Sturdy(), plans_ahead=ahead).to_the_end()
    run, history = interrupted(
        tmp_path, 12 + 16 * 15, Budget(executions=12 + 16 * 40), module=Sturdy(), plans_ahead=ahead
    )
    run.to_the_end(history)
    assert run.journal() == at_once.journal()[16:]
    assert run.summary.corpus == at_once.summary.corpus > 20


def test_the_threshold_calibrated_on_the_seeds_outlives_an_interruption(tmp_path: Path) -> None:
    """Although seeds that violated are not among what was kept."""
    mislabelled = seeds_of(SEEDS.inputs, torch.tensor([1] * 9 + [0] * 3))
    choices = {"seeds": mislabelled, "oracles": (LabelKept,), "module": Sturdy()}
    run, history = interrupted(tmp_path, 12, Budget(executions=12), **choices)
    assert len(history.kept(history.steps)) < 12
    fresh = Run(Budget(executions=12), **choices).to_the_end()
    run.to_the_end(history)
    assert run.summary.coverage["nearest"]["threshold"] == fresh.summary.coverage["nearest"]["threshold"]


def test_a_resumed_corpus_is_the_one_that_was_left(tmp_path: Path) -> None:
    with open_archive(tmp_path, {}) as archive:
        first = Run(Budget(executions=500), listeners=(archive,)).to_the_end()
    history = read_history(tmp_path, SEEDS)
    second = Run(Budget(executions=500)).to_the_end(history)
    ours, theirs = (run.campaign.corpus.select(torch.arange(first.summary.corpus)) for run in (first, second))
    assert torch.equal(ours.inputs, theirs.inputs) and torch.equal(ours.parents, theirs.parents)
    assert torch.equal(ours.roots, theirs.roots) and ours.mutations == theirs.mutations


def test_a_corpus_that_changes_while_it_is_read_is_refused_in_one_line(tmp_path: Path) -> None:
    run, history = interrupted(tmp_path, 300, Budget(executions=900))
    next(tmp_path.glob("corpus/0*3.safetensors")).write_bytes(b"another")
    with pytest.raises(OutputRefused, match="was changed while it was read: the same command mends it"):
        run.to_the_end(history)


def test_an_interruption_changes_nothing_where_steps_grow(tmp_path: Path) -> None:
    whole = Budget(executions=2000)
    at_once = Run(whole, largest_step=64).to_the_end()
    resumed, history = interrupted(tmp_path, at_once.records[20].so_far.executions, whole, largest_step=64)
    resumed.to_the_end(history)
    assert (
        resumed.journal() == at_once.journal()[21:] and at_once.records[-2].planned == 64 > at_once.records[20].planned
    )


@pytest.mark.parametrize("steps", [0, 1, 2, 15])
@pytest.mark.parametrize("ahead", [False, True])
def test_an_interruption_changes_nothing_where_inputs_violate_either(ahead: bool, steps: int, tmp_path: Path) -> None:
    at_once = Run(Budget(executions=12 + 16 * 40), plans_ahead=ahead).to_the_end()
    run, history = interrupted(tmp_path, 12 + 16 * steps, Budget(executions=12 + 16 * 40), plans_ahead=ahead)
    run.to_the_end(history)
    assert at_once.summary.findings and run.journal() == at_once.journal()[steps + 1 :]


def near_and_large() -> list[Feedback]:
    return [FarFromSeen([]), FarFromSeen([], criterion="magnitude")]


def two_mutators() -> Mixed:
    return Mixed({"mild": Costed(Noise(0.1, 0, 1)), "violent": Costed(Noise(0.5, 0, 1), 2)})


def noise_and_havoc() -> Mixed:
    return Mixed({"noise": Costed(Noise(0.2, 0, 1)), "havoc": Costed(Havoc(0, 1))})


LEARNING: dict[str, dict[str, Callable[[], object]]] = {
    "pool": {"scheduler": lambda: BatchPool(1.0, sample=8)},
    "seldom": {"scheduler": LeastFuzzed},
    "adaptive": {"scheduler": WhereGainsCome},
    "list": {"scheduler": lambda: SeedList(limit=1.0)},
    "mixed": {"mutator": two_mutators},
    "havoc": {"mutator": lambda: Havoc(0, 1)},
    "noise and havoc": {"mutator": noise_and_havoc},
    "climb": {"scheduler": BestOfSeed},
}


@pytest.mark.parametrize("name", LEARNING)
@pytest.mark.parametrize("module", [Sturdy, Fragile])
def test_an_interruption_changes_nothing_for_parts_that_learn(
    name: str, module: type[nn.Module], tmp_path: Path
) -> None:
    choices = {**LEARNING[name], "feedbacks": near_and_large, "module": module()}
    at_once = Run(Budget(executions=12 + 16 * 40), **choices).to_the_end()
    after = at_once.records[15].so_far.executions  # not always as many as were planned
    run, history = interrupted(tmp_path, after, Budget(executions=12 + 16 * 40), **choices)
    run.to_the_end(history)
    assert run.journal() == at_once.journal()[16:]
    assert run.summary.corpus == at_once.summary.corpus > 30


class Tilted(nn.Module):
    """As sturdy, but the second score a little larger."""

    def forward(self, inputs: Tensor) -> Tensor:
        return Sturdy()(inputs) * torch.tensor([1.0, 1.02])


def toward_disagreement(executions: int) -> Campaign:
    return Campaign(
        target=Twins(TorchTarget(Sturdy()), {TWIN: TorchTarget(Tilted())}),
        mutator=Noise(0.1, 0, 1, halvings=8),
        feedbacks=[NearerToDisagreement({TWIN: to_another_top()})],
        oracles=[Agreement(SameTop())],
        scheduler=BestOfSeed(),
        seeds=SEEDS,
        budget=Budget(executions=executions),
        batch=16,
    )


def test_an_interruption_changes_nothing_where_the_gap_to_a_twin_guides(tmp_path: Path) -> None:
    at_once, resumed = list[StepRecord](), list[StepRecord]()
    whole = toward_disagreement(12 + 16 * 40).run(listeners=[at_once.append])
    with open_archive(tmp_path, {}) as archive:
        toward_disagreement(12 + 16 * 15).run(listeners=[archive])
    later = toward_disagreement(12 + 16 * 40).run(read_history(tmp_path, SEEDS), listeners=[resumed.append])
    assert whole.findings and later.coverage == whole.coverage and later.corpus > 20
    assert [journal_line(record) for record in resumed] == [journal_line(record) for record in at_once[16:]]


def test_a_part_that_learns_gets_again_what_an_earlier_run_kept(tmp_path: Path) -> None:
    once, again = Lessons(), Lessons()
    Run(Budget(executions=1000), feedbacks=two_bounds, scheduler=lambda: once).to_the_end()
    choices = {"feedbacks": two_bounds, "scheduler": lambda: again}
    run, history = interrupted(tmp_path, 12 + 16 * 10, Budget(executions=1000), **choices)
    again.lessons.clear()
    run.to_the_end(history)
    for lesson, expected in zip(again.lessons, once.lessons, strict=True):
        assert torch.equal(lesson.kept.inputs, expected.kept.inputs) and lesson.found == expected.found
        assert torch.equal(lesson.kept.parents, expected.kept.parents)
        torch.testing.assert_close(lesson.gains, expected.gains)
        if len(lesson.kept):
            torch.testing.assert_close(lesson.trace.outputs["model"], expected.trace.outputs["model"])


@pytest.mark.parametrize("module", [WorseInCompany, ShyAtFirst])
def test_flaky_bugs_outlive_an_interruption(module: type[nn.Module], tmp_path: Path) -> None:
    whole = Run(Budget(executions=1200), module=module()).to_the_end()
    run, history = interrupted(tmp_path, 12 + 16 * 3, Budget(executions=1200), module=module())
    assert history.flaky
    run.to_the_end(history)
    assert run.journal() == whole.journal()[4:]
    assert run.summary.flaky == whole.summary.flaky and run.summary.findings == whole.summary.findings


def test_what_saving_mended_is_counted_on_after_an_interruption(tmp_path: Path) -> None:
    whole = Run(Budget(executions=2000), saved=in_tenths).to_the_end()
    run, history = interrupted(tmp_path, 12 + 16 * 30, Budget(executions=2000), saved=in_tenths)
    assert history.unconfirmed["nan"] > 0
    run.to_the_end(history)
    assert run.summary.unconfirmed == whole.summary.unconfirmed
    assert run.journal() == whole.journal()[31:]


def test_a_run_that_ended_for_want_of_plans_has_nothing_more_to_do(tmp_path: Path) -> None:
    choices: dict[str, Any] = {"scheduler": lambda: SeedList(limit=0.3, rounds=1), "module": Sturdy()}
    run, history = interrupted(tmp_path, 100_000, Budget(executions=200_000), **choices)
    run.to_the_end(history)
    assert run.records == [] and run.summary.executions == history.executions < 100_000


# Steps that are lost


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("module", [Sturdy, Fragile])
@pytest.mark.parametrize("lost", [(0,), (1, 2, 3), (0, 4, 15)])
def test_a_step_that_is_lost_is_done_again_and_counted_once(
    lost: tuple[int, ...], module: type[nn.Module], ahead: bool, tmp_path: Path
) -> None:
    budget = Budget(executions=12 + 16 * 30)
    whole = Run(budget, module=module(), plans_ahead=ahead).to_the_end()
    interrupted(tmp_path, 12 + 16 * 15, budget, module=module(), plans_ahead=ahead)[0].listeners[0].release()
    paths = [tmp_path / "corpus" / f"{step:08}.safetensors" for step in lost]
    before = {path: path.read_bytes() for path in paths if path.exists()}
    for path in before:
        path.write_bytes(b"short")
    with open_archive(tmp_path, {}) as archive:
        history = read_history(tmp_path, SEEDS, archive.quarantine)
        assert history is not None and sum(past.lost for past in history.steps) == len(before) > 0
        run = Run(budget, module=module(), listeners=(archive,), plans_ahead=ahead)
        run.to_the_end(history, redone=archive.repair)
    assert {path: path.read_bytes() for path in before} == before
    assert run.journal() == whole.journal()[16:]
    assert len(archive.quarantine.warnings) == 1
    for name in ("executions", "corpus", "findings", "violations", "coverage"):
        assert getattr(run.summary, name) == getattr(whole.summary, name)


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_failing_tests_that_are_lost_are_made_again_to_the_byte(damage: str, ahead: bool, tmp_path: Path) -> None:
    budget, how = Budget(executions=12 + 16 * 60), {"saved": in_tenths, "plans_ahead": ahead}
    whole = Run(budget, **how).to_the_end()
    interrupted(tmp_path, 12 + 16 * 45, budget, **how)[0].listeners[0].release()
    files = sorted((tmp_path / "failing").iterdir())[::-3]  # the last among them
    before = {path: path.read_bytes() for path in files}
    corpus = {path: path.stat().st_mtime_ns for path in (tmp_path / "corpus").iterdir()}
    for path in files:
        path.write_bytes(path.read_bytes()[:-1]) if damage == "cut" else path.unlink()
    archive = open_campaign(tmp_path, CampaignRecord({}))
    history = read_history(tmp_path, SEEDS, archive.quarantine)
    assert history is not None and sum(past.failing_lost for past in history.steps) == len(before) > 0
    run = Run(budget, listeners=(archive,), **how)
    run.to_the_end(history, redone=archive.repair)
    archive.release()
    assert {path: path.read_bytes() for path in files} == before
    assert {path: path.stat().st_mtime_ns for path in corpus} == corpus  # nothing else was made again
    assert run.journal() == whole.journal()[46:] and run.summary.failing_kept == whole.summary.failing_kept
    assert len(archive.quarantine.warnings) == 1 and "made again" in archive.quarantine.warnings[0]
    assert len(list((tmp_path / "quarantine").iterdir())) == (len(files) if damage == "cut" else 0)


class Moody(nn.Module):
    """Two scores that are never the same twice."""

    def forward(self, inputs: Tensor) -> Tensor:
        return torch.stack([inputs.sum(1), torch.rand(len(inputs)) * 20], 1)


def test_a_step_that_comes_out_otherwise_is_warned_of_and_gone_on_with(tmp_path: Path) -> None:
    budget = Budget(executions=12 + 16 * 30)
    interrupted(tmp_path, 12 + 16 * 15, budget, module=Moody())[0].listeners[0].release()
    (tmp_path / "corpus" / "00000003.safetensors").unlink()
    with open_archive(tmp_path, {}) as archive:
        run = Run(budget, module=Moody(), listeners=(archive,))
        run.to_the_end(read_history(tmp_path, SEEDS, archive.quarantine), redone=archive.repair)
    assert "step 3 came out otherwise" in archive.quarantine.warnings[-1]
    with open_archive(tmp_path, {}) as again:
        history = read_history(tmp_path, SEEDS, again.quarantine)
    assert history is not None and not any(past.lost for past in history.steps) and not again.quarantine.warnings
