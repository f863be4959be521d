"""Do findings show again, alone and in a batch, in a new process where the model can be loaded in one?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from jostle.foreign import CRASH
from jostle.inputs.several import layout_of
from jostle.interfaces import Oracle, Target
from jostle.options.schema import Given
from jostle.records import Candidates, Trace, all_rows
from jostle.session.isolate import any_held, isolated, limits_of
from jostle.session.load import Loaded
from jostle.storage.finding_record import Confirmation
from jostle.subjects.twin_making import CALIBRATED
from jostle.triage.deadline import Deadline

ALONE = 3  # runs of each finding in a batch of its own
COMPANIONS = 8  # seeds at most that run in a batch with findings


@contextmanager
def in_new_process(given: Given, loaded: Loaded) -> Iterator[Target]:
    """The model that is loaded, once more in a process of its own, which ends with this.

    Objects of a script cannot be loaded anew: they run again as they are.
    """
    if any_held(given):
        yield loaded.model.target
        return
    given, seeds = given.over(isolate=True), loaded.prepared.seeds
    limits = limits_of(given)
    assert limits is not None, "isolated"
    model, service = isolated(given, seeds.inputs[:CALIBRATED], limits, layout_of(seeds), loaded.twins)
    with closing(service):
        yield model.target


@dataclass
class _Runs:
    """How often one finding ran, and showed its bug."""

    runs: int = 0
    shown: int = 0
    died: bool = False  # it took its process with it, so it is not run again: each time takes seconds

    def add(self, shown: bool, died: bool) -> None:
        self.runs, self.shown, self.died = self.runs + 1, self.shown + shown, died


@dataclass(frozen=True)
class Confirming:
    """Runs findings of one kind again."""

    target: Target
    oracle: Oracle
    kind: str
    batch: int  # rows that run together, at most
    same_process: bool = False  # the target is not one that a new process has loaded

    def confirmed(self, rows: Candidates, bugs: Tensor, deadline: Deadline) -> list[Confirmation | None]:
        """How often each row shows its bug [rows]: alone in turn, then in batches with seeds, as time allows."""
        counts = [_Runs() for _ in range(len(rows))]
        for number in list(range(len(rows))) * ALONE:
            if not counts[number].died and not deadline.passed:
                row = torch.tensor([number])
                self._run(rows.select(row), bugs[row], [counts[number]])
        alive = [number for number, one in enumerate(counts) if not one.died]
        for some in torch.tensor(alive, dtype=torch.long).split(max(1, self.batch - self._companions)):
            if len(some) and not deadline.passed:
                together = _accompanied(rows.select(some), self._companions)
                self._run(together, bugs[some], [counts[number] for number in some.tolist()])
        same = self.same_process
        return [Confirmation(one.runs, one.shown, same) if one.runs else None for one in counts]

    @property
    def _companions(self) -> int:
        return min(COMPANIONS, self.batch // 2)

    def _run(self, batch: Candidates, bugs: Tensor, counts: Sequence[_Runs]) -> None:
        """All rows at once; the first of them have bugs [findings] to show."""
        trace = self.target.run(batch, self.oracle.looks_inside)
        shows = self.oracle.judge(batch, trace).bugs[: len(bugs)] == bugs
        for number, one in enumerate(counts):
            died = _died(trace, number)
            one.add(bool(shows[number]) or (died and self.kind == CRASH), died)


def _accompanied(rows: Candidates, companions: int) -> Candidates:
    """The same rows, and some seeds after them."""
    return Candidates.joined([rows, rows.seeds.as_candidates().select(all_rows(len(rows.seeds))[:companions])])


def _died(trace: Trace, row: int) -> bool:
    return not trace.ran[row] and row in trace.crashes and trace.crashes[row].fatal
