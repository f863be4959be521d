"""Graphs by number, so that a batch of them is an array like any other."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from jostle.frameworks.graph import Graph, decode

# A number -> the encoded graph that it stands for
Fetch = Callable[[int], bytes]


def graph_number(encoded: bytes) -> int:
    """The number that stands for an encoded graph: equal for equal graphs, and never negative."""
    return int.from_bytes(hashlib.sha256(encoded).digest()[:8], "big") >> 1


class GraphStore:
    """The graphs of one step by number; graphs of earlier steps are fetched when they are asked for."""

    def __init__(self, fetch: Fetch):
        self._fetch = fetch
        self._graphs: dict[int, Graph] = {}

    def put(self, graph: Graph) -> int:
        number = graph_number(graph.encoded)
        self._graphs[number] = graph
        return number

    def get(self, number: int) -> Graph:
        if number not in self._graphs:
            self._graphs[number] = decode(self._fetch(number))
        return self._graphs[number]

    def forget(self) -> None:
        """Lets go of all graphs, which makes room for those of the next step."""
        self._graphs.clear()

    def put_all(self, graphs: Sequence[Graph]) -> Tensor:
        """Their numbers [graphs, 1]."""
        return torch.tensor([[self.put(graph)] for graph in graphs], dtype=torch.int64).view(-1, 1)

    def get_all(self, inputs: Tensor) -> list[Graph]:
        """The graphs behind numbers [graphs, 1]."""
        return [self.get(number) for number in inputs.flatten().tolist()]
