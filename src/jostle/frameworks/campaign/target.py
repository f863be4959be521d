"""Graphs on all backends: what worked in the libraries, how far they differ, and who is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import torch

from jostle.frameworks.backends.program import GRADIENT, PREDICT, TRAIN, float_outputs
from jostle.frameworks.campaign.feedback import INCONSISTENCY, LIBRARY, encoded_parts
from jostle.frameworks.campaign.graph_store import GraphStore
from jostle.frameworks.graph import Graph
from jostle.frameworks.judging.disagreement import Disagreement
from jostle.frameworks.judging.inconsistency import inconsistency
from jostle.frameworks.judging.signature import Signature
from jostle.frameworks.observations import Observation, Runner
from jostle.frameworks.operators.all_operators import OPERATORS
from jostle.records import Candidates, Outcome, Trace

Observed = Mapping[str, Observation]


@dataclass(frozen=True)
class Fault:
    """A defect that a graph shows."""

    signature: Signature
    disagreement: Disagreement
    part: Graph  # the smallest part of the graph that shows it


# What is wrong about a graph in a phase, by what all backends made of it.
Examine = Callable[[Graph, str, Observed], Sequence[Fault]]


class Compared:
    """Runs graphs in every phase on every backend; slow backends get a sample of them."""

    def __init__(
        self,
        store: GraphStore,
        runner: Runner,
        phases: Sequence[str],
        examine: Examine,
        sampled: Mapping[str, int],
    ):
        """`sampled`: of a backend, how many graphs there are to each one that it runs."""
        self._store, self._runner, self._phases, self._examine = store, runner, phases, examine
        self._sampled = sampled
        self._pairs = list(combinations(runner.names, 2))
        self.faults: dict[int, tuple[Fault, ...]] = {}  # of the graphs run since they were forgotten, by number

    def run(self, batch: Candidates, watched: bool = True) -> Trace:
        numbers = batch.inputs.flatten().tolist()
        graphs = [self._store.get(number) for number in numbers]
        observed = {phase: self._observed(numbers, graphs, phase) for phase in self._phases}
        for row, (number, graph) in enumerate(zip(numbers, graphs, strict=True)):
            seen_in = {phase: rows[row] for phase, rows in observed.items() if row in rows}
            self.faults[number] = tuple(self._faults(graph, seen_in))
        seen = [[rows[row] for rows in observed.values() if row in rows] for row in range(len(graphs))]
        return Trace(
            torch.full((len(graphs),), Outcome.OK),
            {},
            metadata={
                LIBRARY: torch.stack([encoded_parts(_parts(each)) for each in seen]),
                INCONSISTENCY: torch.tensor([self._inconsistency(each) for each in seen], dtype=torch.float64),
            },
            seconds=_seconds(seen),
        )

    def forget(self) -> None:
        """Lets go of what graphs showed, once it is judged and written down."""
        self.faults.clear()

    def _observed(self, numbers: Sequence[int], graphs: Sequence[Graph], phase: str) -> dict[int, Observed]:
        """By row, what backends made of the graphs that have this phase."""
        rows = [row for row, graph in enumerate(graphs) if _has(graph, phase)]
        often = [name for name in self._runner.names if name not in self._sampled]
        seen = dict(zip(rows, self._runner.run([graphs[row] for row in rows], phase, often), strict=True))
        for name, share in self._sampled.items():
            chosen = [row for row in rows if numbers[row] % share == 0]
            more = self._runner.run([graphs[row] for row in chosen], phase, [name])
            for row, observation in zip(chosen, more, strict=True):
                seen[row] |= observation
        return seen  # type: ignore[return-value]

    def _faults(self, graph: Graph, observed: Mapping[str, Observed]) -> list[Fault]:
        return [fault for phase, each in observed.items() for fault in self._examine(graph, phase, each)]

    def _inconsistency(self, seen: Sequence[Observed]) -> list[float]:
        """For every pair of backends the largest of all phases."""
        return [
            max((inconsistency({a: each[a], b: each[b]}) for each in seen if a in each and b in each), default=0.0)
            for a, b in self._pairs
        ]


def _has(graph: Graph, phase: str) -> bool:
    if phase == TRAIN:
        return graph.training is not None
    return phase == PREDICT or (phase == GRADIENT and bool(float_outputs(graph)) and _is_differentiable(graph))


def _is_differentiable(graph: Graph) -> bool:
    return any(OPERATORS[node.operator].differentiable for node in graph.nodes)


def _parts(seen: Sequence[Observed]) -> set[str]:
    return {
        f"{backend} {signal}"
        for each in seen
        for backend, observation in each.items()
        for signal in observation.signals
    }


def _seconds(seen: Sequence[Sequence[Observed]]) -> dict[str, float]:
    spent: dict[str, float] = {}
    for each in (each for row in seen for each in row):
        for backend, observation in each.items():
            spent[backend] = spent.get(backend, 0.0) + observation.seconds
    return spent
