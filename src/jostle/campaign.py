"""The loop and its budget."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch

from jostle.admission import Admission
from jostle.coverage_counter import CoverageCounter
from jostle.errors import Interrupted, JostleError, UsageError
from jostle.interfaces import (
    CountsTries,
    Crew,
    Feedback,
    Interruptible,
    Learner,
    Listener,
    Mutator,
    Oracle,
    Scheduler,
    StepAbandoned,
    Target,
)
from jostle.judgement import BatchJudge, Classes, Judgement, Saved
from jostle.randomness import worker_seed
from jostle.records import ALL_OF_IT, Bug, Candidates, Outcome, Seeds, Share, Trace
from jostle.resume import Redone, Resumption
from jostle.step_plan import StepPlan, StepPlanner
from jostle.step_records import COUNTED_CORPUS, DoneStep, History, Standing, StepRecord, Summary, Tries
from jostle.storage.corpus import Corpus
from jostle.tally import Tally

STEPS_BEFORE_GROWTH = 8  # as large as the next, that a campaign must have behind it


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
        return batch if self.executions is None else max(0, min(batch, self.executions - executions))


@dataclass(frozen=True)
class _JudgedStep:
    """A step that has run and was judged; what is new in it has not been looked for yet."""

    plan: StepPlan
    trace: Trace
    ran: int
    judgement: Judgement

    @property
    def found(self) -> bool:
        """Whether it must be on disk before the model runs again, which may end the process."""
        return bool(self.judgement.findings or self.judgement.flaky)


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
        largest_step: int | None = None,
        plans_ahead: bool = False,
        saved: Saved | None = None,
        seeds_count: bool = False,
        classes: Classes | None = None,
        keep_failing: int | None = 0,
        counter: CoverageCounter | None = None,
        corpus_memory: int | None = None,
        scratch_folder: Path | None = None,
        independent: bool = False,
        share: Share | None = None,
        crew: Crew | None = None,
        interruptible_beginning: bool = False,
    ):
        """A step has `batch` inputs, and with a `largest_step` up to so many, the more the campaign has run before.

        With `plans_ahead`, steps are planned before the previous step is judged, so without knowing its results.
        `saved` gives what a file gives back of inputs [batch, ...]: with it, only what survives that is found.

        With `seeds_count`, seeds that the model gets wrong are findings too. So many failing tests are handed to the
        listeners to be kept, None is all; `classes` reads the answers to them, of a model that gives classes. With a
        `counter`, the summary tells the coverage that it counts and not that of the corpus. Where answers are
        `independent` of the other rows of a batch, new bugs of a step are confirmed together and not one by one.

        With a `crew`, its workers do all steps after the planting. A worker has a `share` of them, randomness of its
        own, and one processor if it is one of several; it keeps the traces of what its steps keep, for others to know
        it without running it.

        Whoever asks to stop before the first step gets a result when the seeds, or what an earlier run kept, have run.
        With an `interruptible_beginning` that raises Interrupted where the target looks between rows, and nothing of it
        is in the journal.

        Inputs of the corpus take at most `corpus_memory` bytes, None is no bound. What is beyond is in a file without
        a name on the disk of `scratch_folder`, or of the system's folder for such files.
        """
        self._target, self._mutator = target, mutator
        self._seeds, self._budget, self._batch = seeds, budget, batch
        self._largest_step = largest_step or batch
        self._judge = BatchJudge(oracles, target, saved, seeds_count, classes, independent)
        self._keep_failing, self._counter = keep_failing, counter
        learners = [part for part in (scheduler, mutator, *feedbacks) if isinstance(part, Learner)]
        corpus = Corpus(seeds, corpus_memory, scratch_folder)
        self._admission = Admission(corpus, feedbacks, learners, keeps_traces=share is not None)
        self._crew, self._share = crew, share or ALL_OF_IT
        own_seed = seed if self._share.of == 1 else worker_seed(seed, self._share.worker)
        self._planner = StepPlanner(scheduler, mutator, self._admission.corpus, own_seed)
        self._plans_ahead, self._processors = plans_ahead, 1 if self._share.of > 1 else _all_processors()
        self._planned_ahead: StepPlan | None = None
        self._tally = Tally()
        self._listeners: Sequence[Listener] = ()
        self._stopping = self._beginning = False
        self._interruptible_beginning = interruptible_beginning
        self._room: int | None = None
        self._unassessed = 0
        self._step_started: float | None = None
        if isinstance(target, Interruptible):
            target.ask_between_rows(self._enough)

    @property
    def steps(self) -> int:
        """How many were done so far, after the planting."""
        return self._tally.steps

    @property
    def stopping(self) -> bool:
        """Whether somebody asked to stop."""
        return self._stopping

    @property
    def unassessed(self) -> int:
        """Executions of which nobody looked for what is new, for want of room."""
        return self._unassessed

    @property
    def corpus(self) -> Corpus:
        return self._admission.corpus

    def run(
        self,
        history: History | None = None,
        *,
        listeners: Sequence[Listener] = (),
        redone: Redone = lambda past, kept, failing: None,
        full: Callable[[], bool] = lambda: False,
    ) -> Summary:
        """Goes on until the budget is spent, from the seeds or from where an earlier run stopped.

        `redone` is called for each step of that run that was done again. `full` says whether there is no more room for
        what listeners write, which ends the run as a spent budget does.
        """
        with torch.inference_mode(False):  # a script may have it on, which holds for its own thread only
            self.begin(history, listeners, redone)
            if self._crew is not None:
                if len(self.corpus) and not self.spent():
                    self._have_done(self._crew, full)
            elif self._plans_ahead and torch.get_num_threads() < self._processors:
                self._do_overlapping(full)
            else:
                while not full() and self.step() is not None:
                    pass
        return self.summary()

    def begin(
        self,
        history: History | None,
        listeners: Sequence[Listener] = (),
        redone: Redone = lambda past, kept, failing: None,
    ) -> None:
        """Plants the seeds, or takes over an earlier run."""
        self._listeners, self._beginning = listeners, True
        if history is None:
            self._plant()
        else:
            self._resume(history, redone)
        self._beginning = False

    def step(self) -> DoneStep | None:
        """Does one more step; none if the budget is spent, somebody asked to stop, or there is nothing to mutate."""
        if self._over():
            return None
        self._step_started = time.monotonic()
        try:
            return self._step()
        except StepAbandoned:
            return None
        finally:
            self._step_started = None

    def know(self, kept: Candidates, trace: Trace, bugs: Collection[Bug], flaky: Collection[Bug]) -> None:
        """Takes what others kept for known, by its trace, and the bugs that they have seen for found."""
        self._admission.gains(kept, trace)
        self._judge.know(bugs, flaky)

    def allow(self, budget: Budget, room: int | None = None) -> None:
        """Goes on until this budget is spent.

        With `room`, about so many entries are kept: a step that begins without any keeps nothing, and nothing of it is
        known then, so that it can be discovered again.
        """
        self._budget, self._room = budget, room

    def stop(self) -> None:
        """Ends the run after the step that is under way, or at once where that runs row by row."""
        self._stopping = True

    def summary(self) -> Summary:
        mutants = self._tally.executions - len(self._seeds)
        return self._tally.summary(
            corpus=len(self.corpus),
            admission_rate=self.corpus.mutants / mutants if mutants > 0 else 0.0,
            coverage=(self._counter or self._admission).coverage(),
            flaky=self._judge.still_flaky(),
            counted=self._counter.counted if self._counter else COUNTED_CORPUS,
            tries=self.tries(),
            workers=None if self._crew is None else self._crew.so_far(),
        )

    def tries(self) -> Mapping[str, Tries]:
        """What came of tries in this run, by transformation, where they can fail."""
        if self._crew is not None:
            return self._crew.tries()
        return self._mutator.tries() if isinstance(self._mutator, CountsTries) else {}

    def counted_by_workers(self) -> Counter[str]:
        """What workers counted besides steps, by name."""
        return Counter() if self._crew is None else self._crew.counts()

    def spent(self, more: float = 0.0) -> bool:
        """Whether the budget is, or would be after so many more seconds."""
        tally = self._tally
        return self._budget.spent(tally.seconds + more, tally.executions, tally.findings.total())

    def _over(self, more: float = 0.0) -> bool:
        """Whether no more steps are to be begun; so many seconds are not counted yet."""
        return not len(self.corpus) or self.spent(more) or self._stopping

    def _enough(self) -> bool:
        """Whether no more rows shall run; if somebody asked to stop, the step under way is abandoned."""
        if self._beginning and self._interruptible_beginning and self._stopping:
            raise Interrupted
        if self._step_started is None:
            return False  # what comes before the first step, or after the last, is done to its end
        if self._stopping:
            raise StepAbandoned
        return self._budget.seconds is not None and self._tally.seconds + self._uncounted() >= self._budget.seconds

    def _plant(self) -> None:
        """Runs the seeds, as step 0; all that nothing bars enter the corpus."""
        started = time.monotonic()
        seeds = self._seeds.as_candidates()
        trace = Trace.joined([self._target.run(part) for part in seeds.split(self._batch)])
        _refuse_if_all_failed(trace)
        self._notify(started, self._admitted(self._judged(0, StepPlan(len(seeds), seeds), trace), every=True))

    def _step(self) -> DoneStep | None:
        """Plans, mutates, runs, judges, keeps and notifies once; none if there is nothing left to mutate."""
        started = time.monotonic()
        plan = self._next_plan()
        if plan is None:
            return None
        if self._plans_ahead:
            self._planned_ahead = self._plan(*self._following(plan))
        judged = self._judged(self._tally.steps + 1, plan, self._target.run(plan.candidates))
        return self._notify(started, self._admitted(judged))

    def _do_overlapping(self, full: Callable[[], bool]) -> None:
        """Does steps until the budget is spent, all but running and judging beside the run of the step that follows."""
        self._step_started = time.monotonic()
        try:
            with ThreadPoolExecutor(1, "admission") as beside:
                self._overlap(beside, full)
        finally:
            self._step_started = None

    def _overlap(self, beside: ThreadPoolExecutor, full: Callable[[], bool]) -> None:
        judged: _JudgedStep | None = None
        while True:
            over = self._over(self._uncounted()) or full()
            if judged is not None and (over or judged.found or self._planned_ahead is None):
                self._finish(self._admitted(judged))
                judged = None
                continue
            plan = None if over else self._next_plan()
            if plan is None:
                return
            judged = self._run_beside(beside, plan, judged)

    def _run_beside(self, beside: ThreadPoolExecutor, plan: StepPlan, before: _JudgedStep | None) -> _JudgedStep | None:
        """Runs and judges a step, and completes the one before meanwhile; none if the step is abandoned."""
        admitted = None if before is None else beside.submit(self._admitted, before)
        following = beside.submit(self._plan, *self._following(plan))
        trace: Trace | None = None
        ended = False
        try:
            with suppress(StepAbandoned):
                trace = self._target.run(plan.candidates)
            ended = True
        finally:
            if not ended:  # what ended the run is told, also where the step before cannot be written any more
                with suppress(JostleError, OSError):
                    self._complete(admitted, following)
        self._complete(admitted, following)
        with suppress(StepAbandoned):
            return None if trace is None else self._judged(self._tally.steps + 1, plan, trace)
        return None

    def _complete(self, admitted: Future[DoneStep] | None, following: Future[StepPlan | None]) -> None:
        """Tells of the step before, once the one that follows is planned."""
        wait([following])
        if admitted is not None:
            self._finish(admitted.result())
        self._planned_ahead = following.result()

    def _finish(self, done: DoneStep) -> None:
        """Tells the listeners of a step, among those that overlap; the time since the one before is its own."""
        assert self._step_started is not None
        self._notify(self._step_started, done)
        self._step_started = time.monotonic()

    def _uncounted(self) -> float:
        """Seconds that no step is charged with yet."""
        return 0.0 if self._step_started is None else time.monotonic() - self._step_started

    def _have_done(self, crew: Crew, full: Callable[[], bool]) -> None:
        """Has workers do the steps until the budget is spent; what they have under way then counts too."""
        tally, (bugs, flaky) = self._tally, self._judge.seen()
        crew.begin(
            Standing(tally.executions, tally.seconds, len(self.corpus), bugs, flaky, self._admission.looks_at_inputs)
        )
        while not crew.over():
            if self.spent() or self._stopping or full():
                crew.stop()
            started = time.monotonic()
            done = crew.next_step()
            if done is None:
                self._tally.seconds += time.monotonic() - started if crew.begun() else 0.0
            else:
                self._take_over(crew, done, started)

    def _take_over(self, crew: Crew, done: DoneStep, started: float) -> None:
        """Counts and keeps what a worker's step came to; bugs that others have found before are none any more."""
        self._tally.steps += 1
        self._tally.executions += done.ran
        numbered = partial(replace, step=self._tally.steps, execution=self._tally.executions)
        findings, flaky = (
            tuple(numbered(one) for one in self._judge.not_seen(some)) for some in (done.findings, done.flaky)
        )
        done = replace(done, findings=findings, flaky=flaky)
        crew.spread(done, self._admission.count_new(done.kept, done.trace))
        self._tally.count(done, done.seconds)
        self._notify(started, done)

    def _next_plan(self) -> StepPlan | None:
        """The next step, planned before or now; none if there is nothing to mutate."""
        return self._planned_ahead or self._plan(self._tally.steps + 1, self._tally.executions)

    def _following(self, plan: StepPlan) -> tuple[int, int]:
        """The number of the step after the one that is about to run, and how many executions come before it."""
        return self._tally.steps + 2, self._tally.executions + plan.asked

    def _plan(self, step: int, executions: int) -> StepPlan | None:
        """A step that follows so many executions; none if it may run nothing, or there is nothing to mutate."""
        rows = self._budget.rows(executions, self._rows(executions))
        return self._planner.plan(step, rows) if rows else None

    def _rows(self, executions: int) -> int:
        """How many inputs a step runs: larger steps cost less, but what a step finds guides the next one only."""
        grown = executions // STEPS_BEFORE_GROWTH // self._batch * self._batch
        return max(self._batch, min(self._largest_step, grown))

    def _judged(self, step: int, plan: StepPlan, trace: Trace) -> _JudgedStep:
        """Counts a step that has just run, and what the oracles say of it."""
        ran = int((trace.outcome != Outcome.SKIPPED).sum())
        judgement = self._judge.judge(plan.candidates, trace, step, self._tally.executions + ran)
        if self._counter is not None:
            self._counter.count(plan.candidates, trace, judgement.failing)
        self._tally.steps = step
        self._tally.executions += ran
        self._tally.count(judgement, trace.seconds)
        return _JudgedStep(plan, trace, ran, judgement)

    def _admitted(self, judged: _JudgedStep, every: bool = False) -> DoneStep:
        """What came of a step; of rows that nothing bars, those that are new are kept, or all."""
        plan, trace, judgement = judged.plan, judged.trace, judged.judgement
        has_room = self._room is None or self._room > 0
        self._unassessed += 0 if has_room else judged.ran
        lesson = self._admission.admit(
            plan.candidates,
            trace,
            judgement.barred,
            judgement.found_by,
            every=every,
            room=has_room,
        )
        self._room = None if self._room is None else self._room - len(lesson.kept)
        return DoneStep(
            planned=plan.asked,
            ran=judged.ran,
            kept=lesson.kept,
            trace=lesson.trace,
            findings=judgement.findings,
            flaky=judgement.flaky,
            violations=judgement.violations,
            unconfirmed=judgement.unconfirmed,
            failing=judgement.failing,
            seconds=trace.seconds,
        )

    def _notify(self, started: float, done: DoneStep) -> DoneStep:
        """Hands the record of a step to the listeners; the time they take is the step's too.

        Gives back the step with the failing tests to keep.
        """
        before = self._tally.seconds
        self._tally.seconds = before + time.monotonic() - started
        done = replace(done, failing=done.failing.first(self._room_for_failing()))
        self._tally.failing_kept += len(done.failing)
        record = StepRecord(
            step=self._tally.steps,
            planned=done.planned,
            kept=done.kept,
            findings=done.findings,
            flaky=done.flaky,
            violations=done.violations,
            unconfirmed=done.unconfirmed,
            failing=done.failing,
            so_far=self.summary(),
            by=done.by,
        )
        for listener in self._listeners:
            listener(record)
        self._tally.seconds = before + time.monotonic() - started
        return done

    def _room_for_failing(self) -> int | None:
        """How many more failing tests may be kept, None if any number."""
        return None if self._keep_failing is None else max(0, self._keep_failing - self._tally.failing_kept)

    def _resume(self, history: History, redone: Redone) -> None:
        """Takes over an earlier run."""
        self._planned_ahead = Resumption(
            target=self._target,
            planner=self._planner,
            plans_ahead=self._plans_ahead and self._share.of == 1,
            judge=self._judge,
            admission=self._admission,
            counter=self._counter,
            seeds=self._seeds,
            batch=self._batch,
            worker=self._share.worker,
        ).replay(history, redone, self._plan)
        self._judge.remember(history.bugs, history.flaky)
        self._tally = Tally.after(history)
        if self._share.of > 1:
            self._tally.steps = history.own_steps  # so that no draw is made twice


def _all_processors() -> int:
    """How many this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _refuse_if_all_failed(trace: Trace) -> None:
    if not trace.ran.any():
        crash = next(iter(trace.crashes.values()))
        raise UsageError(f"the target fails on every seed ({crash.error} in {crash.where}: {crash.message}): fix it")
