"""A scheduler of your own: in turn, so that no input is forgotten.

jostle fuzz jostle.zoo:lenet5 --seeds jostle.zoo:mnist_sample --scheduler examples/own_parts/scheduler.py:InTurn
"""

import torch
from torch import Generator, Tensor


class InTurn:
    """One entry of the corpus after another."""

    def __init__(self) -> None:
        self._next = 0

    def plan(self, entries: int, children: int, rng: Generator) -> Tensor:
        parents = (torch.arange(children) + self._next) % entries
        self._next = int(parents[-1]) + 1
        return parents
