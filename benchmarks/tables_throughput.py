"""The whole loop on a table beside the bare forward pass of an MLP, one thread, both in one process."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor, nn

from jostle.zoo import lenet5, mnist_sample
from sessions import fuzz_session
from spread import spread

SEEDS = 10
EXECUTIONS = 40_000
COLUMNS = 30
BAR = 0.5
BATCHES = (256, 2048)


def network(*widths: int) -> nn.Module:
    torch.manual_seed(0)
    sizes = (COLUMNS, *widths)
    hidden = [layer for pair in pairwise(sizes) for layer in (nn.Linear(*pair), nn.ReLU())]
    return nn.Sequential(*hidden, nn.Linear(widths[-1], 3))


def as_slow_as_lenet5() -> nn.Module:
    """Takes about as long as LeNet-5, whose convolutions run slower than they count."""
    return network(960, 960, 960)


def as_large_as_lenet5() -> nn.Module:
    """Multiplies about as often as LeNet-5, some 420,000 times for an input."""
    return network(448, 448, 448)


def tiny() -> nn.Module:
    return network(64, 64)


def rows() -> Tensor:
    """200 rows: ten columns of fractions, ten of whole numbers, ten of zeros and ones."""
    drawn = torch.rand(200, COLUMNS, generator=torch.Generator().manual_seed(0))
    drawn[:, 10:20] = (drawn[:, 10:20] * 50).round()
    drawn[:, 20:] = drawn[:, 20:].round()
    return drawn


def bare_rate(model: nn.Module, inputs: Tensor) -> float:
    """Inputs per second through the network alone, without gradients or hooks."""
    with torch.inference_mode():
        model(inputs)
        started = time.perf_counter()
        for _ in range(EXECUTIONS // len(inputs)):
            model(inputs)
    return EXECUTIONS // len(inputs) * len(inputs) / (time.perf_counter() - started)


def loop_rate(name: str, batch: int, seed: int) -> float:
    """Executions per second of a campaign as `jostle fuzz` runs it, with everything written to disk."""
    files = {"model": f"{__file__}:{name}", "seeds": f"{__file__}:rows"}
    with fuzz_session(**files, oracle=("nan",), executions=EXECUTIONS, seed=seed, batch=batch) as session:
        summary = session.search()
    return summary.executions / summary.seconds


def ratio(make: Callable[[], nn.Module], batch: int, seed: int) -> float:
    model, inputs = make().eval(), rows().repeat(batch // 200 + 1, 1)[:batch]
    before, loop, after = bare_rate(model, inputs), loop_rate(make.__name__, batch, seed), bare_rate(model, inputs)
    return loop / ((before + after) / 2)


def main() -> None:
    torch.set_num_threads(1)
    print(f"table of {COLUMNS} columns, {EXECUTIONS:,} executions, {SEEDS} seeds; loop / bare forward pass (bar {BAR})")
    images = mnist_sample()[0][:256]
    print(f"  bare LeNet-5: {bare_rate(lenet5().eval(), images):,.0f} inputs/s")
    for make in (as_slow_as_lenet5, as_large_as_lenet5, tiny):
        print(f"  {make.__name__}: {bare_rate(make().eval(), rows().repeat(2, 1)[:256]):,.0f} inputs/s")
        for batch in BATCHES:
            print(f"    batch {batch}: {spread([ratio(make, batch, seed) for seed in range(SEEDS)], '.2f')}")


if __name__ == "__main__":
    main()
