"""When the budget is spent: findings are minimised, and what the model says of each is noted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import torch
from torch import Tensor

from jostle.catalogue import PartOptions
from jostle.composition.compose import Prepared
from jostle.domain import Domain
from jostle.errors import OutputRefused
from jostle.foreign import Crash, attempt
from jostle.inputs.distances import as_image_file, columns, sizes
from jostle.inputs.geometry import Border
from jostle.inputs.tokens import Tokens, edit_sizes
from jostle.interfaces import Differentiable, ModelTarget, Oracle
from jostle.lineage import joined
from jostle.mutators.gradient_part import GradientOptions
from jostle.mutators.metamorphic import MetamorphicOptions
from jostle.options.campaign import FindingOptions, InputOptions
from jostle.options.schema import Settings
from jostle.part import kind_beside
from jostle.progress import Progress, quietly
from jostle.records import MODEL, NO_PARENT, Candidates, Seeds
from jostle.scores import probabilities
from jostle.session.divergence import LocatedDivergence
from jostle.storage.finding_record import Answer, ChangeSizes, Divergence, FinishedArray
from jostle.storage.findings import (
    FINDINGS,
    Recorded,
    SavedFinding,
    finish_finding,
    lineage_of,
    read_finding,
    recorded,
    write_files,
)
from jostle.storage.pictures import write_png
from jostle.targets.contained import ContainedGradients, ContainedLayers
from jostle.triage.minimise import Boundary, Shrinking, minimised
from jostle.triage.undo import undone

AT_ONCE = 64  # findings, because the graph behind a gradient takes memory


@dataclass(frozen=True)
class InputFinisher:
    """Finishes the findings of one campaign; those that were finished before are left alone."""

    prepared: Prepared
    oracles: Mapping[str, Oracle]  # by the kind of what they find
    folder: Path  # of the campaign

    @property
    def seeds(self) -> Seeds:
        return self.prepared.seeds

    @property
    def domain(self) -> Domain:
        return self.prepared.context().domain

    @property
    def target(self) -> ModelTarget:
        return self.prepared.model.target

    @property
    def settings(self) -> Settings:
        return self.prepared.settings

    def finish(self, progress: Progress = quietly) -> None:
        """Works through all findings in the campaign's folder that are not finished yet, some at a time."""
        open_ones = [(place, record) for place, record in recorded(self.folder / FINDINGS) if record.finished is None]
        alike: dict[tuple[str, bool], list[Recorded]] = {}
        for place, record in open_ones:
            alike.setdefault((record.kind, record.of_gradient), []).append((place, record))
        batches = [
            group[start : start + AT_ONCE] for group in alike.values() for start in range(0, len(group), AT_ONCE)
        ]
        for some in progress(batches, len(open_ones)):
            self._finish([read_finding(place, record) for place, record in some])

    def _finish(self, findings: list[SavedFinding]) -> None:
        """Measures, shrinks and asks about findings of one kind, then writes what came of it."""
        rows = self._candidates(findings)
        references = torch.stack([finding.reference for finding in findings])
        arrays = {"reference": references, "input": rows.inputs}
        changes = _sized(rows.inputs, references, self.seeds.domain)
        shrunk: Sequence[ChangeSizes | None] = [None] * len(findings)
        if self._shrinks(findings[0]):
            arrays["minimised"] = self._minimised(rows, references, findings)
            shrunk = _sized(arrays["minimised"], references, self.seeds.domain)
        asked = {"seed": rows.originals, **arrays}
        crashed = findings[0].record.kind == "crash"
        if crashed:
            del asked["input"]  # there is no answer, and waiting for one may take long
        answers = {name: self._answers(replace(rows, inputs=inputs)) for name, inputs in asked.items()}
        divergences = self._divergences(rows.inputs, findings[0])
        for row, finding in enumerate(findings):
            said = {name: each[row] for name, each in answers.items()} if self.prepared.flight.classes else {}
            said |= {"input": {}} if crashed else {}
            finished = FinishedArray(changes[row], shrunk[row], said, divergences[row])
            self._write(finding, {name: array[row] for name, array in arrays.items() if name != "reference"}, finished)

    def _divergences(self, inputs: Tensor, like: SavedFinding) -> Sequence[Divergence | None]:
        """Where twins part on inputs [batch, ...] of findings like this one; nothing where it is not of twins."""
        variant = next(
            (one for one in self.prepared.model.twins if kind_beside("agree", one) == like.record.kind), None
        )
        if variant is None or self._twin_layers is None or like.record.of_gradient:
            return [None] * len(inputs)
        return self._twin_layers.on(inputs, variant)

    @cached_property
    def _twin_layers(self) -> LocatedDivergence | None:
        model = self.prepared.model
        if model.twin_layers is None:
            return None
        return LocatedDivergence(ContainedLayers(model.twin_layers), self.seeds.inputs, model.twins)

    def _write(self, finding: SavedFinding, arrays: Mapping[str, Tensor], finished: FinishedArray) -> None:
        if self.settings[FindingOptions].as_images:
            for name, array in arrays.items():
                write_png(finding.folder / f"{name}.png", array, *self.settings[InputOptions].bounds)
        for name, array in arrays.items():
            files, prefix = self.domain.files(array, finding.reference), "" if name == "input" else f"{name}-"
            write_files(finding.folder, {f"{prefix}{file}": content for file, content in files.items()}, synced=True)
        finish_finding(finding, finished, {name: array for name, array in arrays.items() if name != "input"})

    @property
    def _shrinkable(self) -> set[str]:
        """Kinds of findings that can be shown again by an input alone: a crash would end the worker each time."""
        return self.oracles.keys() - {"crash"}

    def _shrinks(self, finding: SavedFinding) -> bool:
        """A finding of one of our oracles can be shrunk; not one of a gradient, which no forward pass shows."""
        record = finding.record
        minimise = self.settings[FindingOptions].minimise
        return minimise and record.kind in self._shrinkable and not record.of_gradient

    def _candidates(self, findings: list[SavedFinding]) -> Candidates:
        roots = torch.tensor([finding.record.root for finding in findings])
        for finding in findings:
            shapes = {finding.input.shape, finding.reference.shape}
            if not 0 <= finding.record.root < len(self.seeds) or shapes != {self.seeds.inputs.shape[1:]}:
                raise OutputRefused(f"{finding.folder} is not of these seeds: move the folder away")
        border = Border(self.settings[MetamorphicOptions].border)
        return Candidates(
            torch.stack([finding.input for finding in findings]),
            self.seeds,
            torch.full((len(findings),), NO_PARENT),
            roots,
            tuple(finding.record.mutation for finding in findings),
            joined([lineage_of(finding, border, self.domain) for finding in findings]),
        )

    def _minimised(self, rows: Candidates, references: Tensor, findings: list[SavedFinding]) -> Tensor:
        kind = findings[0].record.kind
        oracle = self.oracles[kind]
        bugs = torch.tensor([finding.record.bug for finding in findings])
        low, high = self.settings[InputOptions].bounds

        def shows(some: Tensor, inputs: Tensor) -> Tensor:
            tried = replace(rows.select(some), inputs=inputs)
            return oracle.judge(tried, self.target.run(tried, oracle.looks_inside)).bugs == bugs[some]

        def storable(inputs: Tensor) -> Tensor:
            if self.settings[FindingOptions].as_images:
                return as_image_file(inputs, low, high)
            return self.domain.nearest(inputs.to(references.dtype), references)

        if isinstance(self.seeds.domain, Tokens):
            return undone(rows.inputs, references, self.seeds.domain, shows)
        realistic = (
            "gradient" in self.settings[PartOptions].mutator
            and self.settings[GradientOptions].perturbation != "gradient"
        )
        how = Shrinking(references, shows, storable, same_kind=realistic)
        if kind == "flip" and not realistic and self.prepared.flight.classes:
            gradients = attempt(lambda: ContainedGradients(self.prepared.model.gradients, rows.inputs[:1]))
            taken_for = torch.tensor([finding.record.label_change.taken_for for finding in findings])
            if not isinstance(gradients, Crash):
                how = replace(how, boundary=partial(_boundary, gradients, taken_for))
        small = minimised(rows.inputs, how)
        alone = [bool(shows(row, small[row])[0]) for row in torch.arange(len(small)).split(1)]
        return torch.where(columns(torch.tensor(alone), small), small, rows.inputs)

    def _answers(self, rows: Candidates) -> list[dict[str, Answer]]:
        """What each model says of each input, and how sure it is; nothing where it fails or scores are not finite."""
        trace = self.target.run(rows, watched=False)
        said: list[dict[str, Answer]] = [{} for _ in range(len(rows))]
        for name, outputs in trace.outputs.items():
            if self.prepared.flight.classes:
                sure, labels = probabilities(outputs.float()).max(1)
                for row, (label, confidence) in enumerate(zip(labels.tolist(), sure.tolist(), strict=True)):
                    if math.isfinite(confidence):
                        said[row][name] = Answer(label, confidence)
        return said


def _boundary(gradients: Differentiable, taken_for: Tensor, inputs: Tensor) -> Boundary:
    """Between the class that each finding is taken for and the likeliest other one."""
    passed = gradients.linearise(inputs)
    scores = passed.scores[MODEL]
    others = scores.scatter(1, taken_for[:, None], -torch.inf).argmax(1, keepdim=True)
    weights = torch.zeros_like(scores).scatter_(1, others, -1.0).scatter_(1, taken_for[:, None], 1.0)
    return Boundary((weights * scores).sum(1), passed.pull({MODEL: weights}, {}))


def _sized(inputs: Tensor, references: Tensor, domain: Domain | None) -> list[ChangeSizes]:
    measures = edit_sizes(inputs, references, domain) if isinstance(domain, Tokens) else sizes(inputs, references)
    rows = zip(*(measures[name].tolist() for name in ("L0", "L2", "relative L2", "L∞")), strict=True)
    return [ChangeSizes(*row) for row in rows]
