"""The loop and its budget."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from jostle.campaign import Budget, Campaign
from jostle.feedback.nearest import FarFromSeen
from jostle.inputs.distances import relative_distances
from jostle.interfaces import Feedback, Mutator, Scheduler
from jostle.mutators.mixed import Costed, Mixed
from jostle.mutators.noise import Noise
from jostle.oracles.crash import NoCrash
from jostle.oracles.labels import LabelKept
from jostle.oracles.numeric import Finite
from jostle.randomness import randomness
from jostle.records import NO_PARENT, History, Lesson, StepRecord, Trace
from jostle.schedulers.adaptive import WhereGainsCome
from jostle.schedulers.batch_pool import BatchPool
from jostle.schedulers.least_fuzzed import SeldomFuzzed
from jostle.schedulers.recent import NewestFew
from jostle.schedulers.seed_list import SeedList
from jostle.schedulers.uniform import Uniform
from jostle.storage.archive import open_archive
from jostle.storage.history import read_history
from jostle.storage.journal import JournalLine, journal_line
from jostle.targets.contained import Contained
from jostle.targets.torch_target import TorchTarget
from making import seeds_of

SEEDS = seeds_of(torch.rand(12, 4, generator=randomness(5, 5)) * 0.5, torch.zeros(12).long())


class Fragile(nn.Module):
    """Two scores; infinite where the first value exceeds 0.9, and raises where the second exceeds 0.97."""

    def forward(self, inputs: Tensor) -> Tensor:
        if (inputs[:, 1] > 0.97).any():
            raise RuntimeError("too large")
        return torch.stack([inputs.sum(1), torch.where(inputs[:, 0] > 0.9, torch.inf, inputs[:, 0] * 2)], 1)


@dataclass
class Run:
    """A campaign on a fragile model, and everything its listeners were told."""

    budget: Budget
    seed: int = 0
    batch: int = 16
    seeds: Any = SEEDS
    oracles: tuple[Any, ...] = (Finite, NoCrash)
    feedbacks: Callable[[], list[Feedback]] = lambda: [FarFromSeen([])]
    mutator: Callable[[], Mutator] = lambda: Noise(0.2, 0, 1)
    scheduler: Callable[[], Scheduler] = NewestFew
    told: list[StepRecord] = field(default_factory=list)
    listeners: tuple[Any, ...] = ()
    module: nn.Module = field(default_factory=Fragile)
    saved: Callable[[Tensor], Tensor] | None = None

    def __post_init__(self) -> None:
        self.campaign = Campaign(
            target=Contained(TorchTarget(self.module)),
            mutator=self.mutator(),
            feedbacks=self.feedbacks(),
            oracles=[oracle() for oracle in self.oracles],
            scheduler=self.scheduler(),
            seeds=self.seeds,
            budget=self.budget,
            seed=self.seed,
            batch=self.batch,
            listeners=[self.told.append, *self.listeners],
            saved=self.saved,
        )

    def to_the_end(self, history: History | None = None) -> Run:
        self.summary = self.campaign.run(history)
        return self

    def journal(self) -> list[JournalLine]:
        return [journal_line(record) for record in self.told]


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
    assert run.summary.executions == run.told[-1].so_far.executions == executions


def test_a_budget_of_findings_ends_the_campaign_in_the_step_that_reaches_it() -> None:
    run = Run(Budget(executions=20_000, findings=2)).to_the_end()
    assert sum(run.summary.findings.values()) >= 2
    assert sum(len(record.findings) for record in run.told[:-1]) < 2


def test_a_budget_of_time_ends_the_campaign_soon_after() -> None:
    started = time.monotonic()
    run = Run(Budget(seconds=0.3)).to_the_end()
    assert 0.3 <= run.summary.seconds < 1.5
    assert time.monotonic() - started < 2
    assert run.summary.executions > 12


def test_the_campaign_carries_on_after_a_finding(found: Run) -> None:
    first = next(record.step for record in found.told if record.findings)
    assert found.told[-1].step > first
    assert found.summary.findings == {"nan": 1, "crash": 1}


def test_a_bug_is_reported_once_and_counted_every_time(found: Run) -> None:
    fingerprints = [finding.violation.fingerprint for record in found.told for finding in record.findings]
    assert len(fingerprints) == len(set(fingerprints)) == 2
    assert found.summary.violations["nan"] > 1
    assert found.summary.violations["nan"] == sum(record.violations.get("nan", 0) for record in found.told)


def test_a_finding_shows_the_first_input_of_its_bug(found: Run) -> None:
    for record in found.told:
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
    kept = [record.kept for record in found.told[1:] if len(record.kept)]
    assert kept
    size = 12
    for record in found.told[1:]:
        for parent, root in zip(record.kept.parents.tolist(), record.kept.roots.tolist(), strict=True):
            assert NO_PARENT < parent < size
            assert found.campaign.corpus.select(torch.tensor([parent])).roots.tolist() == [root]
        size += len(record.kept)
    assert size == found.summary.corpus == found.told[-1].so_far.corpus


def test_without_guidance_the_corpus_stays_the_seeds_and_no_coverage_is_claimed() -> None:
    run = Run(Budget(executions=1000), feedbacks=list).to_the_end()
    assert run.summary.corpus == 12 and run.summary.executions == 1000
    assert run.summary.coverage == {} and run.summary.findings == {"nan": 1, "crash": 1}


# Several criteria, and parts that learn


class Above:
    """New is a row whose output in one place exceeds a bound, by how much; remembers nothing."""

    def __init__(self, name: str, place: int, bound: float):
        self._name, self._place, self._bound = name, place, bound

    def assess(self, trace: Trace) -> Tensor:
        return (trace.outputs["model"][:, self._place] - self._bound).clamp(min=0)

    def coverage(self) -> dict[str, dict[str, float]]:
        return {self._name: {"bound": self._bound}}


def two_bounds() -> list[Feedback]:
    return [Above("sum", 0, 2.0), Above("twice the first", 1, 1.2)]


class Told(Uniform):
    """A scheduler that writes down what it is told of."""

    def __init__(self) -> None:
        self.lessons: list[Lesson] = []

    def learn(self, lesson: Lesson) -> None:
        self.lessons.append(lesson)


@pytest.fixture
def scheduler() -> Told:
    return Told()


@pytest.fixture
def of_two(scheduler: Told) -> Run:
    return Run(Budget(executions=1000), feedbacks=two_bounds, scheduler=lambda: scheduler).to_the_end()


def test_a_row_that_is_new_to_any_criterion_is_kept(of_two: Run) -> None:
    kept = torch.cat([record.kept.inputs for record in of_two.told[1:]])
    large, first = kept.sum(1) > 2, kept[:, 0] * 2 > 1.2
    assert (large | first).all() and (large & ~first).any() and (first & ~large).any()
    assert of_two.summary.coverage == {"sum": {"bound": 2.0}, "twice the first": {"bound": 1.2}}
    assert of_two.told[-1].so_far.coverage == of_two.summary.coverage


def test_a_part_that_learns_is_told_of_what_each_step_kept_and_found(of_two: Run, scheduler: Told) -> None:
    assert len(scheduler.lessons) == len(of_two.told)
    for lesson, record in zip(scheduler.lessons, of_two.told, strict=True):
        inputs = lesson.kept.inputs
        assert lesson.kept is record.kept and lesson.gains.shape == (len(inputs), 2)
        outputs = torch.stack([inputs.sum(1), inputs[:, 0] * 2], 1)
        torch.testing.assert_close(lesson.trace.outputs["model"], outputs, rtol=0, atol=1e-5)
        expected = (outputs - torch.tensor([2.0, 1.2])).clamp(min=0)
        torch.testing.assert_close(lesson.gains, expected, rtol=0, atol=1e-5)
        assert lesson.found == tuple(finding.row.steps[0] for finding in record.findings)
    assert len(scheduler.lessons[0].kept) == 12
    assert any(lesson.found for lesson in scheduler.lessons)


def test_without_criteria_a_part_that_learns_is_told_of_the_seeds_alone(scheduler: Told) -> None:
    Run(Budget(executions=200), feedbacks=list, scheduler=lambda: scheduler).to_the_end()
    told = [(len(lesson.kept), lesson.gains.shape[1]) for lesson in scheduler.lessons]
    assert told == [(12, 0)] + [(0, 0)] * 12


def test_the_summary_fits_into_json(found: Run) -> None:
    told = found.summary.as_json()
    assert told["executions"] == 2000 and told["findings"] == {"nan": 1, "crash": 1}
    assert told["executions_per_second"] == pytest.approx(2000 / found.summary.seconds, rel=0.1)
    assert told["inputs_per_second_by_variant"]["model"] > 0


# Going on


def interrupted(folder: Path, after: int, whole: Budget, **choices: Any) -> tuple[Run, History]:
    """A run of this many executions, and what its folder tells about it."""
    archive = open_archive(folder, {})
    run = Run(Budget(executions=after), listeners=(archive,), **choices).to_the_end()
    archive.conclude(replace(run.summary, seconds=1.5))
    archive.close()
    history = read_history(folder, choices.get("seeds", SEEDS))
    assert history is not None
    return Run(whole, listeners=(open_archive(folder, {}),), **choices), history


def test_a_resumed_campaign_goes_on_counting(tmp_path: Path) -> None:
    run, history = interrupted(tmp_path, 300, Budget(executions=900))
    run.to_the_end(history)
    assert run.summary.executions == 900 and run.summary.seconds > 1.5
    assert run.told[0].step == history.steps[-1].step + 1
    run.listeners[0].release()
    again = read_history(tmp_path, SEEDS)
    assert again is not None and again.executions == 900


def test_a_resumed_campaign_does_not_report_known_bugs_again(tmp_path: Path) -> None:
    run, history = interrupted(tmp_path, 2000, Budget(executions=4000))
    assert dict(history.findings) == {"nan": 1, "crash": 1}
    run.to_the_end(history)
    assert not any(record.findings for record in run.told)
    assert run.summary.findings == {"nan": 1, "crash": 1}
    assert run.summary.violations["nan"] > history.violations["nan"]
    assert len(list((tmp_path / "findings").iterdir())) == 2


def test_a_spent_budget_is_spent_for_the_resumed_campaign_too(tmp_path: Path) -> None:
    run, history = interrupted(tmp_path, 300, Budget(executions=300))
    run.to_the_end(history)
    assert run.told == [] and run.summary.executions == 300


class Sturdy(nn.Module):
    def forward(self, inputs: Tensor) -> Tensor:
        return torch.stack([inputs.sum(1), inputs[:, 0] * 2], 1)


def test_where_nothing_violates_an_interruption_changes_nothing(tmp_path: Path) -> None:
    at_once = Run(Budget(executions=12 + 16 * 40), module=Sturdy()).to_the_end()
    run, history = interrupted(tmp_path, 12 + 16 * 15, Budget(executions=12 + 16 * 40), module=Sturdy())
    run.to_the_end(history)
    assert run.journal() == at_once.journal()[16:]
    assert run.summary.corpus == at_once.summary.corpus > 20


def test_the_threshold_calibrated_on_the_seeds_outlives_an_interruption(tmp_path: Path) -> None:
    """Although seeds that violated are not among what was kept."""
    mislabelled = seeds_of(SEEDS.inputs, torch.tensor([1] * 9 + [0] * 3))
    choices = {"seeds": mislabelled, "oracles": (LabelKept,), "module": Sturdy()}
    run, history = interrupted(tmp_path, 12, Budget(executions=12), **choices)
    assert len(history.kept) < 12
    fresh = Run(Budget(executions=12), **choices).to_the_end()
    run.to_the_end(history)
    assert run.summary.coverage["nearest"]["threshold"] == fresh.summary.coverage["nearest"]["threshold"]


def test_a_resumed_corpus_is_the_one_that_was_left(tmp_path: Path) -> None:
    archive = open_archive(tmp_path, {})
    first = Run(Budget(executions=500), listeners=(archive,)).to_the_end()
    archive.release()
    history = read_history(tmp_path, SEEDS)
    second = Run(Budget(executions=500)).to_the_end(history)
    ours, theirs = (run.campaign.corpus.select(torch.arange(first.summary.corpus)) for run in (first, second))
    assert torch.equal(ours.inputs, theirs.inputs) and torch.equal(ours.parents, theirs.parents)
    assert torch.equal(ours.roots, theirs.roots) and ours.steps == theirs.steps


def test_an_interruption_changes_nothing_where_inputs_violate_either(tmp_path: Path) -> None:
    at_once = Run(Budget(executions=12 + 16 * 40)).to_the_end()
    run, history = interrupted(tmp_path, 12 + 16 * 15, Budget(executions=12 + 16 * 40))
    run.to_the_end(history)
    assert at_once.summary.findings and run.journal() == at_once.journal()[16:]


def near_and_large() -> list[Feedback]:
    return [FarFromSeen([]), FarFromSeen([], criterion="magnitude")]


def two_mutators() -> Mixed:
    return Mixed({"mild": Costed(Noise(0.1, 0, 1)), "violent": Costed(Noise(0.5, 0, 1), 2)})


LEARNING: dict[str, dict[str, Callable[[], object]]] = {
    "pool": {"scheduler": lambda: BatchPool(1.0, sample=8)},
    "seldom": {"scheduler": SeldomFuzzed},
    "adaptive": {"scheduler": WhereGainsCome},
    "list": {"scheduler": lambda: SeedList(limit=1.0)},
    "mixed": {"mutator": two_mutators},
}


@pytest.mark.parametrize("name", LEARNING)
@pytest.mark.parametrize("module", [Sturdy, Fragile])
def test_an_interruption_changes_nothing_for_parts_that_learn(
    name: str, module: type[nn.Module], tmp_path: Path
) -> None:
    choices = {**LEARNING[name], "feedbacks": near_and_large, "module": module()}
    at_once = Run(Budget(executions=12 + 16 * 40), **choices).to_the_end()
    after = at_once.told[15].so_far.executions  # not always as many as were planned
    run, history = interrupted(tmp_path, after, Budget(executions=12 + 16 * 40), **choices)
    run.to_the_end(history)
    assert run.journal() == at_once.journal()[16:]
    assert run.summary.corpus == at_once.summary.corpus > 30


def test_a_part_that_learns_is_told_again_what_an_earlier_run_kept(
    of_two: Run, scheduler: Told, tmp_path: Path
) -> None:
    again = Told()
    choices = {"feedbacks": two_bounds, "scheduler": lambda: again}
    run, history = interrupted(tmp_path, 12 + 16 * 10, Budget(executions=1000), **choices)
    again.lessons.clear()
    run.to_the_end(history)
    for told, expected in zip(again.lessons, scheduler.lessons, strict=True):
        assert torch.equal(told.kept.inputs, expected.kept.inputs) and told.found == expected.found
        assert torch.equal(told.kept.parents, expected.kept.parents)
        torch.testing.assert_close(told.gains, expected.gains)
        if len(told.kept):
            torch.testing.assert_close(told.trace.outputs["model"], expected.trace.outputs["model"])


# Running a finding alone


class WorseInCompany(nn.Module):
    """NaN for bright inputs, but only in a batch of several."""

    def forward(self, inputs: Tensor) -> Tensor:
        bright = (inputs > 0.9).any(1, keepdim=True) & (len(inputs) > 1)
        return torch.where(bright, torch.nan, inputs)


def test_a_bug_that_no_input_shows_alone_is_flaky_told_once_and_no_finding(found: Run) -> None:
    in_company = Run(Budget(executions=500), module=WorseInCompany()).to_the_end()
    flaky = [finding for record in in_company.told for finding in record.flaky]
    assert len(flaky) == 1 and not flaky[0].alone
    assert in_company.summary.flaky == {"nan": 1} == in_company.summary.as_json()["flaky"]
    assert in_company.summary.findings == {} and not any(record.findings for record in in_company.told)
    assert all(finding.alone for record in found.told for finding in record.findings)
    assert found.summary.flaky == {}


class ShyAtFirst(nn.Module):
    """NaN for inputs with a bright value, but alone only for those with two."""

    def forward(self, inputs: Tensor) -> Tensor:
        bright = (inputs > 0.9).sum(1, keepdim=True) >= (1 if len(inputs) > 1 else 2)
        return torch.where(bright, torch.nan, inputs)


def test_a_flaky_bug_that_a_later_input_shows_alone_is_a_finding() -> None:
    run = Run(Budget(executions=2000), module=ShyAtFirst()).to_the_end()
    flaky, found = ([record.step for record in run.told if getattr(record, name)] for name in ("flaky", "findings"))
    assert len(flaky) == len(found) == 1 and flaky < found
    assert run.summary.findings == {"nan": 1} and run.summary.flaky == {}


@pytest.mark.parametrize("module", [WorseInCompany, ShyAtFirst])
def test_flaky_bugs_outlive_an_interruption(module: type[nn.Module], tmp_path: Path) -> None:
    whole = Run(Budget(executions=1200), module=module()).to_the_end()
    run, history = interrupted(tmp_path, 12 + 16 * 3, Budget(executions=1200), module=module())
    assert history.flaky
    run.to_the_end(history)
    assert run.journal() == whole.journal()[4:]
    assert run.summary.flaky == whole.summary.flaky and run.summary.findings == whole.summary.findings


# Steps that are lost


@pytest.mark.parametrize("module", [Sturdy, Fragile])
@pytest.mark.parametrize("lost", [(0,), (1, 2, 3), (0, 4, 15)])
def test_a_step_that_is_lost_is_done_again_and_counted_once(
    lost: tuple[int, ...], module: type[nn.Module], tmp_path: Path
) -> None:
    budget = Budget(executions=12 + 16 * 30)
    whole = Run(budget, module=module()).to_the_end()
    interrupted(tmp_path, 12 + 16 * 15, budget, module=module())[0].listeners[0].release()
    paths = [tmp_path / "corpus" / f"{step:08}.safetensors" for step in lost]
    before = {path: path.read_bytes() for path in paths if path.exists()}
    for path in before:
        path.write_bytes(b"short")
    archive = open_archive(tmp_path, {})
    history = read_history(tmp_path, SEEDS, archive.quarantine)
    assert history is not None and sum(past.lost for past in history.steps) == len(before) > 0
    run = Run(budget, module=module(), listeners=(archive,))
    run.summary = run.campaign.run(history, archive.repair)
    assert {path: path.read_bytes() for path in before} == before
    assert run.journal() == whole.journal()[16:]
    assert len(archive.quarantine.warnings) == 1
    for name in ("executions", "corpus", "findings", "violations", "coverage"):
        assert getattr(run.summary, name) == getattr(whole.summary, name)


class Moody(nn.Module):
    """Two scores that are never the same twice."""

    def forward(self, inputs: Tensor) -> Tensor:
        return torch.stack([inputs.sum(1), torch.rand(len(inputs)) * 20], 1)


def test_a_step_that_comes_out_otherwise_is_told_of_and_gone_on_with(tmp_path: Path) -> None:
    budget = Budget(executions=12 + 16 * 30)
    interrupted(tmp_path, 12 + 16 * 15, budget, module=Moody())[0].listeners[0].release()
    (tmp_path / "corpus" / "00000003.safetensors").unlink()
    archive = open_archive(tmp_path, {})
    run = Run(budget, module=Moody(), listeners=(archive,))
    run.campaign.run(read_history(tmp_path, SEEDS, archive.quarantine), archive.repair)
    assert "step 3 came out otherwise" in archive.quarantine.warnings[-1]
    archive.close()
    again = open_archive(tmp_path, {})
    history = read_history(tmp_path, SEEDS, again.quarantine)
    assert history is not None and not any(past.lost for past in history.steps) and not again.quarantine.warnings


# What survives saving


def in_tenths(inputs: Tensor) -> Tensor:
    """Of what Fragile fails on, only what is 1 is still so large."""
    return (inputs * 10 + 1e-4).floor() / 10


def dimmed(inputs: Tensor) -> Tensor:
    """Nothing that Fragile fails on is left."""
    return inputs.clamp(max=0.9)


@pytest.fixture(scope="module")
def in_coarse_files() -> Run:
    return Run(Budget(executions=2000), saved=in_tenths).to_the_end()


def test_inputs_that_saving_mends_are_counted_apart_and_not_as_violating(found: Run, in_coarse_files: Run) -> None:
    summary = in_coarse_files.summary
    assert summary.unconfirmed["nan"] > 0 and summary.violations["nan"] > 0
    for kind in ("nan", "crash"):
        assert summary.violations[kind] + summary.unconfirmed[kind] == found.summary.violations[kind]
        assert summary.unconfirmed[kind] == sum(record.unconfirmed.get(kind, 0) for record in in_coarse_files.told)
    assert summary.as_json()["unconfirmed_inputs"] == dict(summary.unconfirmed)


def test_every_finding_survives_saving(in_coarse_files: Run) -> None:
    findings = [finding for record in in_coarse_files.told for finding in record.findings]
    assert {finding.violation.kind for finding in findings} == {"nan", "crash"}
    for finding in findings:
        place, bound = (0, 0.9) if finding.violation.kind == "nan" else (1, 0.97)
        assert in_tenths(finding.row.inputs)[0, place] > bound


def test_what_saving_always_mends_is_never_found_and_does_not_end_the_campaign() -> None:
    run = Run(Budget(executions=1000, findings=1), saved=dimmed).to_the_end()
    assert run.summary.executions == 1000
    assert run.summary.findings == {} and run.summary.violations == {}
    assert run.summary.unconfirmed.keys() == {"nan", "crash"}
    assert not any(record.findings for record in run.told)


def test_what_saving_mends_is_not_kept_either(in_coarse_files: Run) -> None:
    inputs = in_coarse_files.campaign.corpus.select(torch.arange(in_coarse_files.summary.corpus)).inputs
    assert (inputs[:, 0] <= 0.9).all() and (inputs[:, 1] <= 0.97).all()


def test_without_loss_in_saving_the_campaign_is_the_same(found: Run) -> None:
    run = Run(Budget(executions=2000), saved=lambda inputs: inputs.clone()).to_the_end()
    assert run.journal() == found.journal() and run.summary.unconfirmed == {}


def test_a_bug_that_changes_in_saving_is_not_the_bug_that_was_shown() -> None:
    class Signs(nn.Module):
        """NaN above 0.9, infinity at 0.9."""

        def forward(self, inputs: Tensor) -> Tensor:
            first = inputs[:, :1]
            return torch.where(first > 0.9, torch.nan, torch.where(first == 0.9, torch.inf, first))

    run = Run(Budget(executions=1000), module=Signs(), saved=dimmed).to_the_end()
    assert run.summary.findings == {} and run.summary.unconfirmed["nan"] > 0


def test_what_is_saved_is_found_only_if_it_shows_alone_too() -> None:
    run = Run(Budget(executions=500), module=WorseInCompany(), saved=lambda inputs: inputs).to_the_end()
    assert run.summary.findings == {} and run.summary.violations["nan"] > 0
    assert run.summary.flaky == {"nan": 1}


def test_what_saving_mended_is_counted_on_after_an_interruption(in_coarse_files: Run, tmp_path: Path) -> None:
    run, history = interrupted(tmp_path, 12 + 16 * 30, Budget(executions=2000), saved=in_tenths)
    assert history.unconfirmed["nan"] > 0
    run.to_the_end(history)
    assert run.summary.unconfirmed == in_coarse_files.summary.unconfirmed
    assert run.journal() == in_coarse_files.journal()[31:]


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
    assert [record.step for record in run.told] == [0, 1, 2, 3]
    assert run.summary.executions == 12 + 3 * 16


def test_a_list_of_one_round_ends_the_run_after_every_entry_had_its_turn() -> None:
    run = Run(Budget(executions=100_000), scheduler=lambda: SeedList(iterations=2, limit=0.3, rounds=1)).to_the_end()
    listed = [record.kept for record in run.told]
    near = [relative_distances(kept.inputs, kept.references) < 0.3 for kept in listed]
    assert 12 * 2 <= run.summary.executions - 12 <= 2 * sum(int(some.sum()) for some in near)
    parents = torch.cat([kept.parents for kept in listed[1:]])
    assert set(range(12)) & set(parents.tolist())


def test_a_run_that_ended_for_want_of_plans_has_nothing_more_to_do(tmp_path: Path) -> None:
    choices: dict[str, Any] = {"scheduler": lambda: SeedList(limit=0.3, rounds=1), "module": Sturdy()}
    run, history = interrupted(tmp_path, 100_000, Budget(executions=200_000), **choices)
    run.to_the_end(history)
    assert run.told == [] and run.summary.executions == history.executions < 100_000
