"""What adding to a corpus and selecting parents of it cost as it grows to a million entries, with bounded memory.

Entries are images of 28 by 28 float32 (3.1 kB), a million of them 3.1 GB: most lie in the scratch file, on the disk of
the system's folder for temporary files (TMPDIR names another). `uniform` draws parents of all entries, so the larger
the corpus, the more of them are read from disk; `recent` draws mostly the newest. `seldom plans` is not the corpus but
the scheduler that weighs every entry before each step. Processor time does not count what a disk takes that the
system has no memory to cache; the clock does.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from statistics import mean

import psutil
import torch
from torch import Tensor

from jostle import NewestFew, Seeds, Uniform
from jostle.inputs.geometry import Placements, unmoved
from jostle.lineage import Mutation
from jostle.mutations import Mutations
from jostle.options.kinds import BYTES
from jostle.records import NO_LABEL, Candidates
from jostle.schedulers.least_fuzzed import LeastFuzzed
from jostle.storage.corpus import Corpus

SIZES = (1_000, 10_000, 100_000, 1_000_000)
BATCH = 1024  # parents of a step
ADDED = 64  # entries that a step keeps
REPEATS = 30
MOST_RESIDENT = 2**30  # bytes
SHAPE = (1, 28, 28)
FORMS = tuple(Mutation((name,)) for name in ("brightness", "contrast", "blur", "noise"))


def main() -> None:
    options = _arguments().parse_args()
    torch.set_num_threads(1)
    memory, sizes = BYTES.check(options.memory), [int(size) for size in options.sizes.split(",")]
    print(f"# images of {SHAPE}, --corpus-memory {options.memory}, batches of {BATCH}, {REPEATS} repeats, one thread")
    print("# microseconds a row, on average: of processor time (by the clock)")
    seeds = Seeds(torch.rand(ADDED, *SHAPE), torch.full((ADDED,), NO_LABEL), ("",) * ADDED)
    corpus = Corpus(seeds, memory)
    measured = [_measured(corpus, seeds, size) for size in sizes]
    first, last = measured[0], measured[-1]
    for name in first:
        print(f"{name}: {last[name] / first[name]:.1f} times as much with {sizes[-1]:,} as with {sizes[0]:,}")


def _measured(corpus: Corpus, seeds: Seeds, size: int) -> dict[str, float]:
    """Lets the corpus grow to a size, and gives the processor time of each row by what was done."""
    rng, seldom = torch.Generator().manual_seed(size), LeastFuzzed()
    adding = []
    while len(corpus) < size:
        kept = _kept(corpus, seeds, rng)
        adding.append(_timed(lambda kept=kept: corpus.add(kept), ADDED))  # type: ignore[misc]
    times = {
        "add": adding,  # of all since the size before
        "select, uniform": _selecting(corpus, lambda: Uniform().plan(len(corpus), BATCH, rng)),
        "select, recent": _selecting(corpus, lambda: NewestFew().plan(len(corpus), BATCH, rng)),
        "seldom plans": [_timed(lambda: seldom.plan(len(corpus), BATCH, rng), BATCH) for _ in range(REPEATS)],
    }
    resident = psutil.Process(os.getpid()).memory_info().rss
    told = ", ".join(f"{name} {_mean(some, 0):.2f} ({_mean(some, 1):.2f})" for name, some in times.items())
    print(f"{len(corpus):>9,} entries, {corpus.on_disk / 1e9:.2f} GB of them on disk: {told}")
    print(f"          resident {resident / 2**20:,.0f} MiB in all (bar {MOST_RESIDENT / 2**20:,.0f} MiB)", flush=True)
    return {name: _mean(some, 0) for name, some in times.items()}


def _selecting(corpus: Corpus, plan: Callable[[], Tensor]) -> list[tuple[float, float]]:
    plans = [plan() for _ in range(REPEATS)]
    return [_timed(lambda ids=ids: corpus.as_parents(ids), BATCH) for ids in plans]  # type: ignore[misc]


def _kept(corpus: Corpus, seeds: Seeds, rng: torch.Generator) -> Candidates:
    """What a step keeps: no two images alike, and each moved in its own way."""
    parents = torch.randint(max(len(corpus), 1), (ADDED,), generator=rng)
    mutations = Mutations(FORMS, torch.randint(len(FORMS), (ADDED,), generator=rng), torch.rand(ADDED, generator=rng))
    placements = Placements(unmoved(ADDED) + torch.rand(ADDED, 2, 3, generator=rng))
    inputs = seeds.inputs.roll(len(corpus) // ADDED % 28, 3) + len(corpus) * 1e-6
    return Candidates(inputs, seeds, parents, torch.arange(ADDED), mutations, placements)


def _timed(work: Callable[[], object], rows: int) -> tuple[float, float]:
    """Microseconds a row, of processor time and by the clock."""
    begun = time.process_time(), time.perf_counter()
    work()
    ended = time.process_time(), time.perf_counter()
    return (ended[0] - begun[0]) / rows * 1e6, (ended[1] - begun[1]) / rows * 1e6


def _mean(times: Sequence[tuple[float, float]], which: int) -> float:
    """What spilling a block takes stands in one time of many, so a median would leave it out."""
    return mean(one[which] for one in times)


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--memory", default="256M", help="as --corpus-memory takes it")
    return parser


if __name__ == "__main__":
    main()
