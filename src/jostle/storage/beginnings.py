"""In which layers twins begin to depart from their model, over all findings of a campaign."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jostle.storage.finding_record import Divergence, FindingRecord, FinishedArray

SHOWN = 4  # layers named in words
NOWHERE = "no layer beyond rounding"


@dataclass(frozen=True)
class Beginnings:
    """What findings of one twin tell together."""

    twin: str
    divergences: tuple[Divergence, ...]

    @property
    def name(self) -> str:
        """Of the twin, without the folder of its file."""
        return Path(self.twin).name

    @property
    def layers(self) -> Counter[str]:
        """How many findings begin in each layer."""
        looked_into = [one for one in self.divergences if one.layers]
        return Counter(NOWHERE if one.begins is None else one.begins for one in looked_into)

    @property
    def beyond_seeds(self) -> int:
        """How many depart far more than the seeds show."""
        return sum(one.beyond_seeds for one in self.divergences)

    def as_json(self) -> dict[str, Any]:
        return {"layers": dict(self.layers.most_common()), "beyond the seeds": self.beyond_seeds}

    def __str__(self) -> str:
        count = self.layers.total()
        if not count:
            return f"{self.name}: cannot be looked into, no layers correspond to the model's"
        (first, most), *others = self.layers.most_common(SHOWN)
        named = [f"{first} ({most} of {count})", *(f"{layer} ({number})" for layer, number in others)]
        left = len(self.layers) - SHOWN
        layers = ", ".join([*named, *([f"{left} more"] if left > 0 else [])])
        return f"{self.name}: {layers}{_on_edge(count - self.beyond_seeds, count)}"


def _on_edge(count: int, total: int) -> str:
    if not count:
        return ""
    return f"; {count} of {total} hardly further apart than on the seeds: there the answer lies on an edge"


def divergences(records: Iterable[FindingRecord]) -> Iterator[Divergence]:
    """Of all findings that have one."""
    for record in records:
        if isinstance(record.finished, FinishedArray) and record.finished.divergence is not None:
            yield record.finished.divergence


def beginnings(found: Iterable[Divergence]) -> list[Beginnings]:
    """One for each twin, in the order of their first findings."""
    by_twin: dict[str, list[Divergence]] = {}
    for one in found:
        by_twin.setdefault(one.twin, []).append(one)
    return [Beginnings(twin, tuple(some)) for twin, some in by_twin.items()]
