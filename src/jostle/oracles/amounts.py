"""Bounds that a user gives as a number, as a share of something, or as a multiple of what is usual: 0.5, 10%, 3x."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from jostle.options.kinds import FARTHEST, Bounds, Kind, shown

ABSOLUTE, SHARE, TIMES = "", "%", "x"
FORM = re.compile(r"(\d{1,30}(?:\.\d*)?(?:e[+-]?\d{1,2})?|\.\d+)\s*([%x]?)")


@dataclass(frozen=True)
class Amount:
    """A number, and what it is a number of."""

    value: float
    unit: str  # ABSOLUTE, SHARE (where a value of 1 is all) or TIMES

    @staticmethod
    def parsed(text: str) -> Amount:
        """The amount that a user typed; ValueError where it is none."""
        match = FORM.fullmatch(text.strip())
        if match is None or float(match[1]) > FARTHEST:
            raise ValueError(f"{text!r} is no amount")
        return Amount(float(match[1]) / (100 if match[2] == SHARE else 1), match[2])


def amount(*units: str, say: str) -> Kind:
    """An amount in one of these units; `say` tells what to give instead of another text."""

    def check(value: Any) -> str:
        text = shown(value)
        try:
            fits = not isinstance(value, bool) and Amount.parsed(text).unit in units
        except ValueError:
            fits = False
        if not fits:
            raise ValueError(say)
        return text

    others = tuple(f"3{unit}" for unit in (SHARE, TIMES) if unit not in units)
    bad = ("", "-1", "much", "nan", "1e999", "1e31", "5 apples", True, 10**5000, *others)
    return Kind("AMOUNT", shown, check, bad, bounds=Bounds(0, FARTHEST), spelled=lambda number: f"{number!r}{units[0]}")
