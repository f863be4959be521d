"""Recall and time per nearest-neighbour query from a thousand to a million stored points, one thread.

Recall is the share of queries whose distance to the nearest point is that of exact search, but for 0.1 %. `search` is
the worst case: no query may stop early, each searches everything stored. `assess` is what a campaign pays for a row:
all of the feedback's work, where a point within the threshold among the newest is answer enough.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from statistics import median

import faiss
import torch

from jostle import FarFromSeen, Seeds, Trace
from jostle.feedback.neighbours import Neighbours
from spread import spread

SIZES = (1_000, 10_000, 100_000, 1_000_000)
DIMENSIONS = (10, 84, 1024)  # logits and the last hidden layer of LeNet-5, and a wide layer
MOST_OF_WIDE = 100_000  # points of so many dimensions: a million would need 10 GB and an hour
LEAST_RECALL = 0.95
BATCH = 256
REPEATS = 20
BAR = 20

Make = Callable[..., torch.Tensor]  # how many, of how many dimensions, seed


def clustered(count: int, dimensions: int, seed: int) -> torch.Tensor:
    """Points as activations lie: around a few hundred centres, not filling the space evenly."""
    centres = torch.randn(300, dimensions, generator=torch.Generator().manual_seed(0)) * 5
    rng = torch.Generator().manual_seed(seed)
    return centres[torch.randint(300, (count,), generator=rng)] + torch.randn(count, dimensions, generator=rng)


def unstructured(count: int, dimensions: int, seed: int) -> torch.Tensor:
    """Points that fill the space evenly, as no activations do: the worst case of a graph."""
    return torch.randn(count, dimensions, generator=torch.Generator().manual_seed(seed))


DATA = {"clustered": clustered, "unstructured": unstructured}


def recall(stored: Neighbours, points: torch.Tensor, make: Make) -> float:
    queries = make(BATCH, points.shape[1], seed=999)
    truth = torch.cat([torch.cdist(queries, some).amin(1, keepdim=True) for some in points.split(50_000)], 1).amin(1)
    return float((stored.distances(queries) <= truth * 1.001 + 1e-4).float().mean())


def search_times(stored: Neighbours, dimensions: int, make: Make) -> list[float]:
    """Microseconds per query, over several batches."""
    return [_timed(lambda queries: stored.distances(queries), dimensions, repeat, make) for repeat in range(REPEATS)]


def assess_times(stored: Neighbours, dimensions: int, make: Make) -> list[float]:
    feedback = FarFromSeen(["layer"], threshold=2 * dimensions**0.5)
    feedback._seen = stored
    outcome = torch.zeros(BATCH, dtype=torch.int64)
    rows = Seeds(torch.zeros(BATCH, 1), outcome, ("",) * BATCH).as_candidates()
    return [
        _timed(lambda queries: feedback.assess(rows, Trace(outcome, {}, {"layer": queries})), dimensions, repeat, make)
        for repeat in range(REPEATS)
    ]


def _timed(ask, dimensions: int, repeat: int, make: Make) -> float:
    queries = make(BATCH, dimensions, seed=1_000 + repeat)
    started = time.perf_counter()
    ask(queries)
    return (time.perf_counter() - started) / BATCH * 1e6


def measured(kind: str, dimensions: int, sizes: Sequence[int]) -> None:
    stored, points, make = Neighbours(), torch.empty(0, dimensions), DATA[kind]
    medians: dict[str, list[float]] = {"search": [], "assess": []}
    for size in sizes:
        more = make(size - len(stored), dimensions, seed=size)
        stored.add(more)
        points = torch.cat([points, more])
        found = recall(stored, points, make)
        print(f"  {dimensions} dimensions, {kind}, {size:>9,} points: recall {found:.1%} (bar {LEAST_RECALL:.0%})")
        for name, measure in (("search", search_times), ("assess", assess_times)):
            times = measure(stored, dimensions, make)
            medians[name].append(median(times))
            print(f"    {name}: {spread(times, '.1f')} µs", flush=True)
    for name, values in medians.items():
        growth = values[-1] / values[0]
        print(f"  {dimensions} dimensions, {kind}, {name}: grows {growth:.1f}× from the least to the most (bar {BAR}×)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dimensions", default=",".join(map(str, DIMENSIONS)))
    parser.add_argument("--data", default=",".join(DATA), help="kinds of points")
    parser.add_argument("--most", type=int, default=max(SIZES), help="stored points")
    options = parser.parse_args()
    torch.set_num_threads(1)
    faiss.omp_set_num_threads(1)
    for dimensions in map(int, options.dimensions.split(",")):
        most = options.most if dimensions <= 100 else min(options.most, MOST_OF_WIDE)
        for kind in options.data.split(","):
            measured(kind, dimensions, [size for size in SIZES if size <= most])


if __name__ == "__main__":
    main()
