"""How long the search for something better may take."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

Clock = Callable[[], float]  # seconds


def never() -> bool:
    return False


@dataclass(frozen=True)
class Deadline:
    """A point in time, by the clock that only goes on."""

    end: float
    clock: Clock = time.monotonic
    stopped: Callable[[], bool] = never  # whether somebody asked to stop, which is as if it had passed

    @staticmethod
    def after(seconds: float, clock: Clock = time.monotonic, stopped: Callable[[], bool] = never) -> Deadline:
        return Deadline(clock() + seconds, clock, stopped)

    @property
    def left(self) -> float:
        """Seconds, never below 0."""
        return 0.0 if self.stopped() else max(0.0, self.end - self.clock())

    @property
    def passed(self) -> bool:
        return self.stopped() or self.clock() >= self.end

    def share(self, part: int, whole: int) -> Deadline:
        """When a part of the work that is left must be over, so that the rest gets as much time in proportion."""
        return Deadline.after(self.left * part / max(whole, 1), self.clock, self.stopped)
