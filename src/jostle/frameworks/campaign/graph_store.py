"""Graphs by number, so that a batch of them is an array like any other."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from jostle.frameworks.graph import Graph, decode, encode

# A number -> the graph's text, kept elsewhere
Fetch = Callable[[int], bytes]


def number_of(text: bytes) -> int:
    """Equal for equal graphs, and never negative."""
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "big") >> 1


class GraphStore:
    """Texts of graphs; those that nobody keeps are forgotten, those kept in files are fetched again."""

    def __init__(self, fetch: Fetch):
        self._fetch = fetch
        self._texts: dict[int, bytes] = {}

    def put(self, graph: Graph) -> int:
        text = encode(graph)
        number = number_of(text)
        self._texts[number] = text
        return number

    def text(self, number: int) -> bytes:
        if number not in self._texts:
            self._texts[number] = self._fetch(number)
        return self._texts[number]

    def get(self, number: int) -> Graph:
        return decode(self.text(number))

    def forget(self) -> None:
        """Lets all be fetched when they are asked for again."""
        self._texts.clear()

    def put_all(self, graphs: Sequence[Graph]) -> Tensor:
        """Their numbers [graphs, 1]."""
        return torch.tensor([[self.put(graph)] for graph in graphs], dtype=torch.int64).view(-1, 1)

    def get_all(self, inputs: Tensor) -> list[Graph]:
        """The graphs behind numbers [graphs, 1]."""
        return [self.get(number) for number in inputs.flatten().tolist()]
