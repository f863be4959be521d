"""The target may not raise."""

from __future__ import annotations

import torch

from jostle.digests import bug_number
from jostle.foreign import CRASH
from jostle.part import Part, first_line
from jostle.records import NO_BUG, Candidates, Trace, Verdicts, Violation


class NoCrash:
    """The target raises no exception; one bug per exception type and place it was raised."""

    looks_inside = True
    compares_with_truth = False

    def judge(self, candidates: Candidates, trace: Trace) -> Verdicts:
        bugs = torch.full((len(candidates),), NO_BUG)
        for row in trace.crashes:
            bugs[row] = bug_number(_describe(trace, row).fingerprint)
        return Verdicts(CRASH, bugs, lambda row: _describe(trace, row))


def _describe(trace: Trace, row: int) -> Violation:
    crash = trace.crashes[row]
    where = f"{crash.where} of the twin {crash.twin}" if crash.twin else crash.where
    details = {"error": crash.error, "message": crash.message, "where": crash.where, "traceback": crash.traceback}
    return Violation(
        CRASH,
        f"crash:{crash.error}:{where}",
        f"{crash.error} in {where}: {crash.message}",
        {**details, "fatal": True} if crash.fatal else details,
    )


CRASHES = Part(first_line(NoCrash), lambda settings, _: NoCrash())
