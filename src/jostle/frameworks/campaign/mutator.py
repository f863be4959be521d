"""Children by edits of graphs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from jostle.frameworks.campaign.graph_store import GraphStore
from jostle.frameworks.edits.all_edits import edited
from jostle.frameworks.edits.edit import Edit
from jostle.frameworks.graph import Graph
from jostle.frameworks.strategies.strategy import Moves, Random
from jostle.lineage import UNCHANGED, Mutation
from jostle.mutations import Mutations
from jostle.records import Candidates

TRIES = 10


def numpy_randomness(rng: torch.Generator) -> Random:
    return np.random.default_rng(int(torch.randint(2**62, (1,), generator=rng)))


@dataclass
class Plan:
    """The edits that the scheduler chose for the children of this step."""

    moves: list[Moves] = field(default_factory=list)


class Edits:
    """Edits every parent as planned; where an edit has nothing to change, any other stands in."""

    def __init__(self, edits: Mapping[str, Edit], store: GraphStore, plan: Plan):
        self._edits, self._store, self._plan = edits, store, plan

    def mutate(self, parents: Candidates, rng: torch.Generator) -> Candidates:
        draws = numpy_randomness(rng)
        graphs = self._store.get_all(parents.inputs)
        children = [self._child(graph, moves, draws) for graph, moves in zip(graphs, self._plan.moves, strict=True)]
        inputs = self._store.put_all([graph for graph, _ in children])
        same = (inputs == parents.inputs).flatten().tolist()
        mutations = (UNCHANGED if equal else Mutation(moves) for equal, (_, moves) in zip(same, children, strict=True))
        return replace(parents, inputs=inputs, mutations=Mutations.of(mutations))

    def _child(self, graph: Graph, moves: Moves, rng: Random) -> tuple[Graph, Moves]:
        """A child, and the edits that made it."""
        made: list[str] = []
        for move in moves:
            child = edited(graph, self._edits[move], rng)
            if child is not None:
                graph = child
                made.append(move)
        return (graph, tuple(made)) if made else self._any_child(graph, rng)

    def _any_child(self, graph: Graph, rng: Random) -> tuple[Graph, Moves]:
        names = list(self._edits)
        for _ in range(TRIES):
            move = names[int(rng.integers(len(names)))]
            child = edited(graph, self._edits[move], rng)
            if child is not None:
                return child, (move,)
        return graph, (names[0],)
