"""A finding as triage sees it: what its folder says, how it came about, and where the model was led."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from torch import Tensor

from jostle.inputs.distances import LEVELS
from jostle.lineage import Mutation
from jostle.storage.ancestry import Ancestry
from jostle.storage.campaign_record import CampaignRecord
from jostle.storage.finding_record import FindingRecord, FinishedArray, FinishedGraph, InputType
from jostle.storage.findings import FINDINGS, HIDDEN, UNREADABLE, array_in, readable_findings

ON_GRID = 1e-3  # of a level: how far a value may be from one that a file holds


@dataclass(frozen=True)
class TriagedFinding:
    """A finding with what groups and ranks it."""

    folder: Path
    record: FindingRecord
    steps: tuple[Mutation, ...] = ()  # from the seed on, as far as known
    hidden: Tensor | None = None  # [neurons] in units of the seeds' scale
    as_file: bool | None = None  # an 8-bit image file gives it back as it is; None of what is no image

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def finished(self) -> FinishedArray | None:
        """What finishing added, None where it did not come to it."""
        return self.record.finished if isinstance(self.record.finished, FinishedArray) else None

    @property
    def rate(self) -> float:
        """The share of runs that show it, 1 where nobody tried."""
        if isinstance(self.record.finished, FinishedGraph):
            return 1.0 if self.record.finished.reproduced else 0.0
        confirmation = self.finished.confirmation if self.finished else None
        return confirmation.rate if confirmation else 1.0

    def array(self, name: str) -> Tensor | None:
        """One of the arrays in its folder; None where it has none that can be read."""
        try:
            return array_in(self.folder, name)
        except UNREADABLE:
            return None


@dataclass(frozen=True)
class Gathered:
    """The findings of a campaign, and how many of them could not be read."""

    findings: list[TriagedFinding]
    unreadable: int  # one may just be coming into being, or be damaged


def gather(folder: Path, campaign: CampaignRecord) -> Gathered:
    """All findings of a campaign, which may be running; nothing is written."""
    ancestry = Ancestry.of(folder)
    found, unreadable = readable_findings(folder / FINDINGS)
    return Gathered([_triaged(place, record, ancestry, campaign.value_range) for place, record in found], unreadable)


def _triaged(
    place: Path, record: FindingRecord, ancestry: Ancestry, bounds: tuple[float, float] | None
) -> TriagedFinding:
    if record.input_type is InputType.GRAPH:
        return TriagedFinding(place, record, ancestry.steps(record))
    left = record.finished.steps if isinstance(record.finished, FinishedArray) else None
    finding = TriagedFinding(place, record, ancestry.steps(record) if left is None else left)
    hidden = finding.array(HIDDEN)
    usable = hidden is not None and hidden.ndim == 1 and bool(np.isfinite(hidden.numpy()).all())
    return TriagedFinding(place, record, finding.steps, hidden if usable else None, _as_file(finding, bounds))


def _as_file(finding: TriagedFinding, bounds: tuple[float, float] | None) -> bool | None:
    """Whether all values of an image [channels, height, width] are among those that eight bits hold."""
    image = finding.array("input")
    if image is None or bounds is None or image.ndim != 3 or image.shape[0] not in (1, 3) or not image.numel():
        return None
    levels = (image.numpy().astype(np.float32) - bounds[0]) * (LEVELS / (bounds[1] - bounds[0]))  # faster than in torch
    inside = levels.min() >= -ON_GRID and levels.max() <= LEVELS + ON_GRID
    return bool(inside and np.abs(levels - np.rint(levels)).max() <= ON_GRID)
