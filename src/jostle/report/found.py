"""The findings of a campaign as a page needs them, read so that a damaged or unfinished one spoils nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from jostle.records import MODEL
from jostle.report.yields import classes_of
from jostle.storage.finding_record import Answer, FindingRecord, FinishedArray
from jostle.storage.findings import (
    FINDINGS,
    MINIMISED,
    MINIMISED_REFERENCE,
    UNREADABLE,
    array_in,
    readable_findings,
)
from jostle.untrusted.files import named_file, read_bounded

ARRAYS = ("seed", "reference", "input", MINIMISED, MINIMISED_REFERENCE)
LARGEST_TEXT = 200_000  # bytes of a script or an issue on the page


@dataclass(frozen=True)
class Found:
    """A finding's folder and record."""

    folder: Path
    record: FindingRecord

    def arrays(self) -> dict[str, Tensor]:
        """What can be read of its arrays, all of one shape; none without both an input and a reference that fits it."""
        known = {name: _array(self.folder, name) for name in ARRAYS}
        input = known["input"]
        if input is None:
            return {}
        arrays = {name: array for name, array in known.items() if array is not None and array.shape == input.shape}
        return arrays if "reference" in arrays else {}

    def input(self) -> Tensor | None:
        return _array(self.folder, "input")

    @property
    def mutation(self) -> str:
        """The classes of what made it, in words."""
        return " + ".join(classes_of(self.record.mutation))

    @property
    def answers(self) -> Mapping[str, Mapping[str, Answer]]:
        finished = self.record.finished
        return finished.answers if isinstance(finished, FinishedArray) else {}

    @property
    def confidence(self) -> float | None:
        """How sure the model is of what it says of the input."""
        answer = self.answers.get("input", {}).get(MODEL)
        return None if answer is None else answer.confidence

    @property
    def right(self) -> int | None:
        """The label that is right, else what the model says of the seed."""
        label = self.record.details.get("label")
        if isinstance(label, int):
            return label
        seed = self.answers.get("seed", {}).get(MODEL)
        return None if seed is None else seed.label


def all_found(folder: Path) -> tuple[list[Found], int]:
    """The findings of a campaign, and how many cannot be read."""
    found, unreadable = readable_findings(folder / FINDINGS)
    return [Found(place, record) for place, record in found], unreadable


def _array(folder: Path, name: str) -> Tensor | None:
    try:
        return array_in(folder, name)
    except UNREADABLE:
        return None


def content_in(campaign: Path, name: str, limit: int = LARGEST_TEXT) -> bytes:
    """A file below a campaign's folder, empty where there is none; links are none, which could lead to secrets."""
    try:
        return read_bounded(named_file(campaign, name), limit)
    except (OSError, ValueError):
        return b""
