"""A model of a campaign with any number of workers: one driver that serves them in turn, and units that they discover.

Coverage is a set of units, each discovered by any execution with a probability of its own, which does not change. A
worker keeps an input that shows a unit which neither it nor what it was told has shown; all that the driver took over
before decides whether that is new to all. So duplicates follow from what a worker does not know yet. Everything is an
expectation: nothing is drawn.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from jostle.scale.crew import ROUNDS_AHEAD

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
    bulletin: float  # a worker's, to take one
    told: float  # a worker's, to take over an entry of a bulletin
    handed: float  # a worker's, to hand over an entry
    turn: float  # the driver's, for a round
    step: float  # the driver's, for each step of it
    entry: float  # the driver's, to take over an entry, transport included
    news: float  # the driver's, to put out an entry that is new to all, transport included
    asked: float  # the driver's, for each bulletin that a worker is told
    asked_entry: float  # the driver's, for each entry of it
    written: float  # of the driver's other threads, for an entry
    merged: float  # anybody's, to merge a map of all units, a bit each, into another


@dataclass(frozen=True)
class Subject:
    """A campaign's constants."""

    units: Units
    costs: Costs
    entry_bytes: float  # of an entry with its trace
    round_seconds: float  # in steps
    round_bytes: float  # beyond which a round ends
    step_rows: float  # executions of a step
    map_bytes: float  # of all units, a bit each


@dataclass(frozen=True)
class Design:
    """How news are passed on."""

    told: str
    tick: float = 0.0  # seconds in which all that is new becomes one bulletin; 0: one for each round
    first_round: float | None = None  # seconds of the first round of each worker, doubled from round to round
    maps: bool = False  # news are the units that are covered, a bit each, and no entries
    group: int | None = None  # workers that have a driver of their own, which has workers' place with the first driver


@dataclass(frozen=True)
class Simulated:
    """What a run came to; rates are by the clock."""

    workers: int
    rate: float  # executions per second of all
    bytes_in: float  # per second at the driver
    bytes_out: float  # per second, news put out once
    bytes_taken: float  # per second, of news by each worker
    peak_in: float  # bytes in the busiest second
    utilisation: float  # of the driver's thread that takes over
    writing: float  # of its other threads: more than 1 falls behind for ever
    peak: float  # seconds of work that wait for the driver at most
    synchronising: float  # share of workers' time
    stale: float  # seconds, mean age of an entry when another worker gets it
    stalest: float
    duplicates: float  # share of the entries kept


@dataclass
class _Worker:
    own: float = 0.0  # executions
    heard: float = 0.0  # executions of others that it knows
    asked: list[_Asked] = field(default_factory=list)
    free: float = 0.0
    rounds: int = 0
    handed: float = 0.0  # executions that the driver has
    place: int = 0  # in the log of bulletins
    busy: float = 0.0


@dataclass(frozen=True)
class _Asked:
    at: float
    entries: float
    bulletins: int
    heard: float
    since: int  # places in the log
    until: int


@dataclass(frozen=True)
class _Bulletin:
    worker: int  # -1: of several
    entries: float
    found: float  # on average
    oldest: float


def simulated(
    subject: Subject, design: Design, workers: int, seconds: float, processors: int | None = None
) -> Simulated:
    """A run from when the seeds have run until so many seconds later.

    With `processors` workers and driver share so many; without, each has one of its own.
    """
    group = design.group
    if group is None or workers <= group:
        return Simulation(subject, design, workers, processors).run(seconds)
    below = Simulation(subject, design, group).run(seconds)
    above = Simulation(_of_group(subject, group), design, workers // group).run(seconds)
    return replace(
        above,
        workers=workers,
        rate=min(above.rate, below.rate * (workers // group)),
        bytes_taken=max(above.bytes_taken, below.bytes_taken),
        utilisation=max(above.utilisation, below.utilisation),
        peak=max(above.peak, below.peak),
        synchronising=max(above.synchronising, below.synchronising),
        stale=above.stale + below.stale,
        stalest=above.stalest + below.stalest,
    )


def _of_group(subject: Subject, group: int) -> Subject:
    """A group of workers as one that is so much faster; what its own driver does is that one's synchronising."""
    costs = replace(subject.costs, execution=subject.costs.execution / group)
    rows, size = subject.step_rows * group, subject.round_bytes * group
    return replace(subject, costs=costs, step_rows=rows, round_bytes=size)


class Simulation:
    """Workers and a driver, from when the seeds have run until so many seconds later."""

    def __init__(self, subject: Subject, design: Design, workers: int, processors: int | None = None):
        self._subject, self._design, self._count = subject, design, workers
        self._processors = processors
        self._workers = [_Worker() for _ in range(workers)]
        self._log: list[_Bulletin] = []
        self._waiting_news: list[_Bulletin] = []  # for the next tick
        self._ticked = 0.0
        self._all = 0.0  # executions that the driver has taken over
        self._events: list[tuple[float, int, float, float, float, float]] = []
        self._driver_free = self._driver_busy = self._written = 0.0
        self._kept = self._new = self._entries_told = self._age = self._stalest = self._backlog = 0.0
        self._bulletins_told = 0
        self._arrivals: list[tuple[float, float]] = []  # when, bytes

    def run(self, seconds: float) -> Simulated:
        for number in range(self._count):
            for _ in range(ROUNDS_AHEAD):
                self._ask(number, 0.0)
        while self._events and self._events[0][0] < seconds:
            self._take_over(*heapq.heappop(self._events))
        return self._result(seconds)

    def _slowness(self) -> float:
        """How many seconds by the clock a second of the processor takes a worker."""
        if self._processors is None:
            return 1.0
        now = max(self._driver_free, 1e-9)
        driver = min(1.0, (self._driver_busy + self._written) / now)
        return max(1.0, self._count / max(1e-9, self._processors - driver))

    def _ask(self, number: int, at: float) -> None:
        """Asks for a round; what is new goes with it."""
        worker = self._workers[number]
        since, worker.place = worker.place, len(self._log)
        some = [one for one in self._log[since:] if one.worker != number]
        heard = self._all - worker.handed if self._design.tick == 0 or some else worker.heard
        worker.asked.append(_Asked(at, sum(one.entries for one in some), len(some), heard, since, len(self._log)))
        if len(worker.asked) == 1:
            self._work(number, at)

    def _work(self, number: int, at: float) -> None:
        """The worker does the next round that it was asked for; the answer is an event."""
        worker, costs, units = self._workers[number], self._subject.costs, self._subject.units
        asked, slow = worker.asked[0], self._slowness()
        at = max(at, asked.at)
        told = costs.merged * asked.bulletins if self._design.maps else costs.told * asked.entries
        taking = (costs.round + costs.bulletin * asked.bulletins + told) * slow
        worker.heard = max(worker.heard, asked.heard)
        self._age_of(number, asked, at + taking)
        known, seconds = worker.own + worker.heard, self._round_seconds(worker.rounds)
        ran = seconds / slow / costs.execution
        kept = units.kept(known, ran)
        if kept * self._subject.entry_bytes > self._subject.round_bytes:
            share = self._subject.round_bytes / (kept * self._subject.entry_bytes)
            ran, seconds = ran * share, seconds * share
            kept = units.kept(known, ran)
        worker.own, worker.rounds = worker.own + ran, worker.rounds + 1
        begun, done = at + taking, at + taking + seconds
        worker.busy += seconds
        worker.free = done + costs.handed * kept * slow
        heapq.heappush(self._events, (worker.free, number, ran, kept, (begun + done) / 2, begun))

    def _round_seconds(self, rounds: int) -> float:
        usual, first = self._subject.round_seconds, self._design.first_round
        return usual if first is None else min(usual, first * 2.0 ** min(rounds, 30))

    def _take_over(self, at: float, number: int, ran: float, kept: float, middle: float, begun: float) -> None:
        worker, costs = self._workers[number], self._subject.costs
        worker.asked.pop(0)
        if worker.asked:
            self._work(number, at)
        new = min(kept, self._subject.units.kept(self._all, ran))
        self._all, worker.handed = self._all + ran, worker.handed + ran
        self._kept, self._new = self._kept + kept, self._new + new
        self._arrivals.append((at, kept * self._subject.entry_bytes))
        start = max(at, self._driver_free)
        self._backlog = max(self._backlog, start - at)
        if new > 0 and self._count > 1:
            self._publish(_Bulletin(number, new, middle, begun), start)
        untold = [one for one in self._log[worker.place :] if one.worker != number]
        entries = 0.0 if self._design.maps else sum(one.entries for one in untold)
        asking = costs.asked * len(untold) + costs.asked_entry * entries
        news = costs.news * new if self._count > 1 and not self._design.maps else 0.0
        service = costs.turn + costs.step * ran / self._subject.step_rows + costs.entry * kept + news + asking
        slow = 1.0 if self._processors is None else max(1.0, (self._count + 1) / self._processors)
        self._driver_free = start + service * slow
        self._driver_busy += service
        self._written += costs.written * kept
        self._ask(number, self._driver_free)

    def _publish(self, bulletin: _Bulletin, now: float) -> None:
        """At once, or with all others of a tick."""
        if not self._design.tick:
            self._log.append(bulletin)
            return
        self._waiting_news.append(bulletin)
        if now - self._ticked >= self._design.tick:
            entries = sum(one.entries for one in self._waiting_news)
            found = sum(one.entries * one.found for one in self._waiting_news) / entries
            self._log.append(_Bulletin(-1, entries, found, min(one.oldest for one in self._waiting_news)))
            self._waiting_news, self._ticked = [], now

    def _age_of(self, number: int, asked: _Asked, at: float) -> None:
        """Counts how old what it is told is when a worker has it."""
        for one in self._log[asked.since : asked.until]:
            if one.worker != number:
                self._bulletins_told += 1
                self._entries_told += one.entries
                self._age += one.entries * (at - one.found)
                self._stalest = max(self._stalest, at - one.oldest)

    def _result(self, seconds: float) -> Simulated:
        size, maps = self._subject.entry_bytes, self._design.maps
        arrived = np.array([at for at, _ in self._arrivals] or [0.0])
        sizes = np.array([size for _, size in self._arrivals] or [0.0])
        by_second = np.bincount(arrived.astype(int), sizes)
        out = self._subject.map_bytes * len(self._log) if maps else self._new * size
        taken = self._subject.map_bytes * self._bulletins_told if maps else self._entries_told * size
        return Simulated(
            workers=self._count,
            rate=self._all / seconds,
            bytes_in=float(sizes.sum()) / seconds,
            bytes_out=out / seconds if self._count > 1 else 0.0,
            bytes_taken=taken / seconds / self._count,
            peak_in=float(by_second.max()),
            utilisation=self._driver_busy / max(seconds, self._driver_free),
            writing=self._written / seconds,
            peak=self._backlog,
            synchronising=1 - sum(min(seconds, one.busy) for one in self._workers) / (seconds * self._count),
            stale=self._age / self._entries_told if self._entries_told else 0.0,
            stalest=self._stalest,
            duplicates=1 - self._new / self._kept if self._kept else 0.0,
        )
