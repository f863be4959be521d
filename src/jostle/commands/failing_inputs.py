"""What of a campaign's tests failed: all that its store keeps, or of folders without a store what its findings show."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from jostle.errors import OutputRefused
from jostle.records import NO_LABEL, NO_PARENT
from jostle.storage.failing_tests import FailingTests, read_failing
from jostle.storage.findings import FINDINGS, SavedFinding, read_finding, recorded, true_label


@dataclass(frozen=True)
class CampaignFailures:
    """Failing tests of a campaign."""

    tests: FailingTests
    findings_only: bool  # one for each bug, because the folder keeps no others

    def confirmed_mutants(self) -> FailingTests:
        """Those that fail as findings must, and are no seeds."""
        return self.tests.select((self.tests.confirmed & (self.tests.parents != NO_PARENT)).nonzero().squeeze(1))

    @property
    def source(self) -> str:
        return "findings" if self.findings_only else "failing tests"


def failures_in(folder: Path) -> CampaignFailures:
    """The failing tests of the campaign in this folder, which may be running."""
    kept = read_failing(folder)
    return CampaignFailures(kept, findings_only=False) if len(kept) else CampaignFailures(_findings(folder), True)


def of_kind(tests: FailingTests, kind: str) -> FailingTests:
    return tests.select(_rows([one == kind for one in tests.kinds]))


def _findings(folder: Path) -> FailingTests:
    findings = [read_finding(place, record) for place, record in recorded(folder / FINDINGS)]
    if not findings:
        return FailingTests.none()
    for one in findings:
        if one.input.shape != findings[0].input.shape:
            raise OutputRefused(f"{one.folder} holds an input of another shape than the others: move the folder away")
    records = [one.record for one in findings]
    classes = torch.tensor([_classes(one) for one in findings])
    return FailingTests(
        inputs=torch.stack([one.input for one in findings]),
        input_ids=torch.arange(len(findings)),
        roots=torch.tensor([record.root for record in records]),
        steps=torch.tensor([record.step for record in records]),
        kinds=tuple(record.kind for record in records),
        bugs=torch.tensor([record.bug for record in records]),
        labels=classes[:, 0],
        answers=classes[:, 1],
        confirmed=torch.ones(len(findings), dtype=torch.bool),
        parents=torch.tensor([record.parent for record in records]),
        mutations=tuple(record.mutation for record in records),
    )


def _classes(finding: SavedFinding) -> tuple[int, int]:
    """What the seed of a finding is and what the model said; NO_LABEL where that is not known, or no class."""
    if finding.record.kind == "flip" and "label" in finding.record.details:
        change = finding.record.label_change
        return change.label, change.taken_for
    known = true_label(finding.folder, finding.record)
    return (NO_LABEL if known is None else known), NO_LABEL


def _rows(chosen: list[bool]) -> Tensor:
    return torch.tensor(chosen, dtype=torch.bool).nonzero().squeeze(1)
