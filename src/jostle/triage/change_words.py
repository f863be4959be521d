"""What was changed from a seed to an input, in words."""

from __future__ import annotations

import math
import re
from pathlib import Path

from torch import Tensor

from jostle.inputs.distances import LEVELS
from jostle.storage.findings import MINIMISED_REFERENCE
from jostle.storage.step_words import operation_class, phrase
from jostle.triage.triaged_finding import TriagedFinding
from jostle.untrusted.files import named_file, opened_bounded

MOST_BYTES = 20_000  # of a description of the change
ROUNDING = 1e-6  # of the largest value: less is no change
HALF_LEVEL = 0.51 / LEVELS
MOVES = ("rotation", "translation", "scaling", "shearing")
NAMED = 3  # columns of a table that are named
LONGEST = 160  # characters of a text that is shown
CHANGE = "change.txt"  # what domains of tables, tokens and texts write for a person


def changes_of(finding: TriagedFinding) -> list[str]:
    """What was done to the seed, a phrase each; nothing where only the values tell."""
    shrunk = finding.finished is not None and finding.finished.minimised is not None
    whole_way = not shrunk or (finding.finished is not None and finding.finished.steps is not None)
    by_class: dict[str, list[str]] = {}
    for step in finding.steps:
        for operation in step.operations:
            kind = operation_class(operation)
            if whole_way or kind in MOVES:  # what was shrunk since is no longer as the others say
                by_class.setdefault(kind, []).append(operation)
    return [phrase(kind, operations) for kind, operations in by_class.items()]


def values_changed(finding: TriagedFinding) -> str:
    """How many values changed and by how much, or which columns or words; "" where none did."""
    written = _written(finding.folder)
    if written:
        return written
    reference, moved_otherwise = finding.array("reference"), finding.array(MINIMISED_REFERENCE)
    shown = finding.array("minimised")
    if shown is None:
        shown = finding.array("input")
    elif moved_otherwise is not None:
        reference = moved_otherwise
    if shown is None or reference is None or shown.shape != reference.shape:
        return ""
    return _measured(shown, reference, finding.array("seed") is not None)


def _measured(shown: Tensor, reference: Tensor, moved: bool) -> str:
    """An image that was moved and then written as a file is rounded, which is no change of its own."""
    difference = (shown.double() - reference.double()).abs().nan_to_num(math.inf, math.inf, math.inf)
    known = reference.double().nan_to_num(0, 0, 0)
    least = (HALF_LEVEL if moved else ROUNDING) * max(1.0, float(known.abs().max())) if known.numel() else 0.0
    changed, word = difference > least, "values"
    if shown.ndim == 3 and shown.shape[0] in (1, 3):
        changed, word = changed.any(0), "pixels"
    count = int(changed.sum())
    if not count:
        return ""
    largest = float(difference.max())
    size = f" by at most {largest:.2g}" if math.isfinite(largest) else ""
    return f"{count:,} of {changed.numel():,} {word}{size}"


def _written(folder: Path) -> str:
    """What the domain of the inputs wrote of the change for a person."""
    for name in (f"minimised-{CHANGE}", CHANGE):
        try:
            with opened_bounded(named_file(folder, name)) as file:
                lines = file.read(MOST_BYTES).decode("utf-8", "ignore").splitlines()
        except (OSError, ValueError):  # a link too: what it leads to may be secret
            continue
        return _columns(lines[1:]) if lines and lines[0].startswith("column") else _cut(" ".join(lines))
    return ""


def _columns(lines: list[str]) -> str:
    """Rows of a table's change: column, seed, input."""
    rows = [re.split(r"\s{2,}", line.strip(), maxsplit=2) for line in lines]
    told = [f"{row[0]} from {row[1]} to {row[2]}" for row in rows[:NAMED] if len(row) == 3]
    more = [f"{len(rows) - len(told):,} more columns"] if len(rows) > len(told) else []
    return _cut(", ".join([*told, *more]))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
