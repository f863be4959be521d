"""Coverage of all inputs that ran or of failing tests, told in place of what guides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from fragile_campaign import Run, interrupted
from jostle.campaign import Budget
from jostle.coverage_counter import CoverageCounter
from jostle.records import Candidates, Failures, Outcome, Trace
from jostle.schedulers.batch_pool import BatchPool
from jostle.step_records import COUNTED_FAILING, COUNTED_RUN
from jostle.targets.contained import Contained
from making import batch_of

BUDGET = Budget(executions=12 + 16 * 30)


class Given:
    """A criterion that keeps what it is given."""

    def __init__(self) -> None:
        self.inputs: list[Tensor] = []

    def assess(self, candidates: Candidates, trace: Trace) -> Tensor:
        assert len(candidates) == len(trace.outcome) and trace.ran.all()
        self.inputs.append(candidates.inputs)
        return torch.zeros(len(candidates))

    def coverage(self) -> dict[str, dict[str, float]]:
        return {"given": {"inputs": len(torch.cat(self.inputs))}}


def counting(counted: str) -> tuple[Given, dict[str, Any]]:
    given = Given()
    return given, {"counter": lambda: CoverageCounter(counted, [given])}


def test_all_inputs_count_that_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[Tensor] = []
    run_batch = Contained.run

    def noted(target: Contained, batch: Candidates, watched: bool = True) -> Trace:
        trace = run_batch(target, batch, watched)
        if watched:  # else an input is only tried alone
            ran.append(batch.inputs[trace.ran])
        return trace

    monkeypatch.setattr(Contained, "run", noted)
    given, choices = counting(COUNTED_RUN)
    summary = Run(BUDGET, **choices).to_the_end().summary
    counted = {tuple(row) for row in torch.cat(given.inputs).tolist()}
    assert counted == {tuple(row) for row in torch.cat(ran).tolist()}
    assert summary.executions - summary.violations["crash"] == summary.coverage["given"]["inputs"]
    assert summary.as_json()["coverage_counts"] == "run"


def test_failing_tests_count_each_once_and_nothing_else() -> None:
    given, choices = counting(COUNTED_FAILING)
    run = Run(BUDGET, **choices).to_the_end()
    failing = [record.failing.inputs.inputs for record in run.records]
    ran = [inputs[inputs[:, 1] <= 0.97] for inputs in failing]
    assert torch.equal(torch.cat(given.inputs), torch.cat(ran)) and len(torch.cat(ran)) > 0
    assert run.summary.counted == COUNTED_FAILING and run.summary.coverage == given.coverage()


@pytest.mark.parametrize("how", [{}, {"plans_ahead": True, "scheduler": lambda: BatchPool(1.0)}])
@pytest.mark.parametrize("counted", [COUNTED_RUN, COUNTED_FAILING])
def test_counting_guides_nothing_and_outlives_an_interruption(
    counted: str, how: dict[str, Any], tmp_path: Path
) -> None:
    whole = Run(BUDGET, **counting(counted)[1], **how).to_the_end()
    assert whole.journal() == Run(BUDGET, **how).to_the_end().journal()
    run, history = interrupted(tmp_path, 12 + 16 * 15, BUDGET, **how)
    given, choices = counting(counted)
    again = Run(BUDGET, listeners=run.listeners, **choices, **how).to_the_end(history)
    assert again.journal() == whole.journal()[16:]
    assert again.summary.coverage == whole.summary.coverage == given.coverage()


def test_a_batch_that_crashed_as_a_whole_is_not_looked_at() -> None:
    given, batch = Given(), batch_of(torch.rand(2, 4))
    crashed = Trace(torch.full((2,), int(Outcome.CRASHED)), {})
    for counted in (COUNTED_RUN, COUNTED_FAILING):
        CoverageCounter(counted, [given]).count(batch, crashed, Failures.none(batch))
    assert not given.inputs
