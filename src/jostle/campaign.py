"""The loop and its budget."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.foreign import CRASH
from jostle.interfaces import Feedback, Learner, Listener, Mutator, Oracle, Scheduler, Target
from jostle.lineage import Mutation
from jostle.randomness import randomness
from jostle.records import (
    NO_BUG,
    Candidates,
    Finding,
    History,
    Lesson,
    Outcome,
    PastStep,
    Seeds,
    StepRecord,
    Summary,
    Trace,
    Verdicts,
    all_rows,
)
from jostle.storage.corpus import Corpus


@dataclass(frozen=True)
class Budget:
    """When to stop; None is no limit."""

    seconds: float | None = None
    executions: int | None = None
    findings: int | None = None

    def spent(self, seconds: float, executions: int, findings: int) -> bool:
        limits = ((self.seconds, seconds), (self.executions, executions), (self.findings, findings))
        return any(limit is not None and used >= limit for limit, used in limits)

    def rows(self, executions: int, batch: int) -> int:
        """How many inputs the next step may run."""
        return batch if self.executions is None else min(batch, self.executions - executions)


@dataclass(frozen=True)
class Verdict:
    """What all oracles together say of a batch."""

    violating: Tensor  # [batch] bool
    findings: tuple[Finding, ...]  # bugs not seen before
    flaky: tuple[Finding, ...]  # bugs not seen before that did not show again when the input ran alone
    violations: Mapping[str, int]  # violating inputs by kind
    unconfirmed: Mapping[str, int]  # inputs by kind that violate no more when saved


# Told what came of a step that was done again.
Redone = Callable[[PastStep, Candidates], None]


def unnoticed(past: PastStep, kept: Candidates) -> None:
    """Nobody wants to know."""


CHANCES = 3  # for entries to run once more when a campaign goes on
NOTHING = Trace(torch.empty(0, dtype=torch.int64), {})


class Campaign:
    """Plants the seeds, then plans, mutates, runs, judges and assesses until the budget is spent.

    Same seed, parts and seeds on one CPU worker: the same campaign, step by step.
    """

    def __init__(
        self,
        *,
        target: Target,
        mutator: Mutator,
        feedbacks: Sequence[Feedback],
        oracles: Sequence[Oracle],
        scheduler: Scheduler,
        seeds: Seeds,
        budget: Budget,
        seed: int = 0,
        batch: int = 256,
        listeners: Sequence[Listener] = (),
        saved: Callable[[Tensor], Tensor] | None = None,
        full: Callable[[], bool] = lambda: False,
    ):
        """`saved` tells what a file gives back of inputs [batch, ...]: with it, only what survives that is found.

        `full` tells whether there is no more room for what listeners write, which ends the run as a spent budget does.
        """
        self._target, self._mutator, self._feedbacks = target, mutator, feedbacks
        self._oracles, self._scheduler, self._listeners = oracles, scheduler, listeners
        self._seeds, self._budget, self._seed, self._batch = seeds, budget, seed, batch
        self._saved, self._full = saved, full
        self._learners = [part for part in (scheduler, mutator) if isinstance(part, Learner)]
        self.corpus = Corpus(seeds)
        self._step = 0
        self._executions = 0
        self._seconds = 0.0  # of earlier runs and finished steps
        self._bugs: set[tuple[str, int]] = set()
        self._flaky: set[tuple[str, int]] = set()
        self._findings: Counter[str] = Counter()
        self._violations: Counter[str] = Counter()
        self._unconfirmed: Counter[str] = Counter()
        self._variant_seconds: Counter[str] = Counter()
        self._executions_before = 0  # of earlier runs, whose times by variant are not kept
        self._stopping = False

    def run(self, history: History | None = None, redone: Redone = unnoticed) -> Summary:
        """Goes on until the budget is spent, from the seeds or from where an earlier run stopped."""
        if history is None:
            self._plant()
        else:
            self._restore(history, redone)
        while len(self.corpus) and not self._spent() and not self._stopping and self._advance():
            pass
        return self.summary()

    def stop(self) -> None:
        """Ends the run after the step that is under way."""
        self._stopping = True

    def summary(self) -> Summary:
        ran = self._executions - self._executions_before
        return Summary(
            steps=self._step,
            executions=self._executions,
            seconds=self._seconds,
            corpus=len(self.corpus),
            admission_rate=self._admission_rate(),
            coverage=self._coverage(),
            findings=Counter(self._findings),
            flaky=Counter(sorted(kind for kind, _ in self._flaky - self._bugs)),
            violations=Counter(self._violations),
            unconfirmed=Counter(self._unconfirmed),
            rates={name: ran / max(seconds, 1e-9) for name, seconds in self._variant_seconds.items()},
        )

    def _coverage(self) -> dict[str, Mapping[str, float]]:
        return {name: figures for feedback in self._feedbacks for name, figures in feedback.coverage().items()}

    def _admission_rate(self) -> float:
        mutants = self._executions - len(self._seeds)
        return self.corpus.mutants / mutants if mutants > 0 else 0.0

    def _spent(self) -> bool:
        return self._full() or self._budget.spent(self._seconds, self._executions, self._findings.total())

    def _plant(self) -> None:
        """Runs the seeds, as one step; all that violate nothing enter the corpus."""
        started = time.monotonic()
        seeds = self._seeds.as_candidates()
        trace = self._in_batches(seeds)
        if not trace.ran.any():
            crash = next(iter(trace.crashes.values()))
            raise UsageError(
                f"the target fails on every seed ({crash.error} in {crash.where}: {crash.message}): fix it"
            )
        self._absorb(started, len(seeds), seeds, trace, planting=True)

    def _in_batches(self, candidates: Candidates) -> Trace:
        rows = all_rows(len(candidates)).split(self._batch)
        return Trace.joined([self._target.run(candidates.select(part)) for part in rows])

    def _restore(self, history: History, redone: Redone) -> None:
        """Takes over an earlier run; what it kept runs once more, so that nothing of it is new again.

        Parts that remember plan and learn again, step by step, and so know what they knew. A step of which that is lost
        is done again as it was, because all that decides about it is known.
        """
        start = 0
        for steps in self._in_groups(history.steps):
            if steps[0].lost:
                redone(steps[0], self._redo(steps[0]))
                continue
            end = start + sum(past.kept for past in steps)
            self._replay(steps, history.kept.select(torch.arange(start, end)))
            start = end
        last = history.steps[-1]
        self._step, self._executions, self._seconds = last.step, last.executions, history.seconds
        self._executions_before = last.executions
        self._bugs, self._flaky = set(history.bugs), set(history.flaky)
        self._findings, self._violations = Counter(history.findings), Counter(history.violations)
        self._unconfirmed = Counter(history.unconfirmed)

    def _replay(self, steps: Sequence[PastStep], kept: Candidates) -> None:
        """Plans and learns these steps again, with what they kept."""
        trace = self._relived(kept) if len(kept) else None
        gains = self._gains(trace) if trace is not None else torch.zeros(0, len(self._feedbacks))
        place = 0
        for past in steps:
            if past.step:
                self._scheduler.plan(len(self.corpus), past.planned, randomness(self._seed, past.step))
            rows = torch.arange(place, place + past.kept)
            seen = NOTHING if trace is None else trace.select(rows)
            self._keep(Lesson(self._descending(kept.select(rows)), gains[rows], seen, past.found))
            place += past.kept

    def _relived(self, kept: Candidates) -> Trace:
        """What entries do that ran before; should their process be killed just now, they run again."""
        trace = self._in_batches(kept)
        for _ in range(CHANCES):
            if trace.crashes:
                trace = self._in_batches(kept)
        return trace

    def _descending(self, kept: Candidates) -> Candidates:
        """Entries whose parents exist, although a step that was done again may have kept fewer than it did."""
        return replace(kept, parents=kept.parents.clamp(max=len(self.corpus) - 1))

    def _redo(self, past: PastStep) -> Candidates:
        """Does a step again and keeps what it kept, but counts and tells nothing."""
        candidates, trace = self._seeds.as_candidates(), NOTHING
        if past.step:
            rng = randomness(self._seed, past.step)
            ids = self._scheduler.plan(len(self.corpus), past.planned, rng)
            candidates = self._mutator.mutate(self.corpus.as_parents(ids), rng)
            trace = self._target.run(candidates)
        else:
            trace = self._in_batches(candidates)
        judged = [oracle.judge(candidates, trace) for oracle in self._oracles]
        return self._take(candidates, trace, _violating(trace, judged), past.found, planting=not past.step)

    def _in_groups(self, steps: Sequence[PastStep]) -> Iterator[list[PastStep]]:
        """Steps that together kept about a batch; the planting alone, because its rows were assessed at once.

        A step that is lost stands alone too.
        """
        group: list[PastStep] = []
        for past in steps:
            if past.lost and group:
                yield group
                group = []
            group.append(past)
            if past.lost or past.step == 0 or sum(some.kept for some in group) >= self._batch:
                yield group
                group = []
        if group:
            yield group

    def _keep(self, lesson: Lesson) -> None:
        self.corpus.add(lesson.kept)
        for learner in self._learners:
            learner.learn(lesson)

    def _gains(self, trace: Trace) -> Tensor:
        """How new each row is to each criterion [batch, criteria]."""
        gains = [feedback.assess(trace) for feedback in self._feedbacks]
        return torch.stack(gains, 1) if gains else torch.zeros(len(trace.outcome), 0)

    def _advance(self) -> bool:
        """One step; false if there is nothing left to mutate."""
        started = time.monotonic()
        rng = randomness(self._seed, self._step + 1)
        planned = self._budget.rows(self._executions, self._batch)
        ids = self._scheduler.plan(len(self.corpus), planned, rng)
        if not len(ids):
            return False
        self._step += 1
        candidates = self._mutator.mutate(self.corpus.as_parents(ids), rng)
        self._absorb(started, planned, candidates, self._target.run(candidates), planting=False)
        return True

    def _absorb(self, started: float, planned: int, candidates: Candidates, trace: Trace, *, planting: bool) -> None:
        """Judges all rows, and takes what is new among those that violate nothing."""
        self._executions += int((trace.outcome != Outcome.SKIPPED).sum())
        self._variant_seconds.update(trace.seconds)
        verdict = self._judge(candidates, trace)
        found = tuple(finding.row.mutations[0] for finding in verdict.findings)
        kept = self._take(candidates, trace, verdict.violating, found, planting=planting)
        self._tell(started, planned, kept, verdict)

    def _take(
        self, candidates: Candidates, trace: Trace, violating: Tensor, found: tuple[Mutation, ...], *, planting: bool
    ) -> Candidates:
        """Assesses the rows that violate nothing, and keeps of them what is new, or any seed."""
        sound = (trace.ran & ~violating & candidates.changed).nonzero().squeeze(1)
        gains = torch.zeros(0, len(self._feedbacks))
        if len(sound):
            gains = self._gains(trace if len(sound) == len(candidates) else trace.select(sound))
            new = all_rows(len(sound)) if planting else (gains > 0).any(1).nonzero().squeeze(1)
            sound, gains = sound[new], gains[new]
        kept = candidates.select(sound)
        self._keep(Lesson(kept, gains, trace.select(sound) if self._learners else NOTHING, found))
        return kept

    def _tell(self, started: float, planned: int, kept: Candidates, verdict: Verdict) -> None:
        """Tells the listeners of a step; the time they take is the step's too."""
        before = self._seconds
        self._seconds = before + time.monotonic() - started
        record = StepRecord(
            step=self._step,
            planned=planned,
            kept=kept,
            findings=verdict.findings,
            flaky=verdict.flaky,
            violations=verdict.violations,
            unconfirmed=verdict.unconfirmed,
            so_far=self.summary(),
        )
        for listener in self._listeners:
            listener(record)
        self._seconds = before + time.monotonic() - started

    def _judge(self, candidates: Candidates, trace: Trace) -> Verdict:
        """What all oracles say of a batch; violations that saving would mend are counted apart and are none."""
        judged = [oracle.judge(candidates, trace) for oracle in self._oracles]
        shown: list[Finding] = []
        violations: Counter[str] = Counter()
        unconfirmed: Counter[str] = Counter()
        for oracle, verdicts in zip(self._oracles, judged, strict=True):
            guilty = (verdicts.bugs != NO_BUG).nonzero().squeeze(1)
            confirmed = guilty[self._survive(oracle, candidates.select(guilty), verdicts.bugs[guilty])]
            if len(guilty) > len(confirmed):
                unconfirmed[verdicts.kind] += len(guilty) - len(confirmed)
            if len(confirmed):
                violations[verdicts.kind] += len(confirmed)
            shown += self._shown(oracle, verdicts, confirmed, candidates)
        findings, flaky = tuple(one for one in shown if one.alone), tuple(one for one in shown if not one.alone)
        self._violations.update(violations)
        self._unconfirmed.update(unconfirmed)
        self._findings.update(finding.violation.kind for finding in findings)
        return Verdict(_violating(trace, judged), findings, flaky, violations, unconfirmed)

    def _shown(self, oracle: Oracle, verdicts: Verdicts, rows: Tensor, candidates: Candidates) -> Iterator[Finding]:
        """Bugs not seen before, each with the first row that shows it.

        A bug that the row does not show alone is told of once and doubted: another step may show it beyond doubt.
        """
        doubted: set[int] = set()
        for bug, row in zip(verdicts.bugs[rows].tolist(), rows.tolist(), strict=True):
            if (verdicts.kind, bug) in self._bugs or bug in doubted:
                continue
            only = candidates.select(torch.tensor([row]))
            alone = self._shown_alone(oracle, only, bug)
            if alone:
                self._bugs.add((verdicts.kind, bug))
            else:
                doubted.add(bug)
                if (verdicts.kind, bug) in self._flaky:
                    continue
                self._flaky.add((verdicts.kind, bug))
            yield Finding(verdicts.describe(row), bug, self._step, self._executions, only, alone)

    def _survive(self, oracle: Oracle, guilty: Candidates, bugs: Tensor) -> Tensor:
        """[guilty] bool: which inputs still show their bug as a file gives them back; all, if none is asked about."""
        survive = torch.ones(len(guilty), dtype=torch.bool)
        if self._saved is None or not len(guilty):
            return survive
        saved = self._saved(guilty.inputs)
        rows = (saved != guilty.inputs).flatten(1).any(1).nonzero().squeeze(1)  # the others are as they were
        if len(rows):
            again = replace(guilty.select(rows), inputs=saved[rows])
            survive[rows] = oracle.judge(again, self._target.run(again, oracle.looks_inside)).bugs == bugs[rows]
        return survive

    def _shown_alone(self, oracle: Oracle, only: Candidates, bug: int) -> bool:
        """Whether an input shows its bug again in a batch of its own, where rounding may differ."""
        trace = self._target.run(only, oracle.looks_inside)
        died = not trace.ran[0] and trace.crashes[0].fatal  # be it of time, memory or a signal
        return died or int(oracle.judge(only, trace).bugs[0]) == bug


def _violating(trace: Trace, judged: Sequence[Verdicts]) -> Tensor:
    """[batch] bool: the rows that violate any property.

    A row that ran and has a crash only stands for its batch, which died once and not again.
    """
    violating = torch.zeros(len(trace.outcome), dtype=torch.bool)
    stands_for_batch = torch.zeros_like(violating)
    stands_for_batch[list(trace.crashes)] = True
    stands_for_batch &= trace.ran
    for verdicts in judged:
        violating |= (verdicts.bugs != NO_BUG) & ~(stands_for_batch & (verdicts.kind == CRASH))
    return violating
