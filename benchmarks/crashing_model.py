"""How soon a worker is back after its model ended it, and campaigns on a model that ends it on 1 input in 100."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from bare_pass import torch_threads
from bench.command import run_script
from bench.rows import Beside, Figures, Row, at_most
from crashing_lenet import SHARE, guilty, innocent_seeds
from jostle import Noise
from jostle.composition.settle import FUZZ
from jostle.interfaces import Target
from jostle.part import TRIED
from jostle.records import NO_LABEL, Candidates, Outcome, Seeds
from jostle.session.isolate import isolated, limits_of
from paper.table import Data
from sessions import fuzz_session

SEEDS = 5
DEATHS = 20
EXECUTIONS = 4_000
BATCH = 64
BAR = at_most(0.3)
MODEL = Path(__file__).with_name("crashing_lenet.py")
OPTIONS: dict[str, Any] = {
    "model": f"{MODEL}:Crashing",
    "seeds": f"{MODEL}:innocent_seeds",
    "oracle": ("nan", "crash"),
    "isolate": True,
}


def measure(data: Data) -> Iterator[Row]:
    with torch_threads(1):
        yield from restart_rows(data.budget(DEATHS, 2))
        yield campaign_row(data.some(range(SEEDS)), data.budget(EXECUTIONS, 600))


def restart_rows(deaths: int) -> Iterator[Row]:
    """From handing over an input that ends the process to the next one's answer, one death right after another."""
    given, seeds = FUZZ.parsed(OPTIONS), unlabelled(innocent_seeds())
    fatal, harmless = fatal_mutant(seeds), seeds.as_candidates().select(torch.arange(1))
    model, service = isolated(given, seeds.inputs[:TRIED], limits_of(given))
    try:
        bare = answered_after(model.target, harmless)
        first, *later = [answered_after(model.target, fatal, harmless) for _ in range(1 + deaths)]
    finally:
        service.close()
    alone = Beside("the same answer without a death", Figures((bare,), ".3f", " s"))
    claim = "LeNet-5 that aborts, one thread: seconds to the answer to the next input, deaths and restart included"
    yield Row(f"{claim}, deaths one right after another", Figures(tuple(later), ".2f", " s"), "a death", BAR, alone)
    yield Row(f"{claim}, the first death", Figures((first,), ".2f", " s"), "a death", None, alone)


def answered_after(target: Target, *batches: Candidates) -> float:
    """Seconds until the last of these batches, which harms nobody, is answered."""
    started = time.perf_counter()
    for batch in batches:
        trace = target.run(batch)
    assert (trace.outcome == Outcome.OK).all()
    return time.perf_counter() - started


def fatal_mutant(seeds: Seeds) -> Candidates:
    """A noisy digit that ends the process, alone."""
    mutants = Noise(sigma=0.1, low=0, high=1).mutate(seeds.as_candidates(), torch.Generator().manual_seed(0))
    return mutants.select(guilty(mutants.inputs).nonzero().squeeze(1)[:1])


def unlabelled(images: Tensor) -> Seeds:
    return Seeds(images, torch.full((len(images),), NO_LABEL), ("",) * len(images))


def campaign_row(seeds: Sequence[int], executions: int) -> Row:
    rates, deaths = [], []
    for seed in seeds:
        with fuzz_session(**OPTIONS, executions=executions, batch=BATCH, seed=seed) as session:
            summary = session.search()
        rates.append((summary.executions - len(innocent_seeds())) / summary.seconds)
        deaths.append(float(summary.violations.get("crash", 0)))
    return Row(
        f"tensorfuzz, LeNet-5 that aborts on 1 input in {SHARE}, batches of {BATCH}, one thread: mutants per second",
        Figures(tuple(rates), ",.1f", "/s"),
        f"{executions:,} executions",
        beside=Beside("inputs that ended their process:", Figures(tuple(deaths), ",.0f", "")),
    )


if __name__ == "__main__":
    sys.exit(run_script(__file__, measure))
