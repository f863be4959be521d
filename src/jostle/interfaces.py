"""Every seam of the loop. Parts know these and the records, never each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from jostle.records import Candidates, LayerGaps, Lesson, Linearised, OnSeeds, Seeds, Trace, Verdicts
from jostle.step_records import DoneStep, Standing, StepRecord, Tries, WorkersSoFar


class Target(Protocol):
    """What happens to this batch?"""

    def run(self, batch: Candidates, watched: bool = True) -> Trace:
        """Everything watched while the batch runs; unwatched, all but what happens inside layers."""


class StepAbandoned(Exception):
    """Somebody asked to stop while a step was under way; it counts for nothing, and is done again later."""


@runtime_checkable
class Interruptible(Protocol):
    """A target that may take long for one batch, and can be asked to leave it."""

    def ask_between_rows(self, enough: Callable[[], bool]) -> None:
        """A batch that runs row by row is left at the first row before which this is true, or raises."""


class ModelTarget(Target, Protocol):
    """What does the model do with this batch?"""

    def predict(self, inputs: Tensor) -> Tensor:
        """The model's outputs [batch, ...] alone; what foreign code raises, this raises."""


class Differentiable(Protocol):
    """Which way must an input change for the model to do something else?"""

    def linearise(self, inputs: Tensor, extremes: bool = False) -> Linearised:
        """A forward pass over inputs [batch, ...] with its vector-Jacobian product; rows do not mix.

        Tokens [batch, length] are differentiated by what the model looks up for them [batch, length, dimensions].
        """


class InterruptibleTarget(ModelTarget, Interruptible, Protocol):
    """A model that can be left between two rows."""


class DifferentiableTarget(ModelTarget, Differentiable, Protocol):
    """A model that runs batches and can be differentiated; one that cannot raises in `linearise`."""


class ComparesLayers(Protocol):
    """In which layers is a twin far from its model?"""

    def gaps(self, inputs: Tensor, variant: str) -> LayerGaps:
        """How far a twin is from the model on inputs [batch, ...]; what foreign code raises, this raises."""


class Mutator(Protocol):
    """What do we try next?"""

    def mutate(self, parents: Candidates, rng: torch.Generator) -> Candidates:
        """At most one child for each row, at least one in all; a child keeps its parent's lineage."""


@runtime_checkable
class CountsTries(Protocol):
    """A mutator whose transformations can fail, and that counts how often they do."""

    def tries(self) -> Mapping[str, Tries]:
        """Of this run so far, by transformation."""


class Feedback(Protocol):
    """Did we see something new?

    Law: a batch is worth the same as its rows one after another, in order; nothing is new twice.

    One that says `looks_at_inputs = False` looks at the trace and at the roots of candidates only, so that several
    workers need not send inputs to each other. Parents of what others kept are ids of the campaign, not of the worker.
    """

    def assess(self, candidates: Candidates, trace: Trace) -> Tensor:
        """Gain [batch], above zero where a row shows something not seen before; remembers the batch."""

    def coverage(self) -> Mapping[str, Mapping[str, float]]:
        """Figures so far, by criterion."""


class Oracle(Protocol):
    """Is this a defect?

    Law: a row's verdict does not depend on the other rows of its batch.
    """

    looks_inside: bool  # at what layers did; if not, inputs that are only judged need not be watched
    compares_with_truth: bool  # so that it may fail on a seed: there the model is wrong, and nothing was discovered

    def judge(self, candidates: Candidates, trace: Trace) -> Verdicts: ...


@runtime_checkable
class JudgesSeeds(Protocol):
    """An oracle that can compare the model's answers for the seeds themselves with their labels."""

    def on_seeds(self, seeds: Seeds) -> OnSeeds | None:
        """Which seeds the model gets wrong; None where no label is known."""


class Scheduler(Protocol):
    """Whom do we mutate, how often?"""

    def plan(self, entries: int, children: int, rng: torch.Generator) -> Tensor:
        """Corpus ids [at most children] of the parents, each as often as it shall be mutated; none ends the run."""


@runtime_checkable
class Learner(Protocol):
    """A part that learns from what was kept; the loop calls any scheduler, mutator or feedback that has this method.

    Law: planning and learning anew through the same steps leads to the same state.
    """

    def learn(self, lesson: Lesson) -> None:
        """Takes in what a step added to the corpus and found."""


class Listener(Protocol):
    """Called with the record of every step when it is over: archives and progress displays."""

    def __call__(self, record: StepRecord) -> None: ...


class Crew(Protocol):
    """Workers, here or on other machines, that do the steps of a campaign in its place."""

    def begin(self, standing: Standing) -> None:
        """Starts all of them from what the campaign's folder holds."""

    def begun(self) -> bool:
        """Whether anybody has begun to work, which takes as long as loading a model does."""

    def next_step(self) -> DoneStep | None:
        """A step that one of them did, in the order in which each did its own; none if none comes for a moment."""

    def spread(self, done: DoneStep, new: Tensor) -> None:
        """Tells others what is new of a step to all, `new` [kept] bool.

        `done` is what `next_step` gave last, with those bugs only that nobody had found.
        """

    def over(self) -> bool:
        """Whether no step will come any more."""

    def stop(self) -> None:
        """Asks for no more steps; those under way still come."""

    def tries(self) -> Mapping[str, Tries]:
        """What came of all workers' tries in this run, by transformation."""

    def counts(self) -> Counter[str]:
        """What workers counted besides steps, by name."""

    def so_far(self) -> WorkersSoFar: ...
