"""Where workers run: the seam between a crew and Ray."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class WorkerLost(Exception):
    """A worker's process, or its machine, is gone; the message says why as far as that is known."""


class Handle(Protocol):
    """A worker that answers calls one after another, in their order."""

    def call(self, method: str, content: bytes, *shared: Any) -> Any:
        """Asks without waiting; the answer is had by what this gives. What was shared before goes with it."""

    def end(self) -> None:
        """Ends its process, if that is still there."""


class Cluster(Protocol):
    """Starts workers, and waits for their answers."""

    processors: int
    free: int  # workers that it has room for now

    def start(self, number: int) -> Handle: ...

    def share(self, content: bytes) -> Any:
        """Puts something where any number of calls can have it go with them."""

    def first_ready(self, calls: Sequence[Any], seconds: float) -> list[Any]:
        """Those that are answered, or whose worker is lost, after so many seconds at most."""

    def answer(self, call: Any) -> bytes:
        """What was answered; raises WorkerLost."""

    def close(self) -> None: ...
