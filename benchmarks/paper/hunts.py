"""One campaign on a subject of the papers: what it covers on the way, and the tests that it leaves."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from jostle.composition.compose import Composition, compose, prepare, watching
from jostle.composition.settle import FUZZ, settled
from jostle.feedback.neuron_parts import NEURON_CRITERIA
from jostle.interfaces import Feedback
from jostle.options.resources import FIRST_BATCH
from jostle.part import TRIED, PartContext
from jostle.profile import Profile
from jostle.recipes.deephunter import DEEPHUNTER
from jostle.records import Candidates, Seeds, Trace
from jostle.step_records import StepRecord, Summary
from jostle.storage.archive import open_archive
from jostle.storage.failing_tests import read_failing
from jostle.subjects.instrument import instrument, layers_on
from jostle.subjects.layers import before_softmax
from jostle.subjects.torch_module import of_module
from jostle.task import Task
from paper.other_instances import distinct
from paper.strategies import Strategy

Coverage = Mapping[str, Mapping[str, float]]  # figures by criterion
POINTS = 25  # of a curve
FLIP = "flip"  # what a test that fails by its label violates


@dataclass(frozen=True)
class Prey:
    """A model that ends in class scores, the layers whose neurons count, and how far these range on training data."""

    model: nn.Module
    layers: Sequence[str]  # patterns of their names
    profile: Profile
    twins: Mapping[str, nn.Module] = field(default_factory=dict)  # by name, hunted for other answers than the model's

    @property
    def counted(self) -> list[str]:
        """The layers as they run: one that runs twice is there twice."""
        return [name for name, _ in self.profile.layers]


@dataclass(frozen=True)
class Hunt:
    """What a campaign covered, and the tests that it leaves."""

    summary: Summary
    curve: tuple[tuple[int, Coverage], ...]  # executions and figures, from the seeds alone to the end
    kept: Candidates  # tests that the model passes, without the seeds
    failing: Tensor  # [tests, ...] every input whose label differs from its seed's, each once


class OfLayers:
    """A criterion that sees some layers only, and may be there to measure: then nothing is kept for its sake."""

    def __init__(self, feedback: Feedback, layers: Sequence[str], guides: bool):
        self._feedback, self._layers, self._guides = feedback, set(layers), guides

    def assess(self, candidates: Candidates, trace: Trace) -> Tensor:
        gain = self._feedback.assess(candidates, self._seen(trace))
        return gain if self._guides else torch.zeros_like(gain)

    def coverage(self) -> Coverage:
        return self._feedback.coverage()

    def _seen(self, trace: Trace) -> Trace:
        return replace(
            trace,
            activations={name: value for name, value in trace.activations.items() if name in self._layers},
            extremes={name: value for name, value in trace.extremes.items() if name in self._layers},
        )


def hunt(
    prey: Prey,
    seeds: Seeds,
    strategy: Strategy,
    executions: int,
    seed: int,
    measured: Sequence[str] = (),
    batch: int = FIRST_BATCH,
) -> Hunt:
    """Runs a strategy, everything written to disk, and measures other criteria beside those that guide it."""
    chosen = {"executions": executions, "seed": seed, "batch": batch, **strategy.options}
    campaign = _composed(prey, seeds, strategy, chosen, measured).campaign()
    notes = Notes(executions)
    with tempfile.TemporaryDirectory() as folder:
        with open_archive(Path(folder), {"seed": seed}, pictures=False) as archive:
            summary = campaign.run(listeners=[archive, notes])
        tests = read_failing(Path(folder))
    kept = campaign.corpus.select(torch.arange(len(seeds), len(campaign.corpus)))
    flips = torch.tensor([kind == FLIP for kind in tests.kinds], dtype=torch.bool)
    return Hunt(summary, notes.curve(summary), kept, distinct(tests.inputs[flips]))


def _composed(
    prey: Prey, seeds: Seeds, strategy: Strategy, chosen: Mapping[str, Any], measured: Sequence[str]
) -> Composition:
    subject, sample = of_module(prey.model), seeds.inputs[:TRIED]
    novelty = before_softmax(layers_on(subject, sample)) if strategy.seeks_novelty else []
    layers = [*prey.layers, *(name for name in novelty if name not in prey.counted)]
    twins = {"twin": list(prey.twins)} if prey.twins else {}
    given = FUZZ.parsed({"layers": layers, "force": True, "keep_failing": "all", **twins, **chosen})
    looks = watching(strategy.recipe, given)
    looks = replace(looks, extremes=looks.extremes or "nc" in measured)
    others = {name: of_module(twin) for name, twin in prey.twins.items()}
    target = replace(instrument(looks, subject, sample, others).contained(), novelty_layers=novelty)
    composed = compose(prepare(strategy.recipe, given, target, seeds), lambda: prey.profile)
    guides = [OfLayers(one, novelty or prey.counted, guides=True) for one in composed.feedbacks]
    meters = [OfLayers(one, prey.counted, guides=False) for one in _criteria(measured, seeds, prey.profile)]
    return replace(composed, feedbacks=[*guides, *meters])


def _criteria(names: Sequence[str], seeds: Seeds, profile: Profile) -> list[Feedback]:
    settings = settled(DEEPHUNTER, FUZZ.parsed({"coverage": list(names)}), Task.CLASSES)
    context = PartContext(seeds, profile=profile)
    return [NEURON_CRITERIA[name].make(settings, context) for name in names]


class Notes:
    """Coverage at moments spread evenly over a campaign, the seeds alone first."""

    def __init__(self, executions: int):
        self._every, self._points = executions / POINTS, dict[int, Coverage]()

    def __call__(self, record: StepRecord) -> None:
        last = max(self._points, default=-self._every)
        if record.so_far.executions >= last + self._every:
            self._points[record.so_far.executions] = record.so_far.coverage

    def curve(self, summary: Summary) -> tuple[tuple[int, Coverage], ...]:
        return (*self._points.items(), (summary.executions, summary.coverage))
