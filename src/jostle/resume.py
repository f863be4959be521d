"""Going on from an earlier run: its steps are replayed, and those of which nothing can be read are done again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch

from jostle.admission import Admission
from jostle.coverage_counter import CoverageCounter
from jostle.errors import ResumeRefused
from jostle.interfaces import Target
from jostle.judgement import BatchJudge
from jostle.records import NO_TRACE, Candidates, Failures, Lesson, Seeds, Trace
from jostle.step_plan import StepPlan, StepPlanner
from jostle.step_records import History, PastStep

# Takes a step that was done again, what it kept, and its failing tests; None of what had not been lost.
Redone = Callable[[PastStep, Candidates | None, Failures | None], None]
Plan = Callable[[int, int], StepPlan | None]  # of a step that follows so many executions
CHANCES = 3  # for entries to run once more


class PastPlans:
    """Plans the steps of an earlier run once more, in the same order of planning and learning.

    With `plan_following`, every step was planned before the previous one was learnt, and so is the step after the last.
    """

    def __init__(
        self,
        planner: StepPlanner,
        steps: Sequence[PastStep],
        again: Callable[[PastStep], bool],  # which are done again
        plan_following: Plan | None,
        worker: int,
    ):
        self._planner, self._steps, self._again, self._plan_following = planner, steps, again, plan_following
        self._worker = worker
        self._unplanned = 1  # the first step that is; the planting needs no plan
        self._made: dict[int, StepPlan | None] = {}

    def before_learning(self, step: int) -> None:
        """Plans all that was planned before a step was learnt; of steps that are done again, inputs are made too."""
        if not step:
            return
        for past in self._steps[self._unplanned : step + (2 if self._plan_following else 1)]:
            if self._again(past):
                self._made[past.step] = self._planner.plan(past.step, past.planned)
            elif past.by is None or past.by.worker == self._worker:  # what other workers planned is their own
                self._planner.plan_again(past.step, past.planned)
            self._unplanned += 1
        if self._plan_following and step == self._steps[-1].step and step + 1 not in self._made:
            executions = self._steps[-2].executions + self._steps[-1].planned  # as it was foreseen before it ran
            self._made[step + 1] = self._plan_following(step + 1, executions)

    def take(self, step: int) -> StepPlan | None:
        """A step whose inputs were made, once."""
        return self._made.pop(step, None)


@dataclass(frozen=True)
class Resumption:
    """Brings all parts of a campaign to where an earlier run left them.

    What was kept runs once more, so that nothing of it is new again. Parts that remember plan and learn again, step by
    step, and so know what they knew. Where coverage is counted of inputs that were not kept, every step is done again.
    """

    target: Target
    planner: StepPlanner
    plans_ahead: bool  # every step was planned before the previous one was learnt
    judge: BatchJudge
    admission: Admission
    counter: CoverageCounter | None
    seeds: Seeds
    batch: int
    worker: int = 0  # of several, whose steps this continues

    def replay(self, history: History, redone: Redone, plan: Plan) -> StepPlan | None:
        """Goes through all steps; one of which something is lost is done again, as all that decides it is known.

        Where steps are planned ahead, gives the one that follows.
        """
        if self.counter is not None and any(past.by for past in history.steps):
            raise ResumeRefused(
                "steps of several workers cannot be done again, which --count-coverage needs for what was not kept: "
                "leave it out"
            )
        following = plan if self.plans_ahead else None
        plans = PastPlans(self.planner, history.steps, self._can_do_again, following, self.worker)
        for steps in in_groups(history.steps, self.batch, self._again):
            past, kept = steps[0], history.kept([one for one in steps if not one.lost])
            if self._can_do_again(past):
                self._do_again(past, kept, redone, plans)
            elif self._again(past):
                self._stand_in(past, kept, redone, plans)
            else:
                self._learn(steps, kept, plans)
        return plans.take(history.steps[-1].step + 1)

    def _again(self, past: PastStep) -> bool:
        """Whether the step must be done again, because of what is lost or was never kept."""
        return past.lost or past.failing_lost or self.counter is not None

    def _can_do_again(self, past: PastStep) -> bool:
        """The same, and what decided it is known, which it is not of a step that one of several workers did."""
        return self._again(past) and past.by is None

    def _stand_in(self, past: PastStep, kept: Candidates, redone: Redone, plans: PastPlans) -> None:
        """Takes the first seed for each lost entry of a step that cannot be done again, so that later ids hold."""
        first_seed = torch.zeros(past.kept, dtype=torch.int64)
        kept = self.seeds.as_candidates().select(first_seed) if past.lost else kept
        self._learn([past], kept, plans)
        redone(past, kept if past.lost else None, Failures.none(kept) if past.failing_lost else None)

    def _do_again(self, past: PastStep, kept: Candidates, redone: Redone, plans: PastPlans) -> None:
        """Does a step again, but counts nothing and notifies nobody; only what was lost of it is taken from that."""
        plans.before_learning(past.step)
        candidates, trace = self._run_step(past, plans)
        failing = self.judge.failing(candidates, trace)
        if self.counter is not None:
            self.counter.count(candidates, trace, failing)
        if past.lost:
            barred = self.judge.barred(candidates, trace)
            kept = self.admission.admit(candidates, trace, barred, past.found, every=not past.step).kept
        else:
            self._learn([past], kept, plans)
        if past.lost or past.failing_lost:
            redone(past, kept if past.lost else None, failing.first(past.failing) if past.failing_lost else None)

    def _run_step(self, past: PastStep, plans: PastPlans) -> tuple[Candidates, Trace]:
        """Runs the inputs of a step once more."""
        if not past.step:
            seeds = self.seeds.as_candidates()
            return seeds, self._in_batches(seeds)
        plan = plans.take(past.step)
        assert plan is not None, "an earlier run had something to mutate"
        return plan.candidates, self.target.run(plan.candidates)

    def _learn(self, steps: Sequence[PastStep], kept: Candidates, plans: PastPlans) -> None:
        """Learns these steps again, with what they kept."""
        trace = self._run_again(kept) if len(kept) else NO_TRACE
        gains = self.admission.gains(kept, trace)
        start = 0
        for past in steps:
            plans.before_learning(past.step)
            rows = torch.arange(start, start + past.kept)
            entries = self._descending(kept.select(rows))
            worker = None if past.by is None else past.by.worker
            self.admission.add(Lesson(entries, gains[rows], trace.select(rows), past.found, True, worker))
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
        before = len(self.admission.corpus) + torch.arange(len(kept)) - 1  # one step can keep an entry and its parent
        return replace(kept, parents=kept.parents.minimum(before))


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
