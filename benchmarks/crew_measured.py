"""Campaigns with workers whose messages are counted and timed where they pass between driver and workers."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from jostle.composition.settle import FUZZ
from jostle.scale.cluster import Cluster, Handle
from jostle.scale.crew import ROUND
from jostle.scale.parcel import Parcel
from jostle.scale.ray_cluster import RayCluster
from jostle.session import assemble
from jostle.session.crew_member import CrewMember
from jostle.session.hiring import Hiring
from jostle.step_records import StepRecord, Summary
from jostle.storage.coverage_history import CoveragePoint, read_coverage
from jostle.storage.journal import JOURNAL, JournalLine, read_journal


@dataclass
class Turn:
    """One round as the driver sees it, from its answer until its worker is asked for another.

    Seconds are of the processor, of the driver's thread that does it.
    """

    worker: int
    ran: int  # executions
    steps: int
    kept: int  # entries
    took: int  # bulletins that the worker was told before it
    took_entries: int
    busy: float  # seconds by the worker's clock in steps
    bytes_in: int
    new: int = 0  # entries that all others are told of
    bytes_news: int = 0
    bulletins: int = 0  # that the worker is told with what it is asked
    told: int = 0  # entries in those
    bytes_told: int = 0
    taking: float = 0.0  # seconds to decode, count and keep it
    telling: float = 0.0  # seconds to encode what is new of it
    asking: float = 0.0  # seconds to compose what the worker is asked
    worked: float = 0.0  # seconds of the worker's whole round, known where it runs in this process
    stepped: float = 0.0  # of those, seconds in steps
    whole: bool = False  # its worker was asked for another, so that all of these figures are known


@dataclass
class Transport:
    """Seconds of the driver's processor inside of Ray, with what they depend on."""

    calls: list[tuple[int, float]] = field(default_factory=list)  # bulletins that go with it
    shares: list[tuple[int, float]] = field(default_factory=list)  # bytes
    answers: list[tuple[int, float]] = field(default_factory=list)  # bytes


@dataclass(frozen=True)
class Measured:
    """A campaign with so many workers."""

    workers: int
    summary: Summary
    seconds: float  # by the clock, of the search after its workers had begun
    other_threads: float  # seconds of the processor in other threads of the driver: writing, and Ray's own
    turns: tuple[Turn, ...]
    transport: Transport
    points: tuple[CoveragePoint, ...]
    lines: tuple[JournalLine, ...]


class Counted:
    """A cluster whose messages are counted."""

    def __init__(self, cluster: Cluster, processors: int):
        self._cluster, self.processors = cluster, processors
        self.turns: list[Turn] = []
        self.transport = Transport()
        self.began: tuple[float, float, float] | None = None  # clocks at the first answer to a round
        self._shared: dict[Any, tuple[int, int]] = {}  # entries and bytes
        self._rounds: dict[Any, tuple[int, int, int]] = {}  # worker, bulletins and their entries of rounds asked for
        self._turn: Turn | None = None
        self._left = time.thread_time()  # when the driver last went on with its own work

    def start(self, number: int) -> Handle:
        return _CountedHandle(self, number, self._cluster.start(number))

    def share(self, content: bytes) -> Any:
        if self._turn is not None:
            self._turn.telling += time.thread_time() - self._left
            self._turn.new, self._turn.bytes_news = len(Parcel.decoded(content).fields["kept"]), len(content)
        begun = time.thread_time()
        shared = self._cluster.share(content)
        self._left = time.thread_time()
        self.transport.shares.append((len(content), self._left - begun))
        self._shared[shared] = (self._turn.new if self._turn is not None else 0, len(content))
        return shared

    def taken_over(self, record: StepRecord) -> None:
        """Listens to the campaign: a step is counted, kept and given to whoever writes it down."""
        if self._turn is not None:
            self._turn.taking += time.thread_time() - self._left
        self._left = time.thread_time()

    def first_ready(self, calls: Sequence[Any], seconds: float) -> list[Any]:
        ready = self._cluster.first_ready(calls, seconds)
        return ready[:1]  # one at a time, so that what the driver does for it can be told apart

    def answer(self, call: Any) -> bytes:
        begun = time.thread_time()
        content = self._cluster.answer(call)
        taken = time.thread_time() - begun
        asked = self._rounds.pop(call, None)
        if asked is not None:
            self.transport.answers.append((len(content), taken))
            self._hear(call, content, *asked)
        self._left = time.thread_time()
        return content

    def close(self) -> None:
        self._cluster.close()

    def _hear(self, call: Any, content: bytes, worker: int, took: int, entries: int) -> None:
        if self.began is None:
            self.began = clocks()
        fields = Parcel.decoded(content).fields
        steps = fields["steps"]
        ran = sum(step["ran"] for step in steps)
        kept = sum(len(step["mutations"]["kept"]) for step in steps)
        before = sum(turn.busy for turn in self.turns if turn.worker == worker)
        self._turn = Turn(worker, ran, len(steps), kept, took, entries, fields["busy"] - before, len(content))
        if isinstance(self._cluster, InThisProcess):
            self._turn.worked, wall = self._cluster.took.pop(call)
            self._turn.stepped = self._turn.worked * min(1.0, self._turn.busy / wall)
        self.turns.append(self._turn)

    def asked(self, number: int, method: str, shared: Sequence[Any], call: Callable[[], Any]) -> Any:
        begun = time.thread_time()
        known = [self._shared.get(one, (0, 0)) for one in shared]
        if self._turn is not None and self._turn.worker == number:
            self._turn.asking += begun - self._left
            self._turn.bulletins, self._turn.told = len(known), sum(entries for entries, _ in known)
            self._turn.bytes_told = sum(size for _, size in known)
            self._turn.whole = True
        answer = call()
        self._left = time.thread_time()
        if method == ROUND:
            self._rounds[answer] = number, len(known), sum(entries for entries, _ in known)
            self.transport.calls.append((len(shared), self._left - begun))
        return answer


@dataclass(frozen=True)
class _CountedHandle:
    counted: Counted
    number: int
    handle: Handle

    def call(self, method: str, content: bytes, *shared: Any) -> Any:
        return self.counted.asked(self.number, method, shared, lambda: self.handle.call(method, content, *shared))


class InThisProcess:
    """Workers that do what they are asked when somebody wants the answer, one after another, without Ray."""

    def __init__(self) -> None:
        self.took: dict[int, tuple[float, float]] = {}  # seconds of the processor and by the clock, by call
        self._asked: dict[int, Callable[[], bytes]] = {}
        self._shared: dict[int, bytes] = {}
        self._numbers = 0

    def start(self, number: int) -> Handle:
        return _HandleHere(self, CrewMember(number))

    def share(self, content: bytes) -> int:
        self._shared[number := self.next_number()] = content
        return number

    def first_ready(self, calls: Sequence[int], seconds: float) -> list[int]:
        return [min(calls)]  # who was asked first

    def answer(self, call: int) -> bytes:
        work = self._asked.pop(call)
        begun = time.thread_time(), time.monotonic()
        content = work()
        self.took[call] = time.thread_time() - begun[0], time.monotonic() - begun[1]
        return content

    def close(self) -> None:
        pass

    def next_number(self) -> int:
        self._numbers += 1
        return self._numbers

    def ask(self, method: Callable[..., bytes], content: bytes, shared: Sequence[int]) -> int:
        contents = [self._shared[one] for one in shared]
        self._asked[number := self.next_number()] = lambda: method(content, *contents)
        return number


@dataclass(frozen=True)
class _HandleHere:
    cluster: InThisProcess
    member: CrewMember

    def call(self, method: str, content: bytes, *shared: int) -> int:
        return self.cluster.ask(getattr(self.member, method), content, shared)


def measured_with_ray(options: Mapping[str, Any], workers: int, seconds: float) -> Measured:
    """A campaign whose workers are processes, as a user runs it."""
    return _measured(options, workers, seconds, lambda: RayCluster(CrewMember, workers, None))


def measured_here(options: Mapping[str, Any], workers: int, seconds: float) -> Measured:
    """The same on one processor and in one process, so that seconds of workers are known too."""
    with one_processor():
        return _measured(options, workers, seconds, InThisProcess)


def _measured(options: Mapping[str, Any], workers: int, seconds: float, cluster: Callable[[], Any]) -> Measured:
    made: list[Counted] = []

    def hire(asked: Any) -> Hiring:
        one = cluster()
        made.append(Counted(one, getattr(one, "processors", 1)))
        return Hiring(made[0], workers)  # type: ignore[arg-type]

    place = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, patch.object(assemble, "hire", hire):
        out = Path(folder) / "campaign"
        given = {"out": str(out), "threads": 1, "workers": workers, "budget": seconds, **options}
        session = assemble.assemble(FUZZ.parsed(given))
        try:
            summary = session.search([made[0].taken_over])
            ended = clocks()
            session.archive.wait()
            session.archive.conclude(summary)
            points, lines = read_coverage(out), read_journal(out / JOURNAL).lines
        finally:
            session.release()
            os.chdir(place)
    counted = made[0]
    wall, process, thread = (after - before for before, after in zip(counted.began or ended, ended, strict=True))
    return Measured(
        workers, summary, wall, process - thread, tuple(counted.turns), counted.transport, tuple(points), lines
    )


def clocks() -> tuple[float, float, float]:
    """By the clock, of the processor in this process, and in this thread."""
    return time.monotonic(), time.process_time(), time.thread_time()


@contextmanager
def one_processor() -> Iterator[None]:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
