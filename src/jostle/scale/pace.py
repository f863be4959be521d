"""How long workers work between two reports, and how much they may have to report."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

ROUND_SECONDS = 1.0  # that a round takes, or the one step that takes longer
FIRST_ROUND_SECONDS = 0.05  # when nearly all is new and all discover the same; each round takes twice the last
SOON = 0.1  # seconds after which a round ends that has found something
ROUNDS_A_SECOND = 32  # that the campaign has time for: more workers than so many do longer ones
DRIVERS_SHARE = 0.4  # of a processor, that a campaign's thread may spend on entries, besides what a round takes it
WORKERS_SHARE = 0.05  # of its time, that a worker may spend on what others kept
GUESSED, GUESSED_BYTES = 200, 2**24  # entries at most, and their inputs, of the message whose cost is guessed at first
LEAST_COST = 1e-7  # seconds


@dataclass
class Costs:
    """What an entry costs, by least squares over messages with many and with few, which cost something themselves."""

    messages: float
    entries: float
    seconds: float
    squares: float  # of entries
    products: float  # of entries and seconds

    @staticmethod
    def guessed(entry: float, entries: int) -> Costs:
        """From so many seconds for an entry, as if a message with so many and an empty one had shown it."""
        return Costs(2, entries, entries * entry, entries**2, entries**2 * entry)

    def add(self, entries: float, seconds: float) -> None:
        self.messages += 1
        self.entries += entries
        self.seconds += seconds
        self.squares += entries**2
        self.products += entries * seconds

    @property
    def entry(self) -> float:
        """Seconds."""
        spread = self.messages * self.squares - self.entries**2
        return max(LEAST_COST, (self.messages * self.products - self.entries * self.seconds) / spread)


@dataclass
class Pace:
    """Bounds what all workers together keep, so that neither the campaign nor its workers are busy with that alone.

    Every entry is taken over by one process and made known to all workers, so with enough of them it would be.
    """

    workers: int
    step: int  # executions of one, of which any number may be new
    taken: Costs  # over, by the campaign
    told: Costs  # to workers, who take it in
    _room: float = 0.0  # for entries that nobody was allowed yet; less than nothing where workers kept more
    _filled: float | None = None  # when that was, by the clock

    @staticmethod
    def guessed(workers: int, step: int, input_bytes: int) -> Pace:
        """Before anything is known but how large an input is.

        The guess weighs about as much as one message that is measured: a few of them take its place.
        """
        taken, told = 3e-5 + 1e-8 * input_bytes, 5e-6 + 5e-9 * input_bytes
        entries = min(GUESSED, 1 + GUESSED_BYTES // max(1, input_bytes))
        return Pace(workers, step, Costs.guessed(taken, entries), Costs.guessed(told, entries))

    @property
    def longest_round(self) -> float:
        """Seconds."""
        return max(self._shortest_round, ROUND_SECONDS)

    @property
    def soon(self) -> float:
        """Seconds after which a round ends that has found something."""
        return max(self._shortest_round, SOON)

    def round_seconds(self, rounds: int) -> float:
        """Of a worker that has done so many."""
        return max(self._shortest_round, min(ROUND_SECONDS, FIRST_ROUND_SECONDS * 2.0 ** min(rounds, 30)))

    @property
    def _shortest_round(self) -> float:
        """Seconds, so that all of them are no more than the campaign has time for."""
        return self.workers / ROUNDS_A_SECOND

    def allow(self, seconds: float, now: float) -> int | None:
        """How many entries a worker may keep in a round of so many seconds; None is any number."""
        if self.workers == 1:
            return None
        of_others = 1 - 1 / self.workers  # which is all that a worker takes in
        a_second = min(DRIVERS_SHARE / self.taken.entry, WORKERS_SHARE / (of_others * self.told.entry))
        most = max(self.step, a_second * self.longest_round)
        self._room = most if self._filled is None else min(most, self._room + a_second * (now - self._filled))
        self._filled = now
        share = max(self.step, ceil(a_second * seconds / self.workers))
        allowed = min(int(self._room), share) if self._room >= self.step else 0
        self._room -= allowed
        return allowed

    def kept(self, entries: int, allowed: int | None) -> None:
        """A worker has kept so many where it was allowed so many; it looks at whole steps, which may have more."""
        if allowed is not None:
            self._room -= entries - allowed
