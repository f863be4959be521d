"""What steps of a campaign came to: each as its listeners see it, all so far, and those of an earlier run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jostle.lineage import Mutation
from jostle.records import Bug, Candidates, Failures, Finding, Trace

# Inputs whose coverage figures tell, by what a user calls them.
COUNTED_CORPUS, COUNTED_RUN, COUNTED_FAILING = "corpus", "run", "failing"
COUNTED_INPUTS: Mapping[str, str] = {
    COUNTED_CORPUS: "inputs that violate nothing",
    COUNTED_RUN: "all inputs that ran",
    COUNTED_FAILING: "failing tests",
}
ENOUGH_TRIES = 500  # to say that something hardly ever succeeds
HARDLY_EVER = 0.001


@dataclass(frozen=True)
class Tries:
    """What came of the tries of one transformation in this run."""

    made: int
    succeeded: int
    needed: str  # what a try did that succeeded, and why others do not

    @property
    def in_vain(self) -> bool:
        return self.made >= ENOUGH_TRIES and self.succeeded < HARDLY_EVER * self.made

    def __str__(self) -> str:
        return f"{self.succeeded:,} of {self.made:,} tries {self.needed}"


@dataclass(frozen=True)
class WorkersSoFar:
    """How the workers of a campaign are doing, those of this run."""

    rates: Mapping[int, float]  # inputs per second of each worker
    oldest: float  # seconds since the worker was last heard of that has been silent for longest
    synchronising: float  # share of the workers' time that was spent on, or waiting for, each other's results
    unassessed: float  # share of the executions of which nobody looked for what is new, for want of room
    duplicates: int  # entries that were new to their worker and to nobody else
    lost: int  # workers that died and were replaced
    lost_seconds: float  # of work that such workers had not handed over

    def as_json(self) -> dict[str, Any]:
        return {
            "executions_per_second": {str(number): round(rate, 1) for number, rate in self.rates.items()},
            "oldest_synchronisation_seconds": round(self.oldest, 3),
            "synchronising": round(self.synchronising, 4),
            "unassessed": round(self.unassessed, 4),
            "duplicates": self.duplicates,
            "lost": self.lost,
            "lost_seconds": round(self.lost_seconds, 3),
        }


@dataclass(frozen=True)
class Summary:
    """What a campaign has done so far."""

    steps: int  # after the planting
    executions: int
    seconds: float
    corpus: int
    admission_rate: float  # share of the mutants that were kept
    coverage: Mapping[str, Mapping[str, float]]  # by criterion, of the inputs that count
    findings: Mapping[str, int]  # distinct bugs by kind
    flaky: Mapping[str, int]  # distinct bugs by kind that no input showed when it ran alone
    violations: Mapping[str, int]  # violating inputs by kind
    unconfirmed: Mapping[str, int]  # inputs by kind that violate no more when saved
    rates: Mapping[str, float]  # inputs per second inside each variant
    failing_kept: int = 0  # failing tests that were kept
    counted: str = COUNTED_CORPUS  # of COUNTED_INPUTS: the inputs whose coverage this is
    tries: Mapping[str, Tries] = field(default_factory=dict)  # of this run, by transformation, where they can fail
    workers: WorkersSoFar | None = None  # where others do the steps

    @property
    def failing(self) -> int:
        """Failing tests: inputs that violate a property, once for each property, confirmed or not."""
        return sum(self.violations.values()) + sum(self.unconfirmed.values())

    @property
    def in_vain(self) -> dict[str, str]:
        """Transformations of which hardly a try succeeded so far, each with how many were made and why."""
        return {name: f"{name}: {tries}" for name, tries in self.tries.items() if tries.in_vain}

    def as_json(self) -> dict[str, Any]:
        return {
            "steps": self.steps,
            "executions": self.executions,
            "seconds": round(self.seconds, 3),
            "executions_per_second": round(self.executions / max(self.seconds, 1e-9), 1),
            "corpus": self.corpus,
            "admission_rate": self.admission_rate,
            "coverage": {name: dict(figures) for name, figures in self.coverage.items()},
            "coverage_counts": self.counted,
            "findings": dict(self.findings),
            "flaky": dict(self.flaky),
            "violating_inputs": dict(self.violations),
            "unconfirmed_inputs": dict(self.unconfirmed),
            "failing_tests": self.failing,
            "failing_tests_kept": self.failing_kept,
            "inputs_per_second_by_variant": {name: round(rate, 1) for name, rate in self.rates.items()},
            "tries": {name: {"made": one.made, "succeeded": one.succeeded} for name, one in self.tries.items()},
            "in_vain": list(self.in_vain.values()),
            **({} if self.workers is None else {"workers": self.workers.as_json()}),
        }


@dataclass(frozen=True)
class OwnStep:
    """A worker, and the last of its own steps of a round; both together tell what was drawn in that step."""

    worker: int
    step: int


@dataclass(frozen=True)
class Standing:
    """Where a campaign stands when workers begin."""

    executions: int
    seconds: float
    entries: int  # of the corpus
    bugs: frozenset[Bug]
    flaky: frozenset[Bug]  # the same of bugs that did not show again alone
    looks_at_inputs: bool  # a criterion does, so that others must be told them


@dataclass(frozen=True)
class DoneStep:
    """What a step came to, wherever it was done."""

    planned: int  # inputs asked for; a mutator may make fewer
    ran: int  # inputs
    kept: Candidates  # what entered the corpus
    trace: Trace  # of the rows kept, where somebody needs it
    findings: tuple[Finding, ...]  # bugs not seen before
    flaky: tuple[Finding, ...]  # bugs not seen before that did not show again when the input ran alone
    violations: Mapping[str, int]  # violating inputs by kind
    unconfirmed: Mapping[str, int]  # inputs by kind that violate no more when saved
    failing: Failures  # all of both
    seconds: Mapping[str, float]  # spent in each variant
    by: OwnStep | None = None  # who did it, where there are several

    @staticmethod
    def joined(steps: Sequence[DoneStep]) -> DoneStep:
        """Steps that one worker did one after another as one, which bears the name of the last."""
        kept = [done for done in steps if len(done.kept)] or steps[:1]  # a trace of no rows does not tell others' types
        return DoneStep(
            planned=sum(done.planned for done in steps),
            ran=sum(done.ran for done in steps),
            kept=Candidates.joined([done.kept for done in kept]),
            trace=Trace.joined([done.trace for done in kept]),
            findings=tuple(one for done in steps for one in done.findings),
            flaky=tuple(one for done in steps for one in done.flaky),
            violations=summed([done.violations for done in steps]),
            unconfirmed=summed([done.unconfirmed for done in steps]),
            failing=Failures.joined([done.failing for done in steps], [done.planned for done in steps]),
            seconds=summed([done.seconds for done in steps]),
            by=steps[-1].by,
        )


@dataclass(frozen=True)
class StepRecord:
    """One turn of the loop, as its listeners see it; step 0 plants the seeds."""

    step: int
    planned: int  # inputs asked for; a mutator may make fewer
    kept: Candidates  # what entered the corpus
    findings: tuple[Finding, ...]  # bugs not seen before
    flaky: tuple[Finding, ...]  # bugs not seen before that did not show again when the input ran alone
    violations: Mapping[str, int]  # violating inputs of this step by kind
    unconfirmed: Mapping[str, int]  # inputs of this step by kind that violate no more when saved
    failing: Failures  # of those, the failing tests to keep
    so_far: Summary
    by: OwnStep | None = None  # which worker did it, where there are several


@dataclass(frozen=True)
class PastStep:
    """One turn of the loop in an earlier run."""

    step: int
    executions: int  # so far
    planned: int  # inputs asked for
    kept: int  # entries
    found: tuple[Mutation, ...] = ()  # those that showed bugs not seen before
    digest: str = ""  # of what it kept
    lost: bool = False  # what it kept can be read no more, so it must be done again
    failing: int = 0  # failing tests that were kept
    failing_digest: str = ""  # of those
    failing_lost: bool = False  # they can be read no more, so they must be made again
    by: OwnStep | None = None  # which worker did it, where there were several: then it cannot be done again


@dataclass(frozen=True)
class History:
    """Where an earlier run of the same campaign stopped."""

    steps: tuple[PastStep, ...]  # from the planting on
    seconds: float
    kept: Callable[[Sequence[PastStep]], Candidates]  # what these steps kept, read anew; none of them is lost
    bugs: frozenset[Bug]
    flaky: frozenset[Bug]  # the same of bugs that did not show again alone
    findings: Mapping[str, int]  # distinct bugs by kind
    violations: Mapping[str, int]  # violating inputs by kind
    unconfirmed: Mapping[str, int]  # inputs by kind that violate no more when saved
    failing_kept: int = 0  # failing tests

    @property
    def executions(self) -> int:
        return self.steps[-1].executions

    @property
    def own_steps(self) -> int:
        """How many steps any worker has done at most, or the campaign itself."""
        return max(self.steps[-1].step, *(past.by.step for past in self.steps if past.by is not None), 0)


def summed(counts: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """By name."""
    total = Counter[str]()
    for some in counts:
        total.update(some)
    return total
