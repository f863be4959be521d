"""Going on from an earlier run: its steps are replayed, and those of which nothing can be read are done again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch

from jostle.admission import NO_TRACE, Admission
from jostle.coverage_counter import CoverageCounter
from jostle.interfaces import Mutator, Scheduler, Target
from jostle.judgement import BatchJudge
from jostle.randomness import randomness
from jostle.records import Candidates, Failures, Lesson, Seeds, Trace
from jostle.step_records import History, PastStep

# Takes a step that was done again, what it kept, and its failing tests; None of what had not been lost.
Redone = Callable[[PastStep, Candidates | None, Failures | None], None]
CHANCES = 3  # for entries to run once more


@dataclass(frozen=True)
class Resumption:
    """Brings all parts of a campaign to where an earlier run left them.

    What was kept runs once more, so that nothing of it is new again. Parts that remember plan and learn again, step by
    step, and so know what they knew. Where coverage is counted of inputs that were not kept, every step is done again.
    """

    target: Target
    mutator: Mutator
    scheduler: Scheduler
    judge: BatchJudge
    admission: Admission
    counter: CoverageCounter | None
    seeds: Seeds
    seed: int
    batch: int

    def replay(self, history: History, redone: Redone) -> None:
        """Goes through all steps; one of which something is lost is done again, as all that decides it is known."""
        for steps in in_groups(history.steps, self.batch, self._again):
            past, kept = steps[0], history.kept([one for one in steps if not one.lost])
            if self._again(past):
                self._do_again(past, kept, redone)
            else:
                self._learn(steps, kept)

    def _again(self, past: PastStep) -> bool:
        """Whether the step must be done again, because of what is lost or was never kept."""
        return past.lost or past.failing_lost or self.counter is not None

    def _do_again(self, past: PastStep, kept: Candidates, redone: Redone) -> None:
        """Does a step again, but counts nothing and notifies nobody; only what was lost of it is taken from that."""
        candidates, trace = self._run_step(past)
        failing = self.judge.failing(candidates, trace)
        if self.counter is not None:
            self.counter.count(candidates, trace, failing)
        if past.lost:
            violating = self.judge.violating(candidates, trace)
            kept = self.admission.admit(candidates, trace, violating, past.found, every=not past.step)
        else:
            self._learn([past], kept, planned=True)
        if past.lost or past.failing_lost:
            redone(past, kept if past.lost else None, failing.first(past.failing) if past.failing_lost else None)

    def _run_step(self, past: PastStep) -> tuple[Candidates, Trace]:
        """Plans, mutates and runs a step once more."""
        if not past.step:
            seeds = self.seeds.as_candidates()
            return seeds, self._in_batches(seeds)
        rng = randomness(self.seed, past.step)
        ids = self.scheduler.plan(len(self.admission.corpus), past.planned, rng)
        candidates = self.mutator.mutate(self.admission.corpus.as_parents(ids), rng)
        return candidates, self.target.run(candidates)

    def _learn(self, steps: Sequence[PastStep], kept: Candidates, planned: bool = False) -> None:
        """Learns these steps again, with what they kept; unless they were planned just now, they are planned too."""
        trace = self._run_again(kept) if len(kept) else NO_TRACE
        gains = self.admission.gains(kept, trace)
        start = 0
        for past in steps:
            if past.step and not planned:
                self.scheduler.plan(len(self.admission.corpus), past.planned, randomness(self.seed, past.step))
            rows = torch.arange(start, start + past.kept)
            entries = self._descending(kept.select(rows))
            self.admission.add(Lesson(entries, gains[rows], trace.select(rows), past.found))
            start += past.kept

    def _run_again(self, kept: Candidates) -> Trace:
        """What entries do that ran before; should their process be killed just now, they run again."""
        trace = self._in_batches(kept)
        for _ in range(CHANCES):
            if trace.crashes:
                trace = self._in_batches(kept)
        return trace

    def _in_batches(self, candidates: Candidates) -> Trace:
        return Trace.joined([self.target.run(part) for part in candidates.split(self.batch)])

    def _descending(self, kept: Candidates) -> Candidates:
        """Entries whose parents exist, although a step that was done again may have kept fewer than it did."""
        return replace(kept, parents=kept.parents.clamp(max=len(self.admission.corpus) - 1))


def in_groups(steps: Sequence[PastStep], batch: int, again: Callable[[PastStep], bool]) -> Iterator[list[PastStep]]:
    """Steps that together kept about a batch; the planting alone, because its rows were assessed at once.

    A step that is done again stands alone too.
    """
    group: list[PastStep] = []
    for past in steps:
        if again(past) and group:
            yield group
            group = []
        group.append(past)
        if again(past) or past.step == 0 or sum(some.kept for some in group) >= batch:
            yield group
            group = []
    if group:
        yield group
