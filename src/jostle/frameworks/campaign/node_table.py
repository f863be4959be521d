"""What came of each node of the models that were compared as they are."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from jostle.frameworks.campaign.parts import ModelPart
from jostle.frameworks.importing.imported import Imported

Distance = float | str  # in units of what is granted, or why there is none


@dataclass(frozen=True)
class NodeRow:
    """A node of the user's, or a whole model."""

    model: str
    node: str
    operators: tuple[str, ...]  # of ours that compute it
    distances: Mapping[str, Distance]  # by backend, the worst of those operators
    wrong: tuple[str, ...]  # backends with a finding there

    @property
    def worst(self) -> float:
        """To rank by: what is wrong first, then what is farthest off."""
        numbers = [one for one in self.distances.values() if not isinstance(one, str)]
        return len(self.wrong) * 1e300 + max(numbers, default=0.0)


@dataclass(frozen=True)
class ModelCount:
    """How many nodes of a model were compared."""

    model: str
    compared: int
    folded: int  # constants, arithmetic of shapes, what passes its input on
    left_out: Mapping[str, str]  # with what is lacking

    @property
    def nodes(self) -> int:
        return self.compared + self.folded + len(self.left_out)


@dataclass(frozen=True)
class NodeTable:
    rows: tuple[NodeRow, ...]
    models: tuple[ModelCount, ...]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(told: Mapping[str, Any]) -> NodeTable:
        """The table that was written; LookupError, TypeError or ValueError for anything else."""
        rows = (
            NodeRow(**{**row, "operators": tuple(row["operators"]), "wrong": tuple(row["wrong"])})
            for row in told["rows"]
        )
        return NodeTable(tuple(rows), tuple(ModelCount(**one) for one in told["models"]))


def table_of(
    models: Mapping[str, Imported],
    parts: Sequence[ModelPart],
    distances: Sequence[Mapping[str, Distance]],
    wrong: Sequence[Collection[str]],
) -> NodeTable:
    """One row for each of the user's nodes, whatever number of ours it became."""
    rows: dict[tuple[str, str], NodeRow] = {}
    for part, found, faulty in zip(parts, distances, wrong, strict=True):
        before = rows.get((part.model, part.node), NodeRow(part.model, part.node, (), {}, ()))
        rows[part.model, part.node] = NodeRow(
            part.model,
            part.node,
            (*before.operators, part.operator),
            {name: worse(before.distances.get(name, 0.0), one) for name, one in found.items()},
            tuple(sorted({*before.wrong, *faulty})),
        )
    counts = (
        ModelCount(name, len(set(model.origins.values())), model.folded, model.left_out)
        for name, model in models.items()
    )
    return NodeTable(tuple(rows.values()), tuple(counts))


def worse(one: Distance, other: Distance) -> Distance:
    """A reason for which there is none outweighs all numbers."""
    if isinstance(one, str) or isinstance(other, str):
        return one if isinstance(one, str) else other
    return max(one, other)
