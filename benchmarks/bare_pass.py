"""The bare passes of a model, which loops are measured beside, and how to measure one thing beside another."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from bench.rows import Pair
from jostle.interfaces import Mutator
from jostle.options.resources import FIRST_BATCH
from jostle.records import Seeds

BATCHES = (FIRST_BATCH, 2 * FIRST_BATCH, 4 * FIRST_BATCH)
Rate = Callable[[nn.Module, Tensor, int], float]  # of passes of a model over inputs [batch, ...], so many times


def mutants(mutator: Mutator, seeds: Seeds, count: int = max(BATCHES)) -> Tensor:
    """Inputs [at most count, ...] as the loop runs them: pooling takes longer on noise than on clean digits."""
    rows = torch.arange(count) % len(seeds)
    return mutator.mutate(seeds.as_candidates().select(rows), torch.Generator().manual_seed(0)).inputs


def seconds_of(work: Callable[[], object], times: int) -> float:
    """How long it takes once, after it was done once before."""
    work()
    started = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - started) / times


def forward_rate(model: nn.Module, inputs: Tensor, times: int) -> float:
    """Inputs [batch, ...] per second through the network alone, without gradients or hooks."""
    with torch.inference_mode():
        return len(inputs) / seconds_of(lambda: model(inputs), times)


def forward_and_backward_rate(model: nn.Module, inputs: Tensor, times: int) -> float:
    """Inputs [batch, ...] per second of passes to the gradient by the input."""

    def passes() -> None:
        leaves = inputs.clone().requires_grad_()
        torch.autograd.grad(model(leaves).max(1).values.sum(), leaves)

    return len(inputs) / seconds_of(passes, times)


def best_rate(rate: Rate, model: nn.Module, inputs: Tensor, executions: int) -> float:
    """The fastest of three sizes of batches, that of `--batch auto` among them, each over so many inputs."""
    batches = (inputs[:size] for size in BATCHES)
    return max(rate(model, batch, max(1, executions // len(batch))) for batch in batches)


def between(measured: Callable[[], float], other: Callable[[], float]) -> Pair:
    """What is measured, between two measurements of the other, whose mean stands for it: the machine changes pace."""
    before, value, after = other(), measured(), other()
    return value, (before + after) / 2


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """So many threads for torch inside the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
