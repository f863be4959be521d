"""The workers of a campaign one by one: what each was asked, told and allowed, and what came of it."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jostle.scale.cluster import Handle
from jostle.scale.corpus_ids import CorpusIds
from jostle.scale.requests import RoundFigures
from jostle.step_records import Tries

LEASED = 4  # rounds that a worker has executions for ahead of it
MOST_NEWS = (
    1000  # bulletins that wait for a worker; one that was silent for longer discovers again what others did before
)


@dataclass(frozen=True)
class Request:
    """Something that a worker was asked."""

    method: str
    answer: Any  # by which a cluster finds it
    at: float  # when, by the clock
    room: int | None = None  # entries that it may keep; None is any number


@dataclass(eq=False)
class Member:
    """A worker, and what is known of it."""

    number: int
    handle: Handle
    ids: CorpusIds
    executions: int  # of the campaign, when this one began
    deaths: int = 0  # in a row, of those whose place it takes
    calls: deque[Request] = field(default_factory=deque)  # that are not answered yet
    news: deque[Any] = field(default_factory=lambda: deque(maxlen=MOST_NEWS))  # to tell it, as a cluster finds it
    rounds: int = 0  # that it was asked for
    granted: int = 0  # executions
    ran: int = 0  # executions that were handed over
    heard: float = 0.0  # when it last answered, by the clock
    figures: RoundFigures = field(default_factory=RoundFigures)  # of the round that it last answered with
    begun: bool = False  # it has loaded its model, and gone through all that was done before

    @property
    def ready(self) -> bool:
        """Whether it can do something."""
        return self.begun and not self.figures.exhausted

    @property
    def rate(self) -> float:
        """Executions per second."""
        return self.ran / self.figures.elapsed if self.figures.elapsed else 0.0

    def asked(self, method: str) -> int:
        """Calls of a method that are not answered yet."""
        return sum(call.method == method for call in self.calls)


@dataclass
class AllTries:
    """What came of all workers' tries, by transformation; each worker tells all of its own so far."""

    _of: dict[int, Mapping[str, Tries]] = field(default_factory=dict)  # by worker
    _made: Counter[str] = field(default_factory=Counter)
    _succeeded: Counter[str] = field(default_factory=Counter)
    _needed: dict[str, str] = field(default_factory=dict)

    def tell(self, worker: int, tries: Mapping[str, Tries]) -> None:
        before, self._of[worker] = self._of.get(worker, {}), tries
        for name, one in tries.items():
            known = before.get(name, Tries(0, 0, one.needed))
            self._made[name] += one.made - known.made
            self._succeeded[name] += one.succeeded - known.succeeded
            self._needed[name] = one.needed

    def end(self, worker: int) -> None:
        """What it has told stays; whoever takes its place begins at nothing."""
        self._of.pop(worker, None)

    def total(self) -> dict[str, Tries]:
        return {name: Tries(self._made[name], self._succeeded[name], self._needed[name]) for name in self._made}


@dataclass
class Grants:
    """How many executions workers may still be allowed, so that all of them together do what the campaign may."""

    left: int | None  # None is no limit

    def lease(self, member: Member, least: int, workers: int, seconds: float) -> int | None:
        """How many executions the campaign may have had when the worker stops, as that counts them.

        It gets what it does in some rounds of so many seconds, and less towards the end, so that all end at about the
        same time.
        """
        if self.left is None:
            return None
        share = (
            self.left if workers == 1 else max(least, min(int(LEASED * seconds * member.rate), self.left // workers))
        )
        more = min(self.left, max(0, share - (member.granted - member.ran)))
        self.left -= more
        member.granted += more
        return member.executions + member.granted

    def give_back(self, member: Member) -> None:
        """What a worker that is gone, or has nothing to do, will not use."""
        if self.left is not None:
            self.left += member.granted - member.ran
        member.granted = member.ran
