"""The operations on the way from a seed to an input, read from their texts and told in words."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping

from jostle.lineage import Mutation

SIZE = re.compile(r"(?<=\s)-?\d+(\.\d+)?([eE][-+]?\d+)?(?=\s|$)")
BEFORE_SIZE = re.compile(r"[ ,]*\s-?(\d|\.\d|inf|nan)")  # where the size of an operation begins
OF_VALUES = {"noise": "with noise", "ascent": "along the gradient"}  # how much of it, the values tell
STEP = "step "
LITTLE = 0.05  # of the range: a change of all values that one hardly sees


def size_of(operation: str) -> float | None:
    """The number in the text of an operation: 11.3 of "rotation 11.3", -3 of "gain -3 dB"."""
    found = SIZE.search(operation)
    if found is None:
        return None
    size = float(found[0])
    return size if math.isfinite(size) else None


def operation_class(operation: str) -> str:
    """An operation without its size: "rotation" of "rotation 11.3"."""
    size = BEFORE_SIZE.search(operation)
    return (operation[: size.start()] if size else operation).removesuffix(", step").strip() or operation


def _rotated(sizes: list[float]) -> str:
    degrees = sum(sizes)
    way = "counter-clockwise" if degrees >= 0 else "clockwise"
    return f"rotated by {abs(degrees):.2g}° {way}"


def _shifted(sizes: list[float]) -> str:
    return f"moved by {math.hypot(*sizes):.1%} of its side"


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
    return ", ".join(phrase(operation_class(one), [one]) for one in step.operations) or "no change"


def phrase(kind: str, operations: list[str]) -> str:
    """What operations of one class come to."""
    sizes = [size for one in operations if (size := size_of(one)) is not None]
    if kind in OF_VALUES:
        return OF_VALUES[kind]
    if kind.startswith(STEP):  # of a column, whose values the change of the table tells
        return f"{kind.removeprefix(STEP)} changed"
    if kind in TOLD and len(sizes) == len(operations):
        return TOLD[kind](sizes)
    return operations[0] if len(operations) == 1 else f"{kind} {len(operations)} times"
