"""All backends at once: every graph on each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from jostle.frameworks.graph import Graph, encode
from jostle.frameworks.observations import REFERENCE, Observation
from jostle.frameworks.workers.backend_process import BackendProcess, Place
from jostle.isolation.process import Limits


class Panel:
    """Backends in processes of their own, which work side by side; the reference is always among them."""

    def __init__(self, places: Sequence[Place], limits: Limits, seed: int = 0, line_coverage: bool = False):
        self._seats = {
            place.name: BackendProcess(place, limits, line_coverage and place.backend != REFERENCE)
            for place in (Place(REFERENCE), *places)
        }
        self._seed = seed
        self._threads = ThreadPoolExecutor(len(self._seats), "backend")
        self.names = tuple(self._seats)

    def open(self) -> None:
        """Starts all workers, side by side."""
        for _ in self._threads.map(BackendProcess.open, self._seats.values()):
            pass

    def place(self, name: str) -> Place:
        return self._seats[name].place

    def versions(self) -> dict[str, Mapping[str, str]]:
        return {name: seat.versions for name, seat in self._seats.items() if name != REFERENCE}

    def run(
        self, graphs: Sequence[Graph], phase: str, backends: Sequence[str] | None = None
    ) -> list[dict[str, Observation]]:
        names = list(self.names if backends is None else backends)
        texts = [encode(graph).decode() for graph in graphs]
        columns = self._threads.map(lambda name: self._seats[name].run(texts, phase, self._seed), names)
        rows = zip(*columns, strict=True)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def close(self) -> None:
        """Ends all workers."""
        for seat in self._seats.values():
            seat.close()
        self._threads.shutdown()

    def __enter__(self) -> Panel:
        self.open()
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()
