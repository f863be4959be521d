"""How long `jostle` takes to say anything, and to the first step of a campaign, by the clock and in processor time."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil

from bench.command import run_script
from bench.rows import Bar, Beside, Figures, Row, at_most
from jostle.storage.journal import JOURNAL
from jostle_command import jostle
from paper.table import Data

RUNS = 10
SAID, BEGUN = at_most(0.3), at_most(3.0)
BARE = [sys.executable, "-c", "pass"]
BARE_TORCH = [sys.executable, "-c", "import torch"]
LENET5 = ("fuzz", "jostle.zoo:lenet5", "--seeds", "jostle.zoo:mnist_sample")
LOOKS = 0.005  # seconds between two looks at the journal
PATIENCE = 300.0  # seconds


@dataclass(frozen=True)
class Took:
    """Seconds that a process took."""

    wall: float
    processor: float  # of all its threads, and of processes that it started and that have ended


def to_its_end(command: Sequence[str]) -> Took:
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command} ended with {process.returncode}")
    return Took(time.perf_counter() - started, used.ru_utime + used.ru_stime)


def to_first_step() -> Took:
    """Until the seeds have run and their step stands in the journal; what comes then is cut off."""
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "campaign" / JOURNAL
        command = jostle(*LENET5, "--budget", "60s", "--out", str(journal.parent))
        started = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
        try:
            while not (journal.exists() and journal.stat().st_size):
                if process.poll() is not None or time.perf_counter() - started > PATIENCE:
                    raise RuntimeError(f"{command} came to no first step")
                time.sleep(LOOKS)
            used = psutil.Process(process.pid).cpu_times()
            wall = time.perf_counter() - started
        finally:
            process.kill()
            process.wait()
        return Took(wall, sum(used[:4]))  # its own and its children's, of the user and of the system


def rows(
    told: str, took: Callable[[], Took], bare: Callable[[], Took], what: str, bar: Bar, runs: int
) -> Iterator[Row]:
    pairs = [(took(), bare()) for _ in range(runs)]
    for kind, asked in (("wall", bar), ("processor", None)):
        values, others = ([getattr(one, kind) for one in side] for side in zip(*pairs, strict=True))
        told_kind = "by the clock" if kind == "wall" else "of a processor"
        beside = Beside(what, Figures(tuple(others), ".2f", " s"))
        yield Row(f"{told}, seconds {told_kind}", Figures(tuple(values), ".2f", " s"), "once", asked, beside)


def measure(data: Data) -> Iterator[Row]:
    runs, bare = data.budget(RUNS, 1), partial(to_its_end, BARE)
    for option in ("--help", "--version"):
        yield from rows(f"`jostle {option}`", partial(to_its_end, jostle(option)), bare, "bare Python", SAID, runs)
    claim, torch = "`jostle fuzz` of LeNet-5 to its first step", partial(to_its_end, BARE_TORCH)
    yield from rows(claim, to_first_step, torch, "`import torch` alone", BEGUN, runs)


if __name__ == "__main__":
    sys.exit(run_script(__file__, measure))
