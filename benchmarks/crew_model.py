"""A model of a campaign with any number of workers: one driver that serves them in turn, and units that they discover.

Coverage is a set of units, each discovered by any execution with a probability of its own, which does not change. A
worker keeps an input that shows a unit which neither it nor what it was told has shown; all that the driver took over
before decides whether that is new to all. So duplicates follow from what a worker does not know yet. Everything is an
expectation: nothing is drawn. How long rounds are and how much is kept in one are the campaign's own rules.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from jostle.scale.crew import BULLETIN_SECONDS, ROUNDS_AHEAD
from jostle.scale.pace import Pace

PARTS = 4  # of a round, in each of which the chance to discover something is taken to be the same
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Units:
    """How fast units are discovered."""

    chances: Sequence[float]  # of a unit in one execution, by class of units
    counts: Sequence[float]  # units of each class, after the seeds
    clumping: float  # shape of the gamma distribution of new units by input: small if a few inputs show many

    def kept(self, known: float, ran: float) -> float:
        """How many of so many executions show something new, after as many that are known."""
        share = ran / PARTS
        middles = known + share * (np.arange(PARTS) + 0.5)
        return float(share * self.chance(middles).sum())

    def chance(self, known: Numbers) -> Numbers:
        """Of an execution to show something new, after so many [n] that are known: [n]"""
        chances, counts = np.asarray(self.chances), np.asarray(self.counts)
        expected = np.exp(-np.outer(known, chances)) @ (chances * counts)
        return 1 - (1 + expected / self.clumping) ** -self.clumping


@dataclass(frozen=True)
class Costs:
    """Seconds of one processor."""

    execution: float  # a worker's, of a mutant made, run and assessed
    round: float  # a worker's besides, to take and to give messages
    bulletin: float  # a worker's, to take one in
    told: float  # a worker's, to take in an entry of a bulletin
    handed: float  # a worker's, to hand over an entry
    turn: float  # the driver's thread that takes over, for a round
    entry: float  # the same, for an entry that is handed over
    put_out: float  # the same, for a bulletin
    asked: float  # the same, for each bulletin that a worker is told


@dataclass(frozen=True)
class Subject:
    """A campaign's constants."""

    units: Units
    costs: Costs
    input_bytes: int
    entry_bytes: float  # of an entry as it is handed over
    told_bytes: float  # of an entry as others are told of it
    round_bytes: float  # beyond which a round ends
    step_rows: float  # executions of a step, the least that a round takes


@dataclass(frozen=True)
class Simulated:
    """What a run came to; rates are by the clock."""

    workers: int
    rate: float  # executions per second of all
    bytes_in: float  # per second at the driver
    peak_in: float  # bytes in its busiest second
    bytes_out: float  # per second, news put out once
    bytes_taken: float  # per second, of news by each worker
    utilisation: float  # of a processor by the driver
    queue: float  # seconds that an answer waits for the driver at most
    synchronising: float  # share of workers' time
    stale: float  # seconds, mean age of an entry when another worker gets it
    stalest: float
    duplicates: float  # share of the entries kept
    passed_over: float  # share of executions that were not looked at for want of room


@dataclass
class _Worker:
    own: float = 0.0  # executions that were looked at
    heard: float = 0.0  # the same of others, as far as it knows
    asked: list[_Asked] = field(default_factory=list)
    rounds: int = 0
    handed: float = 0.0  # of its own, that the driver has
    place: int = 0  # in the log of bulletins
    busy: float = 0.0


@dataclass(frozen=True)
class _Asked:
    at: float
    seconds: float
    room: int | None
    heard: float
    since: int  # places in the log
    until: int


@dataclass(frozen=True)
class _Answer:
    number: int
    room: int | None
    ran: float
    looked_at: float
    kept: float
    found: float  # when, on average
    begun: float


@dataclass(frozen=True)
class _Bulletin:
    entries: float
    found: float  # on average
    oldest: float
    known: float  # executions that the driver knew of


class Simulation:
    """Workers and a driver, from when the seeds have run.

    With `processors` workers share so many, besides what the driver takes; without, each has one of its own. Without
    `bounded`, workers keep all that is new.
    """

    def __init__(self, subject: Subject, workers: int, processors: float | None = None, bounded: bool = True):
        self._subject, self._count, self._processors = subject, workers, processors
        self._bounded, self._pace = bounded, Pace.guessed(workers, round(subject.step_rows), subject.input_bytes)
        self._workers = [_Worker() for _ in range(workers)]
        self._log: list[_Bulletin] = []
        self._untold: list[tuple[float, float, float]] = []  # entries, when found, and the first of them
        self._ticked = 0.0
        self._all = 0.0  # executions that were looked at and that the driver has taken over
        self._ran = self._looked_at = 0.0  # of rounds that were handed over
        self._ran_within = 0.0  # of all rounds
        self._events: list[tuple[float, int, _Answer]] = []
        self._driver_free = self._driver_busy = 0.0
        self._kept = self._new = self._told = self._age = self._stalest = self._queue = 0.0
        self._arrivals: list[tuple[float, float]] = []  # when, bytes

    def run(self, seconds: float) -> Simulated:
        """What happens in so many seconds; of a round that they cut off, the part counts that lies in them."""
        self._until = seconds
        for number in range(self._count):
            for _ in range(ROUNDS_AHEAD):
                self._ask(number, 0.0)
        while self._events and self._events[0][0] < seconds:
            at, _, answer = heapq.heappop(self._events)
            self._take_over(at, answer)
        return self._result(seconds)

    def _slowness(self) -> float:
        """How many seconds by the clock a second of the processor takes a worker."""
        return 1.0 if self._processors is None else max(1.0, self._count / self._processors)

    def _ask(self, number: int, at: float) -> None:
        """Asks for a round; what is new goes with it."""
        worker = self._workers[number]
        since, worker.place = worker.place, len(self._log)
        seconds = self._pace.round_seconds(worker.rounds)
        worker.rounds += 1
        heard = self._log[-1].known - worker.handed if self._log else 0.0
        room = self._pace.allow(seconds, at) if self._bounded else None
        worker.asked.append(_Asked(at, seconds, room, max(0.0, heard), since, len(self._log)))
        if len(worker.asked) == 1:
            self._work(number, at)

    def _work(self, number: int, at: float) -> None:
        """The worker does the next round that it was asked for; the answer is an event."""
        worker, costs = self._workers[number], self._subject.costs
        asked, slow = worker.asked[0], self._slowness()
        at = max(at, asked.at)
        bulletins = self._log[asked.since : asked.until]
        others = max(0, self._count - 1) / self._count
        told = others * sum(one.entries for one in bulletins)
        taking_in = costs.bulletin * len(bulletins) + costs.told * told
        self._pace.told.add(told, taking_in)
        worker.heard = max(worker.heard, asked.heard)
        begun = at + (costs.round + taking_in) * slow
        self._age_of(bulletins, others, begun)
        seconds = max(asked.seconds, self._subject.step_rows * costs.execution * slow)
        ran = seconds / slow / costs.execution
        looked_at, kept = self._kept_of(worker, asked, ran)
        if kept * self._subject.entry_bytes > self._subject.round_bytes:
            share = self._subject.round_bytes / (kept * self._subject.entry_bytes)
            ran, seconds, looked_at, kept = (share * one for one in (ran, seconds, looked_at, kept))
        done = begun + seconds
        within = max(0.0, min(done, self._until) - begun)
        worker.own, worker.busy = worker.own + looked_at, worker.busy + within
        self._ran_within += ran * within / seconds
        answer = _Answer(number, asked.room, ran, looked_at, kept, (begun + done) / 2, begun)
        heapq.heappush(self._events, (done + costs.handed * kept * slow, number, answer))

    def _kept_of(self, worker: _Worker, asked: _Asked, ran: float) -> tuple[float, float]:
        """Of so many executions, those that are looked at and those that are kept: a step begins with room or not."""
        units, known = self._subject.units, worker.own + worker.heard
        kept = units.kept(known, ran)
        if asked.room is None:
            return ran, kept
        steps = ran / self._subject.step_rows
        looked_at = ran * min(1.0, np.ceil(asked.room / max(kept / steps, 1e-9)) / steps)
        return looked_at, units.kept(known, looked_at)

    def _take_over(self, at: float, answer: _Answer) -> None:
        worker, costs = self._workers[answer.number], self._subject.costs
        worker.asked.pop(0)
        if worker.asked:
            self._work(answer.number, at)
        new = min(answer.kept, self._subject.units.kept(self._all, answer.looked_at))
        self._all, worker.handed = self._all + answer.looked_at, worker.handed + answer.looked_at
        self._ran, self._looked_at = self._ran + answer.ran, self._looked_at + answer.looked_at
        self._kept, self._new = self._kept + answer.kept, self._new + new
        self._arrivals.append((at, answer.kept * self._subject.entry_bytes))
        start = max(at, self._driver_free)
        self._queue = max(self._queue, start - at)
        published = self._count > 1 and self._published(new, answer, start)
        service = costs.turn + costs.entry * answer.kept + costs.put_out * published
        service += costs.asked * (len(self._log) - worker.place)
        self._driver_free = start + service * self._slowness()
        self._driver_busy += service
        self._pace.taken.add(answer.kept, service)
        self._pace.kept(round(answer.kept), answer.room)
        self._ask(answer.number, self._driver_free)

    def _published(self, new: float, answer: _Answer, now: float) -> bool:
        """Whether what is new is told, with all else of some time."""
        self._untold.append((new, answer.found, answer.begun))
        due = now - self._ticked >= BULLETIN_SECONDS
        if due:
            entries = sum(entries for entries, _, _ in self._untold)
            found = sum(entries * found for entries, found, _ in self._untold) / max(entries, 1e-12)
            self._log.append(_Bulletin(entries, found, min(first for _, _, first in self._untold), self._all))
            self._untold, self._ticked = [], now
        return due

    def _age_of(self, bulletins: Sequence[_Bulletin], others: float, at: float) -> None:
        """Counts how old what it is told is when a worker has it."""
        for one in bulletins:
            self._told += others * one.entries
            self._age += others * one.entries * (at - one.found)
            self._stalest = max(self._stalest, at - one.oldest)

    def _result(self, seconds: float) -> Simulated:
        arrived = np.array([at for at, _ in self._arrivals] or [0.0])
        sizes = np.array([size for _, size in self._arrivals] or [0.0])
        return Simulated(
            workers=self._count,
            rate=self._ran_within / seconds,
            bytes_in=float(sizes.sum()) / seconds,
            peak_in=float(np.bincount(arrived.astype(int), sizes).max()),
            bytes_out=self._new * self._subject.told_bytes / seconds if self._count > 1 else 0.0,
            bytes_taken=self._told * self._subject.told_bytes / seconds / self._count,
            utilisation=self._driver_busy / max(seconds, self._driver_free),
            queue=self._queue,
            synchronising=1 - sum(one.busy for one in self._workers) / (seconds * self._count),
            stale=self._age / self._told if self._told else 0.0,
            stalest=self._stalest,
            duplicates=1 - self._new / self._kept if self._kept else 0.0,
            passed_over=1 - self._looked_at / self._ran if self._ran else 0.0,
        )
