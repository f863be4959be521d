"""The target of a campaign over frameworks: runs graphs on all backends, and compares what they make of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Protocol

import torch

from jostle.foreign import Crash
from jostle.frameworks.backends.program import GRADIENT, PREDICT, TRAIN, float_outputs
from jostle.frameworks.campaign.feedback import INCONSISTENCY, OPERATORS_USED, numbers_of
from jostle.frameworks.campaign.graph_store import GraphStore
from jostle.frameworks.graph import Graph
from jostle.frameworks.judging.disagreement import Disagreement
from jostle.frameworks.judging.inconsistency import Pairs
from jostle.frameworks.judging.known_issues import KnownIssue
from jostle.frameworks.judging.locate import Unlocated
from jostle.frameworks.observations import Observation, Runner
from jostle.frameworks.operators.all_operators import OPERATORS
from jostle.graph_signature import Signature
from jostle.records import DEFECT_KINDS, DEFECTS, LIBRARY, Candidates, Outcome, Trace

Observed = Mapping[str, Observation]  # what backends made of one graph in one phase, by backend


@dataclass(frozen=True)
class Fault:
    """A defect that a graph shows."""

    signature: Signature
    disagreement: Disagreement
    part: Graph  # the smallest part of the graph that shows it
    shown: Disagreement  # by that part
    known: KnownIssue | None = None

    @property
    def name(self) -> str:
        """Equal for what is one defect."""
        return f"{self.disagreement.symptom} {self.signature.text}"

    @property
    def kind(self) -> str:
        """Of whom, and how it shows: of each kind, a model is reported for one defect."""
        return f"{self.disagreement.backend} {self.disagreement.symptom}"


@dataclass(frozen=True)
class Examined:
    """What comes of looking at a graph in one phase."""

    faults: tuple[Fault, ...]  # to report
    known_failures: tuple[Fault, ...]  # crashes and hangs that are known, and not reported
    inconsistency: Pairs = field(default_factory=dict)


class Examine(Protocol):
    """Which defects a graph shows."""

    def __call__(self, graph: Graph, phase: str, observed: Observed) -> Examined:
        """Those of one phase, by what backends made of it; Unlocated if there is no time to find what is guilty."""

    def ask_between_parts(self, enough: Callable[[], bool]) -> None:
        """Looking for what is guilty is left where this is true, or raises."""

    def forget(self) -> None:
        """Lets go of the graphs of a step."""


@dataclass(frozen=True)
class _Row:
    """What came of one graph."""

    outcome: Outcome
    inconsistency: list[float]  # of each pair of backends
    crash: Crash | None = None


class BackendComparison:
    """Runs graphs in every phase on every backend; slow backends run a sample of the graphs."""

    def __init__(
        self,
        store: GraphStore,
        runner: Runner,
        phases: Sequence[str],
        examine: Examine,
        sampled: Mapping[str, int],
    ):
        """A slow backend runs one of every n graphs; `sampled` holds its n by its name."""
        self._store, self._runner, self._phases, self._examine = store, runner, phases, examine
        self._sampled = sampled
        self._pairs = list(combinations(runner.names, 2))
        self._enough: Callable[[], bool] = lambda: False
        self.faults: dict[int, tuple[Fault, ...]] = {}  # of the graphs of this step, by number

    def ask_between_rows(self, enough: Callable[[], bool]) -> None:
        """Graphs are left unexamined from the first on before which this is true, or raises."""
        self._enough = enough
        self._examine.ask_between_parts(enough)

    def run(self, batch: Candidates, watched: bool = True) -> Trace:
        numbers = batch.inputs.flatten().tolist()
        graphs = [self._store.get(number) for number in numbers]
        phases = {phase: self._observed(numbers, graphs, phase) for phase in self._phases}
        rows = [{phase: seen[row] for phase, seen in phases.items() if row in seen} for row in range(len(graphs))]
        examined = [self._examined(*examinee) for examinee in zip(numbers, graphs, rows, strict=True)]
        return Trace(
            torch.tensor([one.outcome for one in examined]),
            {},
            crashes={row: one.crash for row, one in enumerate(examined) if one.crash is not None},
            metadata={
                LIBRARY: numbers_of([sorted(_parts(row.values())) for row in rows]),
                DEFECTS: numbers_of([[fault.name for fault in self.faults[number]] for number in numbers]),
                DEFECT_KINDS: numbers_of([[fault.kind for fault in self.faults[number]] for number in numbers]),
                OPERATORS_USED: torch.tensor([_operators(graph) for graph in graphs]).view(-1, len(OPERATORS)),
                INCONSISTENCY: torch.tensor([one.inconsistency for one in examined], dtype=torch.float64),
            },
            seconds=_seconds([observed for row in rows for observed in row.values()]),
        )

    def forget(self) -> None:
        """Lets go of the defects of a step that was judged and written down."""
        self.faults.clear()
        self._examine.forget()

    def _observed(self, numbers: Sequence[int], graphs: Sequence[Graph], phase: str) -> dict[int, Observed]:
        """What backends made of the graphs that can run in this phase, by row."""
        self._enough()  # raises if somebody asked to stop
        rows = [row for row, graph in enumerate(graphs) if _runs_in(graph, phase)]
        unsampled = [name for name in self._runner.names if name not in self._sampled]
        seen = dict(zip(rows, self._runner.run([graphs[row] for row in rows], phase, unsampled), strict=True))
        for name, share in self._sampled.items():
            chosen = [row for row in rows if numbers[row] % share == 0]
            sample = self._runner.run([graphs[row] for row in chosen], phase, [name])
            for row, observed in zip(chosen, sample, strict=True):
                seen[row] |= observed
        return {row: {name: one[name] for name in self._runner.names if name in one} for row, one in seen.items()}

    def _examined(self, number: int, graph: Graph, by_phase: Mapping[str, Observed]) -> _Row:
        """Notes the defects of a graph, those that are not known first; skipped if there was no time to know all.

        One that fails as is known counts as crashed: as a parent, it would have every mutant end its process again.
        """
        self.faults[number] = ()
        try:
            examined = [self._examine(graph, phase, observed) for phase, observed in by_phase.items()]
        except Unlocated:
            return _Row(Outcome.SKIPPED, self._largest([]))
        faults = [fault for one in examined for fault in one.faults]
        self.faults[number] = tuple(sorted(faults, key=lambda fault: fault.known is not None))
        largest = self._largest([one.inconsistency for one in examined])
        failure = next((fault.disagreement.crash for one in examined for fault in one.known_failures), None)
        if failure is None:
            return _Row(Outcome.OK, largest)
        # Not fatal to the row: what else it shows is confirmed as that of any other.
        return _Row(Outcome.CRASHED, largest, replace(failure, fatal=False))

    def _largest(self, phases: Sequence[Pairs]) -> list[float]:
        """The largest inconsistency of each pair of backends over all phases, 0 where it was not measured."""
        return [max((one.get(pair, 0.0) for one in phases), default=0.0) for pair in self._pairs]


def _runs_in(graph: Graph, phase: str) -> bool:
    if phase == TRAIN:
        return graph.training is not None
    return phase == PREDICT or (phase == GRADIENT and bool(float_outputs(graph)) and _is_differentiable(graph))


def _is_differentiable(graph: Graph) -> bool:
    return any(OPERATORS[node.operator].differentiable for node in graph.nodes)


def _operators(graph: Graph) -> list[bool]:
    """Which of all operators it has."""
    used = {node.operator for node in graph.nodes}
    return [name in used for name in OPERATORS]


def _parts(phases: Iterable[Observed]) -> set[str]:
    """The parts of libraries that worked in any phase."""
    return {
        f"{backend} {signal}"
        for observed in phases
        for backend, observation in observed.items()
        for signal in observation.signals
    }


def _seconds(runs: Iterable[Observed]) -> dict[str, float]:
    """The time that each backend took in all runs."""
    spent: dict[str, float] = {}
    for observed in runs:
        for backend, observation in observed.items():
            spent[backend] = spent.get(backend, 0.0) + observation.seconds
    return spent
