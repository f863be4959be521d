"""Time per nearest-neighbour query from a thousand to a million stored points, one thread.

`search` is the worst case: no query may stop early, each searches everything stored. `assess` is what a campaign
pays for a row: all of the feedback's work, where a point within the threshold among the newest is answer enough.
"""

from __future__ import annotations

import time
from statistics import median

import faiss
import torch

from jostle import FarFromSeen, Seeds, Trace
from jostle.feedback.neighbours import Neighbours
from spread import spread

SIZES = (1_000, 10_000, 100_000, 1_000_000)
DIMENSIONS = (10, 84)  # logits and the last hidden layer of LeNet-5
BATCH = 256
REPEATS = 20
BAR = 20


def clustered(count: int, dimensions: int, seed: int) -> torch.Tensor:
    """Points as activations lie: around a few hundred centres, not filling the space evenly."""
    centres = torch.randn(300, dimensions, generator=torch.Generator().manual_seed(0)) * 5
    rng = torch.Generator().manual_seed(seed)
    return centres[torch.randint(300, (count,), generator=rng)] + torch.randn(count, dimensions, generator=rng)


def search_times(stored: Neighbours, dimensions: int) -> list[float]:
    """Microseconds per query, over several batches."""
    return [_timed(lambda queries: stored.distances(queries), dimensions, repeat) for repeat in range(REPEATS)]


def assess_times(stored: Neighbours, dimensions: int) -> list[float]:
    feedback = FarFromSeen(["layer"], threshold=2 * dimensions**0.5)
    feedback._seen = stored
    outcome = torch.zeros(BATCH, dtype=torch.int64)
    rows = Seeds(torch.zeros(BATCH, 1), outcome, ("",) * BATCH).as_candidates()
    return [
        _timed(lambda queries: feedback.assess(rows, Trace(outcome, {}, {"layer": queries})), dimensions, repeat)
        for repeat in range(REPEATS)
    ]


def _timed(ask, dimensions: int, repeat: int) -> float:
    queries = clustered(BATCH, dimensions, seed=1_000 + repeat)
    started = time.perf_counter()
    ask(queries)
    return (time.perf_counter() - started) / BATCH * 1e6


def main() -> None:
    torch.set_num_threads(1)
    faiss.omp_set_num_threads(1)
    for dimensions in DIMENSIONS:
        stored = Neighbours()
        medians: dict[str, list[float]] = {"search": [], "assess": []}
        for size in SIZES:
            stored.add(clustered(size - len(stored), dimensions, seed=size))
            for name, times in (
                ("search", search_times(stored, dimensions)),
                ("assess", assess_times(stored, dimensions)),
            ):
                medians[name].append(median(times))
                print(f"  {dimensions} dimensions, {size:>9,} points, {name}: {spread(times, '.1f')} µs", flush=True)
        for name, values in medians.items():
            growth = values[-1] / values[0]
            print(f"  {dimensions} dimensions, {name}: grows {growth:.1f}× from the least to the most (bar {BAR}×)")


if __name__ == "__main__":
    main()
