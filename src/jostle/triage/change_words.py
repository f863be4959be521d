"""What was changed from a seed to an input, in words."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from torch import Tensor

from jostle.lineage import Mutation
from jostle.triage.causes import operation_class
from jostle.triage.steps import size_of
from jostle.triage.triaged_finding import TriagedFinding

LITTLE = 0.05  # of the range: a change of all values that one hardly sees
ROUNDING = 1e-6  # of the largest value: less is no change
MOVES = ("rotation", "translation", "scaling", "shearing")
NAMED = 3  # columns of a table that are named
LONGEST = 160  # characters of a text that is shown
CHANGE = "change.txt"  # what domains of tables, tokens and texts write for a person


def _rotated(sizes: list[float]) -> str:
    degrees = sum(sizes)
    way = "counter-clockwise" if degrees >= 0 else "clockwise"
    return f"rotated by {abs(degrees):.2g}° {way}"


def _shifted(sizes: list[float]) -> str:
    return f"moved by {math.hypot(*sizes):.2g} of its side"


def _scaled(sizes: list[float]) -> str:
    factor = math.prod(sizes)
    return f"enlarged by {factor - 1:.1%}" if factor >= 1 else f"shrunk by {1 - factor:.1%}"


def _sheared(sizes: list[float]) -> str:
    return f"sheared by {sum(sizes):.2g}"


def _brightened(sizes: list[float]) -> str:
    amount = sum(sizes)
    word = "brighter" if amount >= 0 else "darker"
    return f"a little {word}" if abs(amount) < LITTLE else f"{word} by {abs(amount):.0%} of the range"


def _contrasted(sizes: list[float]) -> str:
    factor = math.prod(sizes)
    word = "more" if factor >= 1 else "less"
    amount = abs(factor - 1)
    return f"a little {word} contrast" if amount < LITTLE else f"{word} contrast by {amount:.0%}"


def _louder(sizes: list[float]) -> str:
    amount = sum(sizes)
    return f"{'louder' if amount >= 0 else 'quieter'} by {abs(amount):.2g} dB"


def _faster(sizes: list[float]) -> str:
    factor = math.prod(sizes)
    return f"faster by {factor - 1:.1%}" if factor >= 1 else f"slower by {1 - factor:.1%}"


# By class of operation, what its sizes along the way come to.
TOLD: Mapping[str, Callable[[list[float]], str]] = {
    "rotation": _rotated,
    "translation": _shifted,
    "scaling": _scaled,
    "shearing": _sheared,
    "brightness": _brightened,
    "contrast": _contrasted,
    "blur": lambda sizes: "blurred" if len(sizes) == 1 else f"blurred {len(sizes)} times",
    "gain": _louder,
    "shift": lambda sizes: f"shifted by {abs(sum(sizes)):.2g} of its length",
    "speed": _faster,
    "low-pass": lambda sizes: f"without what is above {min(sizes):,.0f} Hz",
    "high-pass": lambda sizes: f"without what is below {max(sizes):,.0f} Hz",
    "clip": lambda sizes: f"clipped at {min(sizes):.0%} of its peak",
}


def step_words(step: Mutation) -> str:
    """One step of the way with its size: "rotated by 11° counter-clockwise"."""
    return ", ".join(_told({operation_class(one): [one]})[0] for one in step.operations) or "no change"


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
    return _told(by_class)


def _told(by_class: Mapping[str, list[str]]) -> list[str]:
    told = []
    for kind, operations in by_class.items():
        sizes = [size for one in operations if (size := size_of(one)) is not None]
        times = f" {len(operations)} times" if len(operations) > 1 else ""
        plain = operations[0] if len(operations) == 1 else kind
        told.append(TOLD[kind](sizes) if kind in TOLD and len(sizes) == len(operations) else f"{plain}{times}")
    return told


def values_changed(finding: TriagedFinding) -> str:
    """How many values changed and by how much, or which columns or words; "" where none did."""
    written = _written(finding.folder)
    if written:
        return written
    reference = finding.array("reference")
    shown = finding.array("minimised")
    shown = finding.array("input") if shown is None else shown
    if shown is None or reference is None or shown.shape != reference.shape:
        return ""
    return _measured(shown, reference)


def _measured(shown: Tensor, reference: Tensor) -> str:
    difference = (shown.double() - reference.double()).abs().nan_to_num(math.inf, math.inf, math.inf)
    least = ROUNDING * max(1.0, float(reference.double().abs().nan_to_num(0, 0, 0).max())) if reference.numel() else 0
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
            with (folder / name).open(encoding="utf-8") as file:
                lines = file.read(20_000).splitlines()
        except (OSError, UnicodeDecodeError):
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
