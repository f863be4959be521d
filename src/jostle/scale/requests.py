"""What a campaign asks of a worker, and what a worker tells of a round besides its steps: plain values of a message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from jostle.records import Bug
from jostle.scale.parcel import Parcel
from jostle.step_records import Tries


@dataclass(frozen=True)
class WorkerSetup:
    """What a worker is to compose, and what must be the same where it is."""

    command: str
    options: Mapping[str, Any]  # what a user chose, but for workers and folders, which are the campaign's own
    digest: str  # of model and seeds
    versions: Mapping[str, str]
    place: str  # the folder in which the campaign was begun
    importable: Sequence[str]  # Python's path there


@dataclass(frozen=True)
class BeginRequest:
    """Where the campaign stands when a worker begins."""

    setup: WorkerSetup
    seconds: float  # that the campaign has spent
    executions: int | None  # that it may have in all
    bugs: Sequence[Bug]
    flaky: Sequence[Bug]
    workers: int

    @property
    def parcel(self) -> Parcel:
        return Parcel(asdict(self))

    @staticmethod
    def of(parcel: Parcel) -> BeginRequest:
        fields = dict(parcel.fields)
        bugs, flaky = ([(kind, number) for kind, number in fields.pop(name)] for name in ("bugs", "flaky"))
        return BeginRequest(WorkerSetup(**fields.pop("setup")), bugs=bugs, flaky=flaky, **fields)


@dataclass(frozen=True)
class RoundRequest:
    """How long a worker may work until it answers, and how much it may have to hand over."""

    executions: int | None  # that the campaign may have had when it answers; None is no limit
    seconds: float
    soon: float  # seconds, once it found something
    room: int | None  # entries that it may keep; None is any number

    @property
    def parcel(self) -> Parcel:
        return Parcel(asdict(self))

    @staticmethod
    def of(parcel: Parcel) -> RoundRequest:
        return RoundRequest(**parcel.fields)


@dataclass(frozen=True)
class RoundFigures:
    """What a round came to besides its steps; all but `told` and `taking_in` are sums since the worker began."""

    busy: float = 0.0  # seconds in steps
    elapsed: float = 0.0  # seconds since it had begun
    told: int = 0  # entries of others that came with the round
    taking_in: float = 0.0  # seconds of a processor that it took to know them
    unassessed: int = 0  # executions of which nobody looked for what is new, for want of room
    exhausted: bool = False  # there is nothing left to mutate
    counts: Mapping[str, int] = field(default_factory=dict)  # what it counted besides steps, by name
    tries: Mapping[str, Tries] = field(default_factory=dict)  # by transformation

    @staticmethod
    def of(fields: Mapping[str, Any]) -> RoundFigures:
        """The inverse of `asdict`."""
        tries = {name: Tries(**one) for name, one in fields["tries"].items()}
        return RoundFigures(**{**fields, "tries": tries})
