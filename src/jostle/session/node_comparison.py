"""Models compared as they are: their parts, how far each backend is off on each, and the file that tells it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from jostle.errors import OutputRefused
from jostle.frameworks.campaign.examiner import REFERENCE_BOUNDS, Examiner
from jostle.frameworks.campaign.graph_store import graph_number
from jostle.frameworks.campaign.node_table import Distance, NodeTable, table_of, worse
from jostle.frameworks.campaign.parts import ModelPart
from jostle.frameworks.campaign.target import Examined, Observed
from jostle.frameworks.graph import Graph
from jostle.frameworks.importing.imported import Imported
from jostle.frameworks.judging.distances import distances
from jostle.storage.files import read_json, write_json

NODES = "nodes.json"  # in the campaign's folder
BETWEEN_LINES = 5.0  # seconds


@dataclass
class NodeComparison:
    """Examines parts of models as an examiner does, and remembers what came of each."""

    models: Mapping[str, Imported]
    parts: Sequence[ModelPart]
    examiner: Examiner
    say: Callable[[str], None]
    _distances: dict[int, dict[str, Distance]] = field(default_factory=dict)  # by the number of a graph
    _wrong: dict[int, set[str]] = field(default_factory=dict)  # backends
    _said: float = field(default_factory=time.monotonic)

    def __call__(self, graph: Graph, phase: str, observed: Observed) -> Examined:
        number = graph_number(graph.encoded)
        known, wrong = self._distances.setdefault(number, {}), self._wrong.setdefault(number, set())
        for name, one in distances(graph, phase, observed, REFERENCE_BOUNDS).items():
            known[name] = worse(known.get(name, 0.0), one)
        examined = self.examiner(graph, phase, observed)
        wrong.update(fault.disagreement.backend for fault in examined.faults)
        self._tell_now_and_then()
        return examined

    def ask_between_parts(self, enough: Callable[[], bool]) -> None:
        self.examiner.ask_between_parts(enough)

    def forget(self) -> None:
        self.examiner.forget()

    def _tell_now_and_then(self) -> None:
        if time.monotonic() - self._said > BETWEEN_LINES:
            self._said = time.monotonic()
            wrong = sum(map(bool, self._wrong.values()))
            self.say(f"compared {len(self._distances):,} of {len(self.parts):,} parts, {wrong:,} with something wrong")

    def write(self, folder: Path) -> None:
        """The table, which the same command shows when it has nothing left to do."""
        numbers = [graph_number(part.graph.encoded) for part in self.parts]
        found = [self._distances.get(number, {}) for number in numbers]  # nothing where it was interrupted before
        table = table_of(self.models, self.parts, found, [self._wrong.get(number, set()) for number in numbers])
        write_json(folder / NODES, table.as_json())


def read_table(folder: Path) -> NodeTable:
    """What came of each node; of none where it was interrupted before."""
    if not (folder / NODES).exists():
        return NodeTable((), ())
    try:
        return NodeTable.from_json(read_json(folder / NODES))
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise OutputRefused(f"{folder / NODES} cannot be read ({error}): give another --out") from error
