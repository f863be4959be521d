"""When the budget is spent: findings are minimised, and what the model says of each is noted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from jostle.config import Settings
from jostle.distances import as_image_file, sizes, within
from jostle.errors import OutputRefused
from jostle.foreign import attempt
from jostle.geometry import unmoved
from jostle.interfaces import Differentiable, Oracle, Target
from jostle.records import MODEL, NO_PARENT, Candidates, Crash, Seeds
from jostle.storage.findings import SavedFinding, add_to_finding, read_findings, write_png
from jostle.triage.minimise import Boundary, Shrinking, minimised

# Shows how far work has come: (parts, how many in all) -> the same parts
Progress = Callable[[Iterable[list[SavedFinding]], int], Iterable[list[SavedFinding]]]


def silently(parts: Iterable[list[SavedFinding]], count: int) -> Iterable[list[SavedFinding]]:
    return parts


@dataclass(frozen=True)
class Finisher:
    """Finishes the findings of one campaign; those that were finished before are left alone."""

    settings: Settings
    target: Target
    gradients: Differentiable
    seeds: Seeds
    classes: int
    oracles: Mapping[str, Oracle]  # by the kind of what they find

    def finish(self, folder: Path, progress: Progress = silently) -> None:
        """Works through all findings in the campaign's folder that are not finished yet, a batch at a time."""
        open_ones = [finding for finding in read_findings(folder / "findings") if "change" not in finding.told]
        kinds = sorted({finding.told["kind"] for finding in open_ones})
        batches = [
            some
            for kind in kinds
            for some in _parts([one for one in open_ones if one.told["kind"] == kind], self.settings.batch)
        ]
        for some in progress(batches, len(open_ones)):
            self._finish(some)

    def _finish(self, findings: list[SavedFinding]) -> None:
        rows = self._candidates(findings)
        references = torch.stack([finding.reference for finding in findings])
        told: list[dict[str, Any]] = [{"change": change} for change in _sized(rows.inputs, references)]
        pictured = {"reference": references, "input": rows.inputs}
        if self.settings.minimise and findings[0].told["kind"] in self.oracles:
            small = self._minimised(rows, references, findings)
            pictured["minimised"] = small
            for record, change in zip(told, _sized(small, references), strict=True):
                record["minimised"] = change
        if self.classes:
            for name, inputs in pictured.items():
                for record, answer in zip(told, self._answers(inputs), strict=True):
                    record.setdefault("answers", {})[name] = answer
        for number, (finding, record) in enumerate(zip(findings, told, strict=True)):
            arrays = {"minimised": pictured["minimised"][number]} if "minimised" in pictured else {}
            if self.settings.as_images:
                for name, array in {"input": rows.inputs[number], **arrays}.items():
                    write_png(finding.folder / f"{name}.png", array, *self.settings.range)
            add_to_finding(finding, arrays, record)

    def _candidates(self, findings: list[SavedFinding]) -> Candidates:
        roots = torch.tensor([finding.told["root"] for finding in findings])
        if int(roots.max()) >= len(self.seeds):
            raise OutputRefused("a finding names a seed that does not exist: its finding.json is damaged")
        return Candidates(
            torch.stack([finding.input for finding in findings]),
            self.seeds,
            torch.full((len(findings),), NO_PARENT),
            roots,
            tuple(finding.told["mutation"] for finding in findings),
            unmoved(len(findings)),
        )

    def _minimised(self, rows: Candidates, references: Tensor, findings: list[SavedFinding]) -> Tensor:
        kind = findings[0].told["kind"]
        oracle = self.oracles[kind]
        bugs = torch.tensor([finding.told["bug"] for finding in findings])
        low, high = self.settings.range

        def shows(some: Tensor, inputs: Tensor) -> Tensor:
            tried = replace(rows.select(some), inputs=inputs)
            return oracle.judge(tried, self.target.run(tried, oracle.looks_inside)).bugs == bugs[some]

        def storable(inputs: Tensor) -> Tensor:
            fit = as_image_file if self.settings.as_images else within
            return fit(inputs, low, high)

        how = Shrinking(references, shows, storable)
        if kind == "flip":
            taken_for = torch.tensor([finding.told["details"]["taken for"] for finding in findings])
            boundary = partial(self._boundary, taken_for)
            if not isinstance(attempt(lambda: boundary(rows.inputs)), Crash):
                how = replace(how, boundary=boundary)
        return minimised(rows.inputs, how)

    def _boundary(self, taken_for: Tensor, inputs: Tensor) -> Boundary:
        """Between the class that each finding is taken for and the likeliest other one."""
        passed = self.gradients.linearise(inputs)
        scores = passed.scores[MODEL]
        others = scores.scatter(1, taken_for[:, None], -torch.inf).argmax(1, keepdim=True)
        weights = torch.zeros_like(scores).scatter_(1, others, -1.0).scatter_(1, taken_for[:, None], 1.0)
        return Boundary((weights * scores).sum(1), passed.pull({MODEL: weights}, {}))

    def _answers(self, inputs: Tensor) -> list[Any]:
        """What the model says of each, and how sure it is; nothing where it fails or its scores are not finite."""
        outputs = attempt(lambda: self.target.predict(inputs))
        if isinstance(outputs, Crash):
            return [None] * len(inputs)
        surest = _probabilities(outputs).max(1)
        return [
            {"label": label, "confidence": confidence} if math.isfinite(confidence) else None
            for label, confidence in zip(surest.indices.tolist(), surest.values.tolist(), strict=True)
        ]


def _sized(inputs: Tensor, references: Tensor) -> list[dict[str, float]]:
    measures = {name: values.tolist() for name, values in sizes(inputs, references).items()}
    return [{name: values[row] for name, values in measures.items()} for row in range(len(inputs))]


def _probabilities(outputs: Tensor) -> Tensor:
    """Scores as probabilities, unless they are already."""
    scores = outputs.float()
    already = bool((scores >= 0).all()) and torch.allclose(scores.sum(1), torch.ones(len(scores)), atol=1e-3)
    return scores if already else scores.softmax(1)


def _parts(findings: list[SavedFinding], size: int) -> list[list[SavedFinding]]:
    return [findings[start : start + size] for start in range(0, len(findings), size)]
