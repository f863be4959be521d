"""How much the resident memory of a campaign grows in an hour, besides what its corpus takes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass

import psutil

from bare_pass import torch_threads
from bench.command import run_script
from bench.rows import Beside, Figures, Row, at_most
from jostle.step_records import StepRecord
from paper.table import Data
from sessions import fuzz_session

SECONDS = 3600
WARM = 1 / 60  # of the time, in which libraries take what they keep
RECIPES = ("deephunter", "dlfuzz")
MEGABYTE = 2**20
BAR = at_most(50.0)


@dataclass(frozen=True)
class Sample:
    """What a process and the corpus in it take at one moment, in bytes."""

    seconds: float
    resident: int
    corpus: int  # inputs and what is known of their way from the seeds


class MemorySamples:
    """A listener that looks after each step."""

    def __init__(self) -> None:
        self._process, self._corpus = psutil.Process(), 0
        self.taken: list[Sample] = []

    def __call__(self, record: StepRecord) -> None:
        self._corpus += record.kept.inputs.nbytes + record.kept.lineage.rows.nbytes
        resident = self._process.memory_info().rss
        self.taken.append(Sample(record.so_far.seconds, resident, self._corpus))


def grown(recipe: str, seconds: int) -> tuple[float, float]:
    """Megabytes by which all but the corpus grew, and the corpus, from when everything was warm to the end."""
    samples = MemorySamples()
    with fuzz_session(recipe=recipe, budget=seconds, seed=0) as session:
        session.search([samples])
    last = samples.taken[-1]
    warm = next((one for one in samples.taken if one.seconds >= WARM * seconds), last)
    corpus = last.corpus - warm.corpus
    return (last.resident - warm.resident - corpus) / MEGABYTE, corpus / MEGABYTE


def measure(data: Data) -> Iterator[Row]:
    seconds = data.budget(SECONDS, 1)
    with torch_threads(1):
        for recipe in data.some(RECIPES):
            rest, corpus = grown(recipe, seconds)
            yield Row(
                f"{recipe}, LeNet-5, one thread: growth of resident memory besides the corpus",
                Figures((rest,), ".0f", " MB"),
                f"{seconds:,} s",
                BAR,
                Beside("the corpus grew by", Figures((corpus,), ".0f", " MB")),
            )


if __name__ == "__main__":
    sys.exit(run_script(__file__, measure))
