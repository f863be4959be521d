"""A campaign on a fragile model, whole or interrupted, for tests of the loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from jostle.campaign import Budget, Campaign
from jostle.coverage_counter import CoverageCounter
from jostle.feedback.nearest import FarFromSeen
from jostle.interfaces import Feedback, Mutator, Scheduler, Target
from jostle.mutators.noise import Noise
from jostle.oracles.crash import NoCrash
from jostle.oracles.numeric import Finite
from jostle.randomness import randomness
from jostle.records import Candidates, Lesson, Trace, all_rows
from jostle.schedulers.recent import NewestFew, Uniform
from jostle.step_records import History, StepRecord
from jostle.storage.archive import open_archive, open_campaign
from jostle.storage.campaign_record import CampaignRecord
from jostle.storage.history import read_history
from jostle.storage.journal import journal_line
from jostle.subjects.torch_target import TorchTarget
from jostle.targets.contained import Contained
from making import seeds_of

SEEDS = seeds_of(torch.rand(12, 4, generator=randomness(5, 5)) * 0.5, torch.zeros(12).long())


class Fragile(nn.Module):
    """Two scores; infinite where the first value exceeds 0.9, and raises where the second exceeds 0.97."""

    def forward(self, inputs: Tensor) -> Tensor:
        if (inputs[:, 1] > 0.97).any():
            raise RuntimeError("too large")
        return torch.stack([inputs.sum(1), torch.where(inputs[:, 0] > 0.9, torch.inf, inputs[:, 0] * 2)], 1)


@dataclass
class Run:
    """A campaign on a fragile model, and the record of each of its steps."""

    budget: Budget
    seed: int = 0
    batch: int = 16
    largest_step: int | None = None
    seeds: Any = SEEDS
    oracles: tuple[Any, ...] = (Finite, NoCrash)
    feedbacks: Callable[[], list[Feedback]] = lambda: [FarFromSeen([])]
    mutator: Callable[[], Mutator] = lambda: Noise(0.2, 0, 1)
    scheduler: Callable[[], Scheduler] = NewestFew
    records: list[StepRecord] = field(default_factory=list)
    listeners: tuple[Any, ...] = ()
    module: nn.Module = field(default_factory=Fragile)
    saved: Callable[[Tensor], Tensor] | None = None
    keep_failing: int | None = None
    plans_ahead: bool = False
    counter: Callable[[], CoverageCounter | None] = lambda: None
    classes: Callable[[Tensor], Tensor] = lambda outputs: outputs.argmax(1)
    corpus_memory: int | None = None
    scratch_folder: Path | None = None
    target: Callable[[nn.Module], Target] = lambda module: Contained(TorchTarget(module))
    interruptible_beginning: bool = False

    def __post_init__(self) -> None:
        self.campaign = Campaign(
            target=self.target(self.module),
            mutator=self.mutator(),
            feedbacks=self.feedbacks(),
            oracles=[oracle() for oracle in self.oracles],
            scheduler=self.scheduler(),
            seeds=self.seeds,
            budget=self.budget,
            seed=self.seed,
            batch=self.batch,
            largest_step=self.largest_step,
            plans_ahead=self.plans_ahead,
            saved=self.saved,
            classes=self.classes,
            keep_failing=self.keep_failing,
            counter=self.counter(),
            corpus_memory=self.corpus_memory,
            scratch_folder=self.scratch_folder,
            interruptible_beginning=self.interruptible_beginning,
        )

    def to_the_end(self, history: History | None = None, **choices: Any) -> Run:
        self.summary = self.campaign.run(history, listeners=[self.records.append, *self.listeners], **choices)
        return self

    def journal(self) -> list[dict[str, Any]]:
        return [journal_line(record) for record in self.records]


class RowByRow:
    """Runs a model on one input at a time, and asks before each whether to go on."""

    def __init__(self, module: nn.Module):
        self._target = Contained(TorchTarget(module))
        self._enough: Callable[[], bool] = lambda: False

    def ask_between_rows(self, enough: Callable[[], bool]) -> None:
        self._enough = enough

    def run(self, batch: Candidates, watched: bool = True) -> Trace:
        rows = all_rows(len(batch)).split(1)
        return Trace.joined([self._target.run(batch.select(row), watched) for row in rows if not self._enough()])


class Sturdy(nn.Module):
    def forward(self, inputs: Tensor) -> Tensor:
        return torch.stack([inputs.sum(1), inputs[:, 0] * 2], 1)


class Above:
    """New is a row whose output in one place exceeds a bound, by how much; remembers nothing."""

    def __init__(self, name: str, place: int, bound: float):
        self._name, self._place, self._bound = name, place, bound

    def assess(self, candidates: Candidates, trace: Trace) -> Tensor:
        return (trace.outputs["model"][:, self._place] - self._bound).clamp(min=0)

    def coverage(self) -> dict[str, dict[str, float]]:
        return {self._name: {"bound": self._bound}}


def two_bounds() -> list[Feedback]:
    return [Above("sum", 0, 2.0), Above("twice the first", 1, 1.2)]


class Lessons(Uniform):
    """A scheduler that writes down every lesson."""

    def __init__(self) -> None:
        self.lessons: list[Lesson] = []

    def learn(self, lesson: Lesson) -> None:
        self.lessons.append(lesson)


def interrupted(folder: Path, after: int, whole: Budget, **choices: Any) -> tuple[Run, History]:
    """A run of this many executions, and what its folder says about it."""
    with open_archive(folder, {}) as archive:
        run = Run(Budget(executions=after), listeners=(archive,), **choices).to_the_end()
        archive.conclude(replace(run.summary, seconds=1.5))
    history = read_history(folder, choices.get("seeds", SEEDS))
    assert history is not None
    return Run(whole, listeners=(open_campaign(folder, CampaignRecord({})),), **choices), history


class WorseInCompany(nn.Module):
    """NaN for bright inputs, but only in a batch of several."""

    def forward(self, inputs: Tensor) -> Tensor:
        bright = (inputs > 0.9).any(1, keepdim=True) & (len(inputs) > 1)
        return torch.where(bright, torch.nan, inputs)


class ShyAtFirst(nn.Module):
    """NaN for inputs with a bright value, but alone only for those with two."""

    def forward(self, inputs: Tensor) -> Tensor:
        bright = (inputs > 0.9).sum(1, keepdim=True) >= (1 if len(inputs) > 1 else 2)
        return torch.where(bright, torch.nan, inputs)


def in_tenths(inputs: Tensor) -> Tensor:
    """Of what Fragile fails on, only what is 1 is still so large."""
    return (inputs * 10 + 1e-4).floor() / 10
