"""Children by edits of graphs, and new graphs in their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from jostle.frameworks.campaign.graph_store import GraphStore
from jostle.frameworks.campaign.single_operators import drawn_anew
from jostle.frameworks.campaign.sweep import SWEEP, SweptModel
from jostle.frameworks.edits.all_edits import edited
from jostle.frameworks.edits.edit import Edit
from jostle.frameworks.graph import Graph, Invalid
from jostle.frameworks.strategies.strategy import Moves, Random
from jostle.lineage import UNCHANGED, Mutation
from jostle.mutations import Mutations
from jostle.records import NO_PARENT, Candidates

TRIES = 10


def numpy_randomness(rng: torch.Generator) -> Random:
    return np.random.default_rng(int(torch.randint(2**62, (1,), generator=rng)))


@dataclass
class Plan:
    """What the scheduler chose for the children of this step: edits, or a new model."""

    children: list[Moves | SweptModel] = field(default_factory=list)


class Edits:
    """Edits every parent as planned, or draws a model anew; where an edit has nothing to change, any other stands in.

    What was drawn anew has no parent, and as root the model of its operator, if there is one to begin from.
    """

    def __init__(self, edits: Mapping[str, Edit], store: GraphStore, plan: Plan):
        self._edits, self._store, self._plan = edits, store, plan

    def mutate(self, parents: Candidates, rng: torch.Generator) -> Candidates:
        draws, planned = numpy_randomness(rng), self._plan.children
        numbers = parents.inputs.flatten().tolist()
        children = [self._made(number, child, draws) for number, child in zip(numbers, planned, strict=True)]
        inputs = self._store.put_all([graph for graph, _ in children])
        same = (inputs == parents.inputs).flatten().tolist()
        mutations = (UNCHANGED if equal else Mutation(moves) for equal, (_, moves) in zip(same, children, strict=True))
        return _descended(replace(parents, inputs=inputs, mutations=Mutations.of(mutations)), planned)

    def _made(self, parent: int, child: Moves | SweptModel, rng: Random) -> tuple[Graph, Moves]:
        if not isinstance(child, SweptModel):
            return self._child(self._store.get(parent), child, rng)
        try:
            return drawn_anew(child.operator, rng), (SWEEP,)
        except Invalid:  # hardly ever: no draw was valid
            return self._store.get(parent), (SWEEP,)

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


def _descended(children: Candidates, planned: Sequence[Moves | SweptModel]) -> Candidates:
    """The children, those that were drawn anew without the parents that they do not have."""
    places = {name: place for place, name in enumerate(children.seeds.names)}
    parents, roots = children.parents.clone(), children.roots.clone()
    for row, child in enumerate(planned):
        if isinstance(child, SweptModel):
            parents[row] = NO_PARENT
            roots[row] = places.get(child.operator, roots[row])
    return replace(children, parents=parents, roots=roots)
