"""A column of a table: what its values may be, and what a person calls them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

SHOWN_VALUES = 6  # of a category, in a message


class ColumnKind(StrEnum):
    """What the values of a column are."""

    REAL = "real"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    CATEGORY = "category"


@dataclass(frozen=True)
class Column:
    """Numbers from low to high, whole ones of integers and booleans; of categories, one of the codes."""

    name: str
    kind: ColumnKind
    low: float
    high: float
    fixed: bool = False  # an input keeps what its seed holds
    codes: tuple[float, ...] = ()  # of categories, in order
    labels: tuple[str, ...] = ()  # what each code stands for, of categories that are text

    @property
    def unordered(self) -> bool:
        """Whether another value is as far away as any."""
        return self.kind in (ColumnKind.BOOLEAN, ColumnKind.CATEGORY)

    @property
    def gapped(self) -> bool:
        """Whether some whole number between low and high is no code."""
        return bool(self.codes) and self.codes != tuple(range(len(self.codes)))

    def shown(self, value: float) -> str:
        """A value as a person knows it."""
        if self.labels and value in self.codes:
            return self.labels[self.codes.index(value)]
        return f"{shortest(value):.9g}"

    def describe(self) -> str:
        """What its values may be, in a few words."""
        if self.labels or self.codes:
            values = [self.shown(code) for code in self.codes]
            return "/".join([*values[:SHOWN_VALUES], *(["…"] if len(values) > SHOWN_VALUES else [])])
        if self.kind is ColumnKind.BOOLEAN:
            return "0/1"
        return f"{self.shown(self.low)} to {self.shown(self.high)}"

    def as_toml(self) -> dict[str, Any]:
        """What a file says of it."""
        told: dict[str, Any] = {"kind": str(self.kind)}
        if self.kind is ColumnKind.CATEGORY:
            told["values"] = list(self.labels) or [_plain(code) for code in self.codes]
        elif self.kind is not ColumnKind.BOOLEAN:
            told |= {"low": _plain(self.low), "high": _plain(self.high)}
        return {**told, "fixed": True} if self.fixed else told


def shortest(value: float) -> float:
    """The shortest decimal number that float32 holds as this value."""
    return float(str(np.float32(value)))


def _plain(value: float) -> float | int:
    short = shortest(value)
    return int(short) if short.is_integer() and abs(short) < 2**53 else short
