"""Campaigns with workers of Ray whose messages are counted and timed where they pass between driver and workers."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

from jostle.composition.settle import FUZZ
from jostle.scale.cluster import Cluster, Handle
from jostle.scale.crew import ROUND
from jostle.scale.parcel import Parcel
from jostle.scale.ray_cluster import RayCluster
from jostle.scale.requests import RoundFigures
from jostle.session import assemble
from jostle.session.crew_member import CrewMember
from jostle.session.hiring import Hiring
from jostle.step_records import Summary
from jostle.storage.coverage_history import CoveragePoint, read_coverage
from jostle.storage.journal import JOURNAL, JournalLine, read_journal


@dataclass(frozen=True)
class Turn:
    """One round as the driver hears of it."""

    worker: int
    ran: int  # executions
    kept: int  # entries
    kept_before: int  # in the worker's round before, whose answer travelled since
    bytes_in: int
    bulletins: int  # that the worker was told before it
    told: int  # entries in those that are not its own
    taking_in: float  # seconds of the worker's processor, to take them in
    busy: float  # seconds by the worker's clock in steps
    elapsed: float  # seconds by the worker's clock since it answered before
    put_out: int  # bulletins that the driver has put out since it heard of a round before
    driver: float  # seconds of the processor that its thread has spent since then


@dataclass
class Told:
    """What the driver sent."""

    calls: list[tuple[int, float]] = field(default_factory=list)  # bulletins that go with it, seconds it took to send
    bulletins: list[tuple[int, int]] = field(default_factory=list)  # entries and bytes of each


@dataclass(frozen=True)
class Measured:
    """A campaign with so many workers."""

    workers: int
    input_bytes: int
    summary: Summary
    seconds: float  # by the clock, from the first round that the driver heard of
    driver: float  # seconds of the processor that the driver's thread has spent in these
    process: float  # the same of all of its process, which writes, and of Ray there
    turns: tuple[Turn, ...]
    told: Told
    points: tuple[CoveragePoint, ...]
    lines: tuple[JournalLine, ...]


class Counted:
    """A cluster whose messages are counted."""

    def __init__(self, cluster: Cluster, processors: int):
        self._cluster, self.processors = cluster, processors
        self.turns: list[Turn] = []
        self.told = Told()
        self.began: tuple[float, float, float] | None = None  # clocks at the first answer to a round
        self._rounds: dict[Any, tuple[int, int]] = {}  # worker and bulletins of rounds asked for
        self._last: dict[int, tuple[float, float, int]] = {}  # by worker: busy, elapsed and kept when last heard
        self._processor, self._put_out = 0.0, 0

    def start(self, number: int) -> Handle:
        return _CountedHandle(self, number, self._cluster.start(number))

    def share(self, content: bytes) -> Any:
        if self.began is not None:  # before, files of the folder are
            self.told.bulletins.append((len(Parcel.decoded(content).arrays["news/workers"]), len(content)))
        return self._cluster.share(content)

    def first_ready(self, calls: Sequence[Any], seconds: float) -> list[Any]:
        return self._cluster.first_ready(calls, seconds)

    def answer(self, call: Any) -> bytes:
        content = self._cluster.answer(call)
        if call in self._rounds:
            self._hear(content, *self._rounds.pop(call))
        return content

    def close(self) -> None:
        self._cluster.close()

    def asked(self, number: int, method: str, handle: Handle, content: bytes, shared: Sequence[Any]) -> Any:
        begun = time.thread_time()
        answer = handle.call(method, content, *shared)
        if method == ROUND:
            self._rounds[answer] = number, len(shared)
            self.told.calls.append((len(shared), time.thread_time() - begun))
        return answer

    def _hear(self, content: bytes, worker: int, bulletins: int) -> None:
        now = clocks()
        processor, fields = now[1], Parcel.decoded(content).fields
        figures = RoundFigures.of(fields["figures"])
        busy, elapsed, kept_before = self._last.get(worker, (0.0, 0.0, 0))
        kept = sum(len(step["mutations"]["kept"]) for step in fields["steps"])
        if self.began is None:
            self.began, self._processor = now, processor
        self.turns.append(
            Turn(
                worker=worker,
                ran=sum(step["ran"] for step in fields["steps"]),
                kept=kept,
                kept_before=kept_before,
                bytes_in=len(content),
                bulletins=bulletins,
                told=figures.told,
                taking_in=figures.taking_in,
                busy=figures.busy - busy,
                elapsed=figures.elapsed - elapsed,
                put_out=len(self.told.bulletins) - self._put_out,
                driver=processor - self._processor,
            )
        )
        self._last[worker] = figures.busy, figures.elapsed, kept
        self._processor, self._put_out = processor, len(self.told.bulletins)


@dataclass(frozen=True)
class _CountedHandle:
    counted: Counted
    number: int
    handle: Handle

    def call(self, method: str, content: bytes, *shared: Any) -> Any:
        return self.counted.asked(self.number, method, self.handle, content, shared)

    def end(self) -> None:
        self.handle.end()


def measured(options: Mapping[str, Any], workers: int, seconds: float) -> Measured:
    """A campaign as a user runs it."""
    made: list[Counted] = []

    def hire(asked: Any) -> Hiring:
        one = RayCluster(CrewMember, workers, None)
        made.append(Counted(one, one.processors))
        return Hiring(made[0], workers)  # type: ignore[arg-type]

    place = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, patch.object(assemble, "hire", hire):
        out = Path(folder) / "campaign"
        given = {"out": str(out), "threads": 1, "workers": workers, "budget": seconds, **options}
        session = assemble.assemble(FUZZ.parsed(given))
        try:
            summary = session.search([])
            ended = clocks()
            session.archive.wait()
            session.archive.conclude(summary)
            size = session.campaign.corpus.select(torch.tensor([0])).inputs.nbytes
            points, lines = read_coverage(out), read_journal(out / JOURNAL).lines
        finally:
            session.release()
            os.chdir(place)
    counted = made[0]
    spent = (after - before for before, after in zip(counted.began or ended, ended, strict=True))
    return Measured(workers, size, summary, *spent, tuple(counted.turns), counted.told, tuple(points), tuple(lines))


def clocks() -> tuple[float, float, float]:
    """By the clock, of the processor in this thread, and in this process."""
    return time.monotonic(), time.thread_time(), time.process_time()
