"""Campaigns of DLFuzz's and DeepXplore's parts, for benchmarks: all that violates is collected, and saved as images."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn

from jostle.campaign import Budget
from jostle.commands.coverage_meter import CoverageMeter
from jostle.composition.compose import compose, prepare, watching
from jostle.composition.settle import FUZZ
from jostle.inputs.distances import relative_distances
from jostle.interfaces import ModelTarget, Oracle
from jostle.part import TRIED
from jostle.profile import Profile
from jostle.recipes.deepxplore import DEEPXPLORE
from jostle.recipes.dlfuzz import DLFUZZ
from jostle.records import NO_BUG, NO_PARENT, Candidates, Seeds, Trace, Verdicts
from jostle.session.finish import InputFinisher
from jostle.step_records import StepRecord, Summary
from jostle.storage.archive import open_archive
from jostle.storage.finding_record import FinishedArray
from jostle.storage.findings import FINDINGS, recorded
from jostle.storage.pictures import write_png
from jostle.subjects.instrument import instrument
from jostle.subjects.torch_module import of_module

UNLIMITED = 3600.0


@dataclass(frozen=True)
class Run:
    """What a campaign came to."""

    summary: Summary
    adversarial: Candidates  # every violating mutant
    coverage: float  # neurons active on any input run, seeds and violating ones too
    tests_coverage: float  # neurons active on seeds and violating inputs
    seeds_coverage: float
    seconds: float
    minimised: dict[int, float]  # the smallest relative distance of a minimised finding, by root

    @property
    def distances(self) -> Tensor:
        return relative_distances(self.adversarial.inputs, self.adversarial.references)


class Collecting:
    """An oracle that remembers what violates it in the batch of each step; what is then confirmed was seen there."""

    def __init__(self, oracle: Oracle):
        self._oracle, self.looks_inside = oracle, oracle.looks_inside
        self.compares_with_truth = oracle.compares_with_truth
        self.violating: list[Candidates] = []
        self._step_begins = True

    def judge(self, candidates: Candidates, trace: Trace) -> Verdicts:
        verdicts = self._oracle.judge(candidates, trace)
        guilty = (verdicts.bugs != NO_BUG) & (candidates.parents != NO_PARENT)
        if self._step_begins:
            self.violating.append(candidates.select(guilty.nonzero().squeeze(1)))
        self._step_begins = False
        return verdicts

    def step_over(self, record: StepRecord) -> None:
        self._step_begins = True


class Counting:
    """A target that lets a meter count the neurons of every input it runs."""

    def __init__(self, target: ModelTarget, meter: CoverageMeter):
        self._target, self.meter = target, meter

    def predict(self, inputs: Tensor) -> Tensor:
        return self._target.predict(inputs)

    def run(self, batch: Candidates, watched: bool = True) -> Trace:
        self.meter.add(batch.inputs)
        return self._target.run(batch, watched)


def fuzz(
    model: nn.Module,
    images: Tensor,
    labels: Tensor,
    layers: Sequence[str],
    budget: Budget | None = None,
    others: Sequence[nn.Module] = (),
    counted: Sequence[str] = (),
    measured: bool = True,
    archived: bool = True,
    **given: Any,
) -> Run:
    """As `jostle fuzz --recipe dlfuzz`, or with other models `--recipe deepxplore`, all written to disk."""
    recipe = DEEPXPLORE if others else DLFUZZ
    names = [f"other.model:number_{i}" for i in range(len(others))]
    limit = budget or Budget(seconds=UNLIMITED)
    limits = {"budget": limit.seconds, "executions": limit.executions, "findings": limit.findings}
    chosen = FUZZ.parsed({"models": names or None, "layers": list(layers), "force": True, **limits, **given})
    seeds = Seeds(images, labels, tuple(map(str, range(len(images)))))
    subjects = [of_module(one) for one in (model, *others)]
    watched = instrument(watching(recipe, chosen), subjects[0], images[:TRIED], others=subjects[1:]).contained()
    meter, tests = (CoverageMeter(model, ("nc",), layers=list(counted or layers), active=0.25) for _ in range(2))
    meter.add(images)
    seeds_coverage = meter.coverage()["nc"]["covered"]
    prepared = prepare(recipe, chosen, watched, seeds)
    composition = compose(prepared, no_profile)
    hunted = "differ" if recipe.compares_models else "flip"
    collecting = Collecting(composition.oracles[hunted])
    counting = replace(watched, target=Counting(watched.target, meter)) if measured else watched
    campaign = replace(
        composition,
        prepared=replace(prepared, model=counting),
        oracles={**composition.oracles, hunted: collecting},
    ).campaign()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "campaign"
        with open_archive(place, {"benchmark": 0}, pictures=False) as archive:
            started = time.perf_counter()
            summary = campaign.run(listeners=[collecting.step_over, *([archive] if archived else [])])
            archive.wait()  # what is still to be written costs too
            seconds = time.perf_counter() - started
            archive.conclude(summary)
            InputFinisher(prepared, composition.oracles, place).finish()
        smallest = _smallest(place / FINDINGS)
    rows = Candidates.joined([seeds.as_candidates().select(torch.arange(0)), *collecting.violating])
    tests.add(torch.cat([images, rows.inputs]))
    covered = [one.coverage()["nc"]["covered"] for one in (meter, tests)]
    return Run(summary, rows, *covered, seeds_coverage, seconds, smallest)


def _smallest(findings: Path) -> dict[int, float]:
    smallest: dict[int, float] = {}
    for _, record in recorded(findings):
        finished = record.finished
        if isinstance(finished, FinishedArray) and finished.minimised and finished.change.euclidean > 0:
            distance = finished.minimised.relative
            smallest[record.root] = min(distance, smallest.get(record.root, distance))
    return smallest


def no_profile() -> Profile:
    raise AssertionError("neuron coverage needs no profile")


def survivors(model: nn.Module, run: Run) -> int:
    """How many of the adversarial inputs are still taken for another class when read back from image files."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{number}.png" for number in range(len(run.adversarial))]
        for file, image in zip(files, run.adversarial.inputs, strict=True):
            write_png(file, image, 0, 1)
        again = torch.stack([torch.from_numpy(np.array(Image.open(file)))[None].float() / 255 for file in files])
    with torch.no_grad():
        return int((model(again).argmax(1) != run.adversarial.labels).sum())
