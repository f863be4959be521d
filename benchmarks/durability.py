"""What writing everything down costs, and keeping every failing test: campaigns on LeNet-5, with and without."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from jostle.records import Failures, all_rows
from jostle.step_records import StepRecord
from jostle.storage.failing_files import FAILING, digest_of_failing, encode_failing, failing_path
from jostle.storage.files import make_folder, write_whole
from sessions import fuzz_session
from spread import spread

SEEDS = 5
EXECUTIONS = 40_000
BAR = 1.05
FAILING_BAR = 1.03
FAILING_EXECUTIONS = 5_000
FAILING_RECIPES = ("deephunter", "dlfuzz")
RECIPES: Mapping[str, Mapping[str, Any]] = {
    "tensorfuzz": {"coverage": ("nearest",)},
    "tensorfuzz, flipped labels": {"coverage": ("nearest",), "oracle": ("flip",), "radius": 0.3},
    "deephunter": {"recipe": "deephunter"},
}


def seconds(choices: Mapping[str, Any], seed: int, archived: bool) -> float:
    """How long the loop takes; without its archive, the campaign does the same and nothing is written."""
    with fuzz_session(executions=EXECUTIONS, seed=seed, **choices) as session:
        started = time.perf_counter()
        if archived:
            session.search()
            session.archive.wait()  # what is still to be written costs too
        else:
            session.campaign.run()
        return time.perf_counter() - started


def ratio(choices: Mapping[str, Any], seed: int) -> float:
    """Archived over unarchived, each between the other's runs, because the machine changes its pace."""
    first, archived, last = (seconds(choices, seed, kept) for kept in (False, True, False))
    return archived / ((first + last) / 2)


@dataclass(frozen=True)
class Cost:
    """What a campaign took and kept."""

    wall: float  # seconds
    processor: float  # seconds of all threads, which do not depend on what else the machine does
    failing: int  # tests
    size: int  # bytes of those
    keeping: float  # seconds of a processor to select, encode and write those once more


def cost_of(recipe: str, seed: int, keep_failing: int | str) -> Cost:
    """Of a campaign that keeps so many of its failing tests."""
    with fuzz_session(recipe=recipe, executions=FAILING_EXECUTIONS, seed=seed, keep_failing=keep_failing) as session:
        records: list[StepRecord] = []
        wall, processor = time.perf_counter(), time.process_time()
        summary = session.search([records.append])
        session.archive.wait()
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
        size = sum(path.stat().st_size for path in (session.archive.folder / FAILING).iterdir())
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


def print_failing(recipe: str, seeds: int) -> None:
    """What it costs to keep every failing test, over keeping none, each between the other's runs."""
    runs = [[cost_of(recipe, seed, kept) for kept in (0, "all", 0)] for seed in range(seeds)]
    wall = [2 * every.wall / (first.wall + last.wall) for first, every, last in runs]
    processor = [2 * every.processor / (first.processor + last.processor) for first, every, last in runs]
    tests = [every.failing for _, every, _ in runs]
    size = sum(every.size for _, every, _ in runs) / max(sum(tests), 1)
    print(f"  {recipe}: wall {spread(wall, '.3f')}, processor {spread(processor, '.3f')}")
    alone = [every.keeping / every.processor for _, every, _ in runs]
    print(f"    keeping alone, as a share of all processor time: {spread(alone, '.4f')}")
    print(f"    failing tests kept: {spread(tests, ',.0f')}, {size:,.0f} bytes each")


def main() -> None:
    torch.set_num_threads(1)
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", type=int, default=SEEDS)
    options.add_argument("--only", choices=("archive", "failing"))
    chosen = options.parse_args()
    if chosen.only != "failing":
        print_archive(chosen.seeds)
    if chosen.only != "archive":
        print(f"LeNet-5, {FAILING_EXECUTIONS:,} executions, {chosen.seeds} seeds")
        print(f"time with --keep-failing all / with 0 (bar {FAILING_BAR})")
        for recipe in FAILING_RECIPES:
            print_failing(recipe, chosen.seeds)


def print_archive(seeds: int) -> None:
    print(f"LeNet-5, {EXECUTIONS:,} executions, {seeds} seeds, one thread for the loop and one for writing")
    print(f"time with archive / without (bar {BAR})")
    for name, choices in RECIPES.items():
        print(f"  {name}: {spread([ratio(choices, seed) for seed in range(seeds)], '.3f')}")


if __name__ == "__main__":
    main()
