"""Two workers beside one, on two cores: executions per second, time to the same coverage, and what synchronising takes.

All campaigns are commands in processes of their own. "One worker on one core" is held to one processor with its driver
and all of Ray, so that no thread of it takes the second: DeepHunter makes its next step in one where there is a
processor to spare. "One worker, both cores" may have that. Rates are those of the search: neither loading models, nor
running the seeds, nor finishing findings counts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import environ
from pathlib import Path
from typing import Any

from bench.command import run_script
from bench.rows import Beside, Figures, Row, at_least, at_most, ratio_row
from jostle.storage.coverage_history import CoveragePoint, read_coverage
from jostle.storage.status import read_status
from jostle_command import FOUND, NOTHING_FOUND, jostle
from paper.table import Data

SEEDS = 3
FASTER, SOONER, SYNCHRONISING = at_least(1.7), at_most(0.65), at_most(5.0)
LOOKS = 0.05  # seconds between two looks at a campaign's status
NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"  # with which every worker would compile torch anew
NETWORK = Path(__file__).with_name("resnet50.py")
UNFINISHED = ("--no-confirm", "--no-minimise")  # which comes after the loop


@dataclass(frozen=True)
class Subject:
    """A campaign that is run with one worker and with two."""

    told: str
    command: tuple[str, ...]
    seconds: int
    criterion: str | None = None  # whose coverage is compared


LENET5 = Subject(
    "deephunter, `kmnc`, LeNet-5",
    (
        *("fuzz", "jostle.zoo:lenet5", "--seeds", "jostle.zoo:mnist_sample", "--recipe", "deephunter"),
        *("--threads", "1", *UNFINISHED),
    ),
    20,
    "kmnc",
)
RESNET50 = Subject(
    "deephunter, `kmnc`, ResNet-50 with random weights at 224×224, batch 8",
    (
        *("fuzz", f"{NETWORK}:resnet50", "--seeds", f"{NETWORK}:photos", "--recipe", "deephunter"),
        *("--layers", "*", "--batch", "8", "--force", "--threads", "1", *UNFINISHED),
    ),
    20,
    "kmnc",
)
FRAMEWORKS = Subject(
    "frameworks, torch and ONNX Runtime, prediction",
    ("frameworks", "--backends", "torch,onnxruntime", "--phase", "predict"),
    30,  # some 150 models to begin from take a part of it, which does not count
)
SUBJECTS = (LENET5, RESNET50, FRAMEWORKS)


@dataclass(frozen=True)
class Moment:
    """How far a campaign was, by its own clock."""

    executions: int
    seconds: float


@dataclass(frozen=True)
class Ran:
    """What came of a campaign."""

    moments: tuple[Moment, ...]  # from when its seeds had run
    points: tuple[CoveragePoint, ...]
    workers: Mapping[str, Any]

    @property
    def rate(self) -> float:
        """Executions per second of the search."""
        first, last = self.moments[0], self.moments[-1]
        return (last.executions - first.executions) / (last.seconds - first.seconds)

    def covered(self, criterion: str) -> float:
        """In the end."""
        return self.points[-1].coverage[criterion]["covered"]

    def seconds_to(self, criterion: str, covered: float) -> float:
        """Of the search until so much was covered; all of it where that never was."""
        reached = (point.executions for point in self.points if point.coverage[criterion]["covered"] >= covered)
        executions = next(reached, self.moments[-1].executions)
        return self._seconds_at(executions) - self.moments[0].seconds

    def _seconds_at(self, executions: int) -> float:
        """Between the two moments around it, evenly."""
        for before, after in zip(self.moments, self.moments[1:], strict=False):
            if executions <= after.executions:
                share = (executions - before.executions) / max(1, after.executions - before.executions)
                return before.seconds + max(0.0, share) * (after.seconds - before.seconds)
        return self.moments[-1].seconds


def run(subject: Subject, seconds: int, seed: int, workers: int | None, cores: int | None) -> Ran:
    """A campaign as a user runs it, on so many cores, None is all; with None for workers it does its steps itself."""
    variables = {name: value for name, value in environ.items() if name != NO_BYTECODE} | {"OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "campaign"
        command = jostle(
            *(*subject.command, "--budget", f"{seconds}s", "--seed", str(seed), "--out", str(out), "--json"),
            *(() if workers is None else ("--workers", str(workers))),
        )
        said, told = Path(place) / "said", Path(place) / "told"
        with said.open("w") as stdout, told.open("w") as stderr:
            process = subprocess.Popen(
                command, env=variables, stdout=stdout, stderr=stderr, cwd=place, preexec_fn=_held_to(cores)
            )
            moments = list(_moments(process, out))
        if process.returncode not in (NOTHING_FOUND, FOUND):
            raise RuntimeError(f"{' '.join(command)} failed:\n{told.read_text()}")
        summary = json.loads(said.read_text())
        last = Moment(summary["executions"], summary["seconds"])
        known = [moment for moment in moments if moment.executions < last.executions]
        if not known:
            raise RuntimeError(f"{' '.join(command)} did no step: {seconds} s are not enough for its seeds")
        return Ran((*known, last), tuple(read_coverage(out)), summary.get("workers", {}))


def _held_to(cores: int | None) -> Callable[[], None]:
    """Keeps a process, and all that it starts, to the first processors."""
    processors = sorted(os.sched_getaffinity(0))[:cores]
    return lambda: os.sched_setaffinity(0, processors)


def _moments(process: subprocess.Popen[bytes], folder: Path) -> Iterator[Moment]:
    """What a campaign's status says whenever it is new, until the process has ended."""
    last = None
    while process.poll() is None:
        status = read_status(folder)
        executions, seconds = status.content.get("executions"), status.seconds
        if executions is not None and seconds is not None and executions != last:
            last = executions
            yield Moment(executions, seconds)
        time.sleep(LOOKS)


@dataclass(frozen=True)
class Runs:
    """The same campaign four times, or twice, with one seed of randomness."""

    two: Ran
    one_core: Ran  # one worker
    free: Ran | None  # one worker, that may use both cores
    alone: Ran | None  # no worker: the campaign does its steps itself, on one core


def runs(subject: Subject, seconds: int, seed: int) -> Runs:
    one_core = run(subject, seconds, seed, 1, 1)
    two = run(subject, seconds, seed, 2, None)
    if subject is not LENET5:
        return Runs(two, one_core, None, None)
    return Runs(two, one_core, run(subject, seconds, seed, 1, None), run(subject, seconds, seed, None, 1))


def rows(subject: Subject, seconds: int, seeds: Sequence[int]) -> Iterator[Row]:
    every, budget = [runs(subject, seconds, seed) for seed in seeds], f"{seconds} s"
    rate = f"{subject.told}: executions per second, two workers"
    for told, bar, pairs in (
        ("one worker on one core", FASTER, [(one.two.rate, one.one_core.rate) for one in every]),
        ("one worker, both cores", None, [(one.two.rate, one.free.rate) for one in every if one.free is not None]),
        ("no Ray, on one core", None, [(one.two.rate, one.alone.rate) for one in every if one.alone is not None]),
    ):
        if pairs:
            yield ratio_row(f"{rate} / {told}", pairs, told, budget, bar, beside_form=",.1f")
    if subject.criterion is not None:
        yield _sooner(subject.told, subject.criterion, every, budget)
    shares = tuple(100 * float(one.two.workers["synchronising"]) for one in every)
    claim = f"{subject.told}: share of two workers' time that synchronising takes"
    yield Row(claim, Figures(shares, ".1f", " %"), budget, SYNCHRONISING)


def _sooner(told: str, criterion: str, every: Sequence[Runs], budget: str) -> Row:
    """How soon two workers have covered what one on one core has in the end."""
    covered = [one.one_core.covered(criterion) for one in every]
    pairs = [
        (one.two.seconds_to(criterion, share), one.one_core.seconds_to(criterion, share))
        for one, share in zip(every, covered, strict=True)
    ]
    ratios = Figures(tuple(two / one for two, one in pairs))
    beside = Beside("that coverage", Figures(tuple(100 * share for share in covered), ".1f", " %"))
    claim = f"{told}: time until two workers cover what one on one core has in the end / its time"
    return Row(claim, ratios, budget, SOONER, beside)


def measure(data: Data) -> Iterator[Row]:
    for subject in data.some(SUBJECTS):
        yield from rows(subject, data.budget(subject.seconds, 3), data.some(range(SEEDS)))


if __name__ == "__main__":
    sys.exit(run_script(__file__, measure))
