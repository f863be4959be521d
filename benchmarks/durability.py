"""What writing everything down costs, and keeping every failing test: campaigns on LeNet-5, with and without."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bare_pass import between, torch_threads
from bench.command import run_script
from bench.rows import Beside, Figures, Row, at_most, ratio_row
from jostle.records import Failures, all_rows
from jostle.step_records import StepRecord
from jostle.storage.failing_files import FAILING, digest_of_failing, encode_failing, failing_path
from jostle.storage.files import make_folder, write_whole
from paper.table import Data
from sessions import fuzz_session

SEEDS = 5
EXECUTIONS = 40_000
BAR = at_most(1.05)
FAILING_BAR = at_most(1.03)
FAILING_EXECUTIONS = 5_000
FAILING_RECIPES = ("deephunter", "dlfuzz")
RECIPES: Mapping[str, Mapping[str, Any]] = {
    "tensorfuzz": {"coverage": ("nearest",)},
    "tensorfuzz, flipped labels": {"coverage": ("nearest",), "oracle": ("flip",), "radius": 0.3},
    "deephunter": {"recipe": "deephunter"},
}


def seconds(choices: Mapping[str, Any], executions: int, seed: int, archived: bool) -> float:
    """How long the loop takes; without its archive, the campaign does the same and nothing is written."""
    with fuzz_session(executions=executions, seed=seed, **choices) as session:
        started = time.perf_counter()
        if archived:
            session.search()
            session.archive.wait()  # what is still to be written costs too
        else:
            session.campaign.run()
        return time.perf_counter() - started


@dataclass(frozen=True)
class Cost:
    """What a campaign took and kept."""

    wall: float  # seconds
    processor: float  # seconds of all threads, which do not depend on what else the machine does
    failing: int  # tests
    size: int  # bytes of those
    keeping: float  # seconds of a processor to select, encode and write those once more


def cost_of(recipe: str, executions: int, seed: int, keep_failing: int | str) -> Cost:
    """Of a campaign that keeps so many of its failing tests."""
    with fuzz_session(recipe=recipe, executions=executions, seed=seed, keep_failing=keep_failing) as session:
        records: list[StepRecord] = []
        wall, processor = time.perf_counter(), time.process_time()
        summary = session.search([records.append])
        session.archive.wait()
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
        size = sum(path.stat().st_size for path in (session.archive.folder / FAILING).glob("*"))
        return Cost(wall, processor, summary.failing_kept, size, keeping([record.failing for record in records]))


def keeping(steps: Sequence[Failures]) -> float:
    """Seconds of a processor for all that is done to keep what these steps failed on."""
    with tempfile.TemporaryDirectory() as folder:
        make_folder(Path(folder) / FAILING)
        started = time.process_time()
        for step, failing in enumerate(steps):
            if len(failing):
                failing.inputs.select(all_rows(len(failing.inputs)))
                digest_of_failing(failing)
                write_whole(failing_path(Path(folder), step), encode_failing(failing))
        return time.process_time() - started


def archive_row(name: str, executions: int, seeds: Sequence[int]) -> Row:
    took = partial(seconds, RECIPES[name], executions)
    pairs = [between(partial(took, seed, True), partial(took, seed, False)) for seed in seeds]
    claim = f"{name}, LeNet-5, one thread and one that writes: time with everything written down / without"
    return ratio_row(claim, pairs, "without", f"{executions:,} executions", BAR, beside_form=".1f", beside_unit=" s")


def failing_rows(recipe: str, executions: int, seeds: Sequence[int]) -> Iterator[Row]:
    """What it costs to keep every failing test, over keeping none, each between the other's runs."""
    runs = [[cost_of(recipe, executions, seed, kept) for kept in (0, "all", 0)] for seed in seeds]
    claim, budget = f"{recipe}, LeNet-5: keeping every failing test / none", f"{executions:,} executions"
    wall = [(every.wall, (first.wall + last.wall) / 2) for first, every, last in runs]
    processor = [(every.processor, (first.processor + last.processor) / 2) for first, every, last in runs]
    for kind, pairs in (("processor time", processor), ("time by the clock", wall)):
        others = {"beside_form": ".1f", "beside_unit": " s"}
        yield ratio_row(f"{claim}, {kind}", pairs, "none", budget, FAILING_BAR, ".3f", **others)
    kept = [every for _, every, _ in runs]
    shares = Figures(tuple(100 * every.keeping / every.processor for every in kept), ".2f", " %")
    tests = Beside("failing tests kept:", Figures(tuple(every.failing for every in kept), ",.0f", ""))
    size = sum(every.size for every in kept) / max(sum(every.failing for every in kept), 1)
    told = f"selecting, encoding and writing them ({size:,.0f} bytes each), share of all processor time"
    yield Row(f"{recipe}, LeNet-5: {told}", shares, budget, at_most(3.0), tests)


def measure(data: Data) -> Iterator[Row]:
    executions, failing = data.budget(EXECUTIONS, 700), data.budget(FAILING_EXECUTIONS, 700)
    with torch_threads(1):
        for name in data.some(RECIPES):
            yield archive_row(name, executions, data.some(range(SEEDS)))
        for recipe in data.some(FAILING_RECIPES):
            yield from failing_rows(recipe, failing, data.some(range(SEEDS)))


if __name__ == "__main__":
    sys.exit(run_script(__file__, measure))
