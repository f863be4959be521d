"""What all oracles together say of a batch, and which of its bugs were not seen before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from jostle.foreign import CRASH
from jostle.interfaces import Oracle, Target
from jostle.lineage import Mutation
from jostle.records import MODEL, NO_BUG, NO_LABEL, Bug, Candidates, Failures, Finding, Trace, Verdicts

Saved = Callable[[Tensor], Tensor]  # from inputs [batch, ...] to what a file gives back of them
Classes = Callable[[Tensor], Tensor]  # from outputs [batch, ...] to the class that each says [batch]


@dataclass(frozen=True)
class Judgement:
    """What all oracles together say of a batch."""

    barred: Tensor  # [batch] bool: violate something that bars them from the corpus
    findings: tuple[Finding, ...]  # bugs not seen before
    flaky: tuple[Finding, ...]  # bugs not seen before that did not show again when the input ran alone
    violations: Mapping[str, int]  # violating inputs by kind
    unconfirmed: Mapping[str, int]  # inputs by kind that violate no more when saved
    failing: Failures  # all of both

    @property
    def found_by(self) -> tuple[Mutation, ...]:
        """The mutations that showed bugs not seen before."""
        return tuple(finding.row.mutations[0] for finding in self.findings)


@dataclass(frozen=True)
class _Report:
    """The violations of a batch that one oracle reports."""

    oracle: Oracle
    said: Verdicts
    rows: Tensor  # [violating] positions in the batch
    survive: Tensor  # [violating] bool: shows as a file gives the input back too

    @property
    def kind(self) -> str:
        return self.said.kind

    @property
    def bugs(self) -> Tensor:  # [violating]
        return self.said.bugs[self.rows]

    @property
    def confirmed(self) -> Tensor:  # positions in the batch
        return self.rows[self.survive]


class BatchJudge:
    """Judges batches by all oracles, and remembers the bugs that it has seen."""

    def __init__(
        self,
        oracles: Sequence[Oracle],
        target: Target,
        saved: Saved | None = None,
        seeds_count: bool = False,
        classes: Classes | None = None,
        independent: bool = False,
    ):
        """With `saved`, a violation that an input shows no more as a file gives it back is none, and counted apart.

        A seed that the model gets wrong is no discovery, unless seeds count. `classes` reads outputs of a model that
        gives classes. Where answers are `independent` of the other rows of a batch, new bugs are confirmed together.
        """
        self._oracles, self._target, self._saved, self._seeds_count = oracles, target, saved, seeds_count
        self._classes, self._independent = classes, independent
        self._bugs: set[Bug] = set()
        self._flaky: set[Bug] = set()

    def remember(self, bugs: Iterable[Bug], flaky: Iterable[Bug]) -> None:
        """Takes over what an earlier run has seen."""
        self._bugs, self._flaky = set(bugs), set(flaky)

    def seen(self) -> tuple[frozenset[Bug], frozenset[Bug]]:
        """The bugs that inputs showed alone, and those that did not."""
        return frozenset(self._bugs), frozenset(self._flaky)

    def know(self, bugs: Iterable[Bug], flaky: Iterable[Bug]) -> None:
        """Takes over what others have seen besides."""
        self._bugs |= set(bugs)
        self._flaky |= set(flaky)

    def not_seen(self, found: Sequence[Finding]) -> tuple[Finding, ...]:
        """Of what others found, the first of each bug that was not seen before; all are from now on."""
        new = []
        for finding in found:
            seen, bug = self._bugs if finding.alone else self._flaky, (finding.violation.kind, finding.bug)
            if bug not in seen:
                seen.add(bug)
                new.append(finding)
        return tuple(new)

    def still_flaky(self) -> Counter[str]:
        """Bugs by kind that no input showed when it ran alone."""
        return Counter(sorted(kind for kind, _ in self._flaky - self._bugs))

    def barred(self, candidates: Candidates, trace: Trace) -> Tensor:
        """[batch] bool: the rows that violate a property, and may not be mutated further for it."""
        return _barred(trace, self._verdicts(candidates, trace))

    def judge(self, candidates: Candidates, trace: Trace, step: int, executions: int) -> Judgement:
        """What all oracles say of a batch, which was run in this step and after so many executions."""
        verdicts = self._verdicts(candidates, trace)
        finding = partial(Finding, step=step, execution=executions)
        new: list[Finding] = []
        violations: Counter[str] = Counter()
        unconfirmed: Counter[str] = Counter()
        reports = self._reports(candidates, verdicts)
        for report in reports:
            confirmed = report.confirmed
            if len(report.rows) > len(confirmed):
                unconfirmed[report.kind] += len(report.rows) - len(confirmed)
            if len(confirmed):
                violations[report.kind] += len(confirmed)
            new += self._new_bugs(report, candidates, trace, finding)
        findings, flaky = tuple(one for one in new if one.alone), tuple(one for one in new if not one.alone)
        failing = self._failures(candidates, trace, reports)
        return Judgement(_barred(trace, verdicts), findings, flaky, violations, unconfirmed, failing)

    def failing(self, candidates: Candidates, trace: Trace) -> Failures:
        """All failing tests of a batch that was judged before."""
        return self._failures(candidates, trace, self._reports(candidates, self._verdicts(candidates, trace)))

    def _reports(self, candidates: Candidates, verdicts: Sequence[Verdicts]) -> list[_Report]:
        reports = []
        for oracle, said in zip(self._oracles, verdicts, strict=True):
            rows = self._reported(oracle, said, candidates)
            survive = self._survive_saving(oracle, candidates.select(rows), said.bugs[rows])
            reports.append(_Report(oracle, said, rows, survive))
        return reports

    def _failures(self, candidates: Candidates, trace: Trace, reports: Sequence[_Report]) -> Failures:
        """What oracles report, with what the model said."""
        reports = [report for report in reports if len(report.rows)]
        if not reports:
            return Failures.none(candidates)
        inputs, input_of = torch.cat([report.rows for report in reports]).unique(return_inverse=True)
        return Failures(
            candidates.select(inputs),
            inputs,
            input_of,
            tuple(report.kind for report in reports for _ in range(len(report.rows))),
            torch.cat([report.bugs for report in reports]),
            self._answers(trace, inputs)[input_of],
            torch.cat([report.survive for report in reports]),
        )

    def _answers(self, trace: Trace, rows: Tensor) -> Tensor:
        """The classes that the model gave for these rows, NO_LABEL where it failed or its scores are no numbers."""
        if self._classes is None or MODEL not in trace.outputs:  # where no row has run yet, its outputs are unknown
            return torch.full((len(rows),), NO_LABEL)
        outputs = trace.outputs[MODEL].index_select(0, rows)
        known = trace.ran[rows] & outputs.reshape(len(rows), -1).isfinite().all(1)
        return torch.where(known, self._classes(outputs), NO_LABEL)

    def _verdicts(self, candidates: Candidates, trace: Trace) -> list[Verdicts]:
        return [oracle.judge(candidates, trace) for oracle in self._oracles]

    def _reported(self, oracle: Oracle, said: Verdicts, candidates: Candidates) -> Tensor:
        """The rows whose violations count; a wrong answer to a seed does not, unless seeds count."""
        violating = said.bugs != NO_BUG
        if oracle.compares_with_truth and not self._seeds_count:
            violating &= ~candidates.mutations.of_seeds
        return violating.nonzero().squeeze(1)

    def _new_bugs(
        self, report: _Report, candidates: Candidates, trace: Trace, finding: Callable[..., Finding]
    ) -> Iterator[Finding]:
        """Bugs not seen before, each with the first row that shows it.

        A bug that the row does not show alone is reported once, as flaky: another step may show it beyond doubt.
        """
        said, rows = report.said, self._first_rows(report)
        sound = torch.tensor([row not in trace.crashes for row in rows.tolist()], dtype=torch.bool)
        shown = self._show_alone(report.oracle, candidates.select(rows), said.bugs[rows], sound)
        for row, alone in zip(rows.tolist(), shown.tolist(), strict=True):
            number = int(said.bugs[row])
            seen, bug = self._bugs if alone else self._flaky, (said.kind, number)
            if bug not in seen:
                seen.add(bug)
                yield finding(said.describe(row), number, row=candidates.select(torch.tensor([row])), alone=alone)

    def _first_rows(self, report: _Report) -> Tensor:
        """Of each bug not seen before the first row that shows it, in order [bugs]."""
        rows = report.confirmed
        first: dict[int, int] = {}  # by number
        for number, row in zip(report.said.bugs[rows].tolist(), rows.tolist(), strict=True):
            first.setdefault(number, row)
        new = [row for number, row in first.items() if (report.kind, number) not in self._bugs]
        return torch.tensor(new, dtype=torch.int64)

    def _survive_saving(self, oracle: Oracle, violating: Candidates, bugs: Tensor) -> Tensor:
        """[violating] bool: which inputs still show their bug as a file gives them back; all, if nothing is saved."""
        survive = torch.ones(len(violating), dtype=torch.bool)
        if self._saved is None or not len(violating):
            return survive
        saved = self._saved(violating.inputs)
        rows = (saved != violating.inputs).flatten(1).any(1).nonzero().squeeze(1)  # the others are as they were
        if len(rows):
            again = replace(violating.select(rows), inputs=saved[rows])
            survive[rows] = oracle.judge(again, self._target.run(again, oracle.looks_inside)).bugs == bugs[rows]
        return survive

    def _show_alone(self, oracle: Oracle, rows: Candidates, bugs: Tensor, sound: Tensor) -> Tensor:
        """[rows] bool: which show their bug again outside of the batch that showed it.

        Where rows do not depend on each other, those that are sound, because they did not crash, run together.
        """
        shown, known = (torch.zeros(len(rows), dtype=torch.bool) for _ in range(2))
        if self._independent and sound.any():
            together = sound.nonzero().squeeze(1).flip(0)  # even if they were the whole batch, it is another one now
            trace = self._target.run(rows.select(together), oracle.looks_inside)
            shown[together] = oracle.judge(rows.select(together), trace).bugs == bugs[together]
            known[together] = trace.ran
        for row in (~known).nonzero().squeeze(1).tolist():
            shown[row] = self._shows_alone(oracle, rows.select(torch.tensor([row])), int(bugs[row]))
        return shown

    def _shows_alone(self, oracle: Oracle, only: Candidates, bug: int) -> bool:
        """Whether an input shows its bug again in a batch of its own, where rounding may differ."""
        trace = self._target.run(only, oracle.looks_inside)
        died = not trace.ran[0] and 0 in trace.crashes and trace.crashes[0].fatal  # of time, memory or a signal
        return died or int(oracle.judge(only, trace).bugs[0]) == bug


def _barred(trace: Trace, verdicts: Sequence[Verdicts]) -> Tensor:
    """[batch] bool: the rows that violate any property, but for those that may be parents all the same.

    A row that ran and has a crash only stands for its batch, which died once and not again.
    """
    barred = torch.zeros(len(trace.outcome), dtype=torch.bool)
    stands_for_batch = torch.zeros_like(barred)
    stands_for_batch[list(trace.crashes)] = True
    stands_for_batch &= trace.ran
    for said in verdicts:
        violating = (said.bugs != NO_BUG) & ~(stands_for_batch & (said.kind == CRASH))
        barred |= violating if said.may_be_parents is None else violating & ~said.may_be_parents
    return barred
