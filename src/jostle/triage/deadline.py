"""How long the search for something better may take."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Deadline:
    """A point in time, by the clock that only goes on."""

    end: float

    @staticmethod
    def after(seconds: float) -> Deadline:
        return Deadline(time.monotonic() + seconds)

    @property
    def left(self) -> float:
        """Seconds, never below 0."""
        return max(0.0, self.end - time.monotonic())

    @property
    def passed(self) -> bool:
        return time.monotonic() >= self.end

    def share(self, part: int, whole: int) -> Deadline:
        """When a part of the work that is left must be over, so that the rest gets as much time in proportion."""
        return Deadline.after(self.left * part / max(whole, 1))
