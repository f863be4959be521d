"""All backends of a campaign: every graph runs on each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from jostle.frameworks.backends.all_backends import lowering_named, written_in
from jostle.frameworks.backends.onnx.opsets import NEWEST, Opsets, usual_for
from jostle.frameworks.backends.program import Lowering
from jostle.frameworks.graph import Graph
from jostle.frameworks.observations import REFERENCE, Observation
from jostle.frameworks.workers.backend_process import BackendProcess, Place, RunTerms
from jostle.isolation.process import Limits


class BackendPool:
    """Backends in processes of their own, which run at the same time; the reference is always the first."""

    def __init__(self, places: Sequence[Place], limits: Limits, seed: int = 0, line_coverage: bool = False):
        self._processes = {
            place.name: BackendProcess(place, limits, line_coverage and place.backend != REFERENCE)
            for place in (Place(REFERENCE), *places)
        }
        self._terms = RunTerms(seed)
        self._threads = ThreadPoolExecutor(len(self._processes), "backend")
        self.names = tuple(self._processes)

    def open(self) -> None:
        """Starts all workers at the same time."""
        for _ in self._threads.map(BackendProcess.open, self._processes.values()):
            pass
        newest = [process.newest_opset for process in self._processes.values()]
        self._terms = replace(self._terms, opset=usual_for(opset for opset in newest if opset is not None))

    def place(self, name: str) -> Place:
        return self._processes[name].place

    def lowering(self, name: str) -> Lowering:
        """What writes the programs of a backend, as they run here."""
        process = self._processes[name]
        opsets = Opsets(self._terms.opset, process.newest_opset or NEWEST)
        return written_in(lowering_named(process.place.backend), opsets)

    def versions(self) -> dict[str, Mapping[str, str]]:
        return {name: process.versions for name, process in self._processes.items() if name != REFERENCE}

    def run(
        self, graphs: Sequence[Graph], phase: str, backends: Sequence[str] | None = None
    ) -> list[dict[str, Observation]]:
        names = list(self.names if backends is None else backends)
        encoded = [graph.encoded for graph in graphs]  # once for all backends
        columns = self._threads.map(lambda name: self._processes[name].run(encoded, phase, self._terms), names)
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    def close(self) -> None:
        """Ends all workers."""
        for process in self._processes.values():
            process.close()
        self._threads.shutdown()

    def __enter__(self) -> BackendPool:
        self.open()
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()
