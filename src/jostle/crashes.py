"""How foreign code fails."""

from __future__ import annotations

from dataclasses import dataclass

CRASH = "crash"  # the kind of what a target raises or dies of


@dataclass(frozen=True)
class Crash:
    """How foreign code failed on one input: an exception, or the end of its process."""

    error: str  # the exception's type, the signal's name
    message: str
    where: str  # innermost frame, file:function
    traceback: str  # or what the process wrote last
    fatal: bool = False  # it took its process with it
