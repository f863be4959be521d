"""The target may not raise."""

from __future__ import annotations

from dataclasses import replace

import torch

from jostle.foreign import Crash
from jostle.oracles.crash import NoCrash
from jostle.records import NO_BUG
from making import CRASH, batch_of, trace_of


def bugs_of(*crashes: Crash) -> list[int]:
    trace = trace_of(torch.zeros(len(crashes), 1), crashed=range(len(crashes)))
    trace = replace(trace, crashes=dict(enumerate(crashes)))
    return NoCrash().judge(batch_of(torch.zeros(len(crashes), 1)), trace).bugs.tolist()


def test_crashes_are_the_same_bug_by_type_and_place_whatever_they_say() -> None:
    first, same, type_differs, place_differs = bugs_of(
        CRASH, replace(CRASH, message="yes"), replace(CRASH, error="KeyError"), replace(CRASH, where="model.py:loss")
    )
    assert first == same
    assert len({first, type_differs, place_differs}) == 3


def test_a_crash_is_told_with_its_traceback() -> None:
    verdicts = NoCrash().judge(batch_of(torch.zeros(2, 1)), trace_of(torch.zeros(2, 1), crashed=[1]))
    assert verdicts.bugs[0] == NO_BUG
    assert verdicts.describe(1).summary == "ValueError in model.py:forward: no"
    assert verdicts.describe(1).details["traceback"] == CRASH.traceback
