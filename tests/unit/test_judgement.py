"""What all oracles together say of a batch: bugs that show alone, and what survives saving."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
import torch
from torch import Tensor, nn

from fragile_campaign import (
    Run,
    ShyAtFirst,
    WorseInCompany,
    in_tenths,
)
from jostle.campaign import Budget
from jostle.interfaces import Target
from jostle.judgement import BatchJudge, Judgement
from jostle.oracles.crash import NoCrash
from jostle.oracles.labels import LabelKept
from jostle.records import Candidates, Outcome, Trace
from jostle.subjects.torch_target import TorchTarget
from jostle.targets.contained import Contained
from making import batch_of


@pytest.fixture(scope="module")
def found() -> Run:
    return Run(Budget(executions=2000)).to_the_end()


def test_a_bug_that_no_input_shows_alone_is_flaky_reported_once_and_no_finding(found: Run) -> None:
    in_company = Run(Budget(executions=500), module=WorseInCompany()).to_the_end()
    flaky = [finding for record in in_company.records for finding in record.flaky]
    assert len(flaky) == 1 and not flaky[0].alone
    assert in_company.summary.flaky == {"nan": 1} == in_company.summary.as_json()["flaky"]
    assert in_company.summary.findings == {} and not any(record.findings for record in in_company.records)
    assert all(finding.alone for record in found.records for finding in record.findings)
    assert found.summary.flaky == {}


def test_a_flaky_bug_that_a_later_input_shows_alone_is_a_finding() -> None:
    run = Run(Budget(executions=2000), module=ShyAtFirst()).to_the_end()
    flaky, found = ([record.step for record in run.records if getattr(record, name)] for name in ("flaky", "findings"))
    assert len(flaky) == len(found) == 1 and flaky < found
    assert run.summary.findings == {"nan": 1} and run.summary.flaky == {}


# What survives saving


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
        assert summary.unconfirmed[kind] == sum(record.unconfirmed.get(kind, 0) for record in in_coarse_files.records)
    assert summary.as_json()["unconfirmed_inputs"] == dict(summary.unconfirmed)


def test_every_finding_survives_saving(in_coarse_files: Run) -> None:
    findings = [finding for record in in_coarse_files.records for finding in record.findings]
    assert {finding.violation.kind for finding in findings} == {"nan", "crash"}
    for finding in findings:
        place, bound = (0, 0.9) if finding.violation.kind == "nan" else (1, 0.97)
        assert in_tenths(finding.row.inputs)[0, place] > bound


def test_what_saving_always_mends_is_never_found_and_does_not_end_the_campaign() -> None:
    run = Run(Budget(executions=1000, findings=1), saved=dimmed).to_the_end()
    assert run.summary.executions == 1000
    assert run.summary.findings == {} and run.summary.violations == {}
    assert run.summary.unconfirmed.keys() == {"nan", "crash"}
    assert not any(record.findings for record in run.records)


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


# Confirmed together


class Scored(nn.Module):
    """Ten scores of ten values; raises for a value above 2."""

    def forward(self, inputs: Tensor) -> Tensor:
        if (inputs > 2).any():
            raise ValueError("too large")
        return inputs


@dataclass
class Runs:
    """A target that writes down how many rows each of its runs had, and skips the last of so many."""

    target: Target
    skips_of: int | None = None
    rows: list[int] = field(default_factory=list)

    def run(self, batch: Candidates, watched: bool = True) -> Trace:
        self.rows.append(len(batch))
        trace = self.target.run(batch, watched)
        if len(batch) == self.skips_of:
            trace.outcome[-1] = Outcome.SKIPPED
        return trace


def judged(
    inputs: Tensor, independent: bool, module: nn.Module | None = None, skips_of: int | None = None
) -> tuple[Judgement, list[int]]:
    """What is said of a batch whose rows should all be of class 0, and how many rows ran at a time to confirm it."""
    target = Runs(Contained(TorchTarget(module or Scored())), skips_of)
    batch = batch_of(inputs, torch.zeros(len(inputs)).long())
    trace = target.run(batch)
    target.rows.clear()
    judge = BatchJudge([LabelKept(), NoCrash()], target, independent=independent)
    return judge.judge(batch, trace, 1, len(batch)), target.rows


def turned(count: int) -> Tensor:
    """Rows of which each is another bug: what is taken for 1, for 2 and so on."""
    return torch.eye(10).roll(-1, 0)[:count]


def told(judgement: Judgement) -> list[tuple[int, bool]]:
    """The bugs and whether they showed again, in order."""
    return [(finding.bug, finding.alone) for finding in (*judgement.findings, *judgement.flaky)]


def test_rows_that_do_not_depend_on_each_other_are_confirmed_in_one_batch_with_the_same_result() -> None:
    apart, alone = judged(turned(6), independent=False)
    together, at_once = judged(turned(6), independent=True)
    assert told(together) == told(apart) and len(together.findings) == 6
    assert [str(one.violation) for one in together.findings] == [str(one.violation) for one in apart.findings]
    assert (alone, at_once) == ([1] * 6, [6])


def test_of_each_bug_the_first_row_alone_is_confirmed() -> None:
    batch = batch_of(turned(2)[[0, 1, 0, 1]], torch.zeros(4).long())
    batch = replace(batch, roots=torch.zeros(4).long())
    target = Runs(Contained(TorchTarget(Scored())))
    judge = BatchJudge([LabelKept()], target, independent=True)
    judgement = judge.judge(batch, target.run(batch), 1, 4)
    assert target.rows == [4, 2] and [int(one.row.parents) for one in judgement.findings] == [100, 101]
    assert not judge.judge(batch, target.run(batch), 2, 8).findings and target.rows == [4, 2, 4]


def test_what_crashed_is_confirmed_alone() -> None:
    inputs = torch.cat([turned(3), torch.full((1, 10), 3.0)])
    judgement, rows = judged(inputs, independent=True)
    assert rows == [3, 1]
    assert {finding.violation.kind for finding in judgement.findings} == {"flip", "crash"} and not judgement.flaky


def test_what_does_not_run_together_is_confirmed_alone() -> None:
    """A row is skipped where others of its batch have ended too many processes."""
    judgement, rows = judged(torch.cat([turned(3), torch.eye(10)[:1]]), True, skips_of=3)
    assert rows == [3, 1] and len(judgement.findings) == 3 and not judgement.flaky


def test_a_bug_that_only_the_batch_showed_is_flaky_together_too() -> None:
    class Distracted(nn.Module):
        """Says nothing but 0 where a row is the first."""

        def forward(self, inputs: Tensor) -> Tensor:
            return torch.cat([torch.eye(10)[:1], inputs[1:]])

    judgement, rows = judged(turned(4), True, Distracted())
    assert rows == [3] and [alone for _, alone in told(judgement)] == [True, True, False]
