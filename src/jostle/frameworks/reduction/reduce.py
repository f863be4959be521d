"""The smallest graph that still shows a defect."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from jostle.frameworks.graph import Array, Graph, Invalid
from jostle.frameworks.judging.compare import judge
from jostle.frameworks.judging.eager_twin import witnesses
from jostle.frameworks.judging.reference_bounds import ReferenceBounds
from jostle.frameworks.judging.signature import class_of, dtype_of, frame_of, holds
from jostle.frameworks.observations import Observation, Runner
from jostle.frameworks.operators.all_operators import types_of
from jostle.frameworks.reduction.simplifications import (
    Simplification,
    is_valid,
    simpler_attributes,
    simpler_layouts,
    simpler_shapes,
    simpler_trainings,
    simpler_values,
)
from jostle.frameworks.reduction.subgraphs import cuts
from jostle.graph_signature import TOGETHER, Signature

# Which of these graphs show the same defect.
ShowsMany = Callable[[Sequence[Graph]], list[bool]]
ROUNDS = 8
AT_ONCE = 64  # graphs that are asked for before the time is looked at


def reduce(
    graph: Graph,
    shows_many: ShowsMany,
    evaluate: Callable[[Graph], Mapping[str, Array]],
    late: Callable[[], bool],
    at_once: int = AT_ONCE,
) -> Graph:
    """A graph that shows the same, from which nothing more can be taken, or it is too late for more."""
    reducer = _Reducer(shows_many, late, at_once)
    for _ in range(ROUNDS):
        before = graph
        graph = reducer.smallest(graph, lambda one: cuts(one, evaluate(one.without_training())))
        for simpler in (simpler_trainings, simpler_shapes, simpler_attributes, simpler_layouts, simpler_values):
            graph = reducer.simplified(graph, simpler)
        if graph is before or reducer.late:
            return graph
    return graph


@dataclass(frozen=True)
class SameDefect:
    """Asks the backend of a signature which graphs show its symptom and still hold what is guilty."""

    signature: Signature
    runner: Runner
    bounds: ReferenceBounds

    def __call__(self, graphs: Sequence[Graph]) -> list[bool]:
        guilty = [graph for graph in graphs if self._may_show(graph)]
        backends = witnesses(self.signature.symptom, self.signature.backend)
        observed = self.runner.run(guilty, self.signature.phase, backends) if guilty else []
        shown = {id(graph): self._shows(graph, one) for graph, one in zip(guilty, observed, strict=True)}
        return [shown.get(id(graph), False) for graph in graphs]

    def _may_show(self, graph: Graph) -> bool:
        """Whether what is guilty is there; of several operators that are guilty together some may not be needed."""
        operators, types = self.signature.operator.split(TOGETHER), types_of(graph)
        only_these = len(operators) > 1 and all(node.operator in operators for node in graph.nodes)
        dtypes = {types[node.inputs[0]].dtype for node in graph.nodes}
        return (only_these and self.signature.dtype in dtypes) or holds(graph, self.signature)

    def _shows(self, graph: Graph, observations: Mapping[str, Observation]) -> bool:
        found = judge(graph, self.signature.phase, observations, self.bounds).alike(self.signature.symptom)
        wanted = self.signature.symptom, self.signature.frame
        return any((str(one.symptom), frame_of(one.crash)) == wanted for one in found)


class _Reducer:
    def __init__(self, shows_many: ShowsMany, late: Callable[[], bool], at_once: int) -> None:
        self._shows_many, self._late, self._at_once = shows_many, late, at_once

    @property
    def late(self) -> bool:
        return self._late()

    def smallest(self, graph: Graph, candidates: Callable[[Graph], Iterator[Graph]]) -> Graph:
        """The smallest of the candidates that shows it, again and again."""
        while not self.late:
            valid = [one for one in candidates(graph) if weight(one) < weight(graph) and is_valid(one)]
            shown = [one for one, shows in zip(valid, self._ask(valid), strict=True) if shows]
            if not shown:
                break
            graph = min(shown, key=weight)
        return graph

    def simplified(self, graph: Graph, simpler: Callable[[Graph], Iterator[Simplification]]) -> Graph:
        """The graph after all simplifications under which it shows the defect, tried alone first, then together."""
        if self.late:
            return graph
        trials = [(one, after) for one in simpler(graph) if (after := applied(one, graph)) is not None]
        shown = self._ask([after for _, after in trials])
        good = [one for (one, _), shows in zip(trials, shown, strict=True) if shows]
        return self._together(graph, good)

    def _together(self, graph: Graph, simplifications: Sequence[Simplification]) -> Graph:
        """All of these simplifications at once, or half of them after the other half."""
        after = graph
        for one in simplifications:
            after = applied(one, after) or after
        if after is graph or self._ask([after]) == [True]:
            return after
        if len(simplifications) == 1 or self.late:
            return graph
        middle = len(simplifications) // 2
        return self._together(self._together(graph, simplifications[:middle]), simplifications[middle:])

    def _ask(self, graphs: Sequence[Graph]) -> list[bool]:
        """Which show it; those that it is too late for do not."""
        shown: list[bool] = []
        for start in range(0, len(graphs), self._at_once):
            if self.late:
                break
            shown += self._shows_many(graphs[start : start + self._at_once])
        return [*shown, *[False] * (len(graphs) - len(shown))]


def signature_of_what_is_left(small: Graph, signature: Signature) -> Signature:
    """The signature of a reduced graph, where several operators are guilty together and some may not be needed."""
    if TOGETHER not in signature.operator or not small.nodes:
        return signature
    operator = TOGETHER.join(node.operator for node in small.nodes)
    return replace(signature, operator=operator, attributes=class_of(small.nodes), dtype=dtype_of(small))


def applied(simplification: Simplification, graph: Graph) -> Graph | None:
    """The graph after a simplification, unless it is the same or cannot run."""
    try:
        after = simplification(graph)
    except Invalid:
        return None
    return after if is_valid(after) and after.encoded != graph.encoded else None


def weight(graph: Graph) -> tuple[int, int]:
    """How large a graph is: nodes first, then elements that are given."""
    return len(graph.nodes), sum(leaf.array.size for leaf in graph.leaves.values())
