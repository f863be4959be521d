"""What frameworks made of a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from jostle.foreign import Crash
from jostle.frameworks.graph import Array, Graph

REFERENCE = "reference"  # the backend that computes everything in float64 from elementary operations


class Status(StrEnum):
    """How a backend left one graph."""

    OK = "ok"
    UNSUPPORTED = "unsupported"  # it has nothing for an operator, or documents another meaning
    UNDEFINED = "undefined"  # of the reference: the result has no meaning, such as a division of whole numbers by 0
    CRASHED = "crashed"  # it raised, or took its process with it
    HUNG = "hung"


@dataclass(frozen=True)
class Observation:
    """What one backend made of one graph in one phase."""

    status: Status
    arrays: Mapping[str, Array] = field(default_factory=dict)  # a program's result
    reason: str = ""  # why it is unsupported or undefined
    crash: Crash | None = None
    signals: frozenset[str] = frozenset()  # parts of the library that worked
    seconds: float = 0.0


class Runner(Protocol):
    """Runs graphs on several backends at once."""

    names: tuple[str, ...]  # of all backends, with the reference first

    def run(
        self, graphs: Sequence[Graph], phase: str, backends: Sequence[str] | None = None
    ) -> list[dict[str, Observation]]:
        """What each backend, or each of these, made of each graph."""
