"""The one place where foreign code runs and whatever it raises is caught and turned into a value."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from jostle.errors import JostleError

Result = TypeVar("Result")
CRASH = "crash"  # the kind of what a target raises or dies of


@dataclass(frozen=True)
class Crash:
    """How foreign code failed on one input: an exception, or the end of its process."""

    error: str  # the exception's type, the signal's name
    message: str
    where: str  # innermost frame, file:function
    traceback: str  # or what the process wrote last
    fatal: bool = False  # it took its process with it
    twin: str = ""  # whose failure it is, as the user calls it, if not the model's or not known


class FailedElsewhere(Exception):
    """Foreign code failed in another process, or in one of several models; carries how."""

    def __init__(self, crash: Crash):
        super().__init__(f"{crash.error}: {crash.message}")
        self.crash = crash


class NotOneRowPerInput(ValueError):
    """A model's output does not hold one row for each input of its batch."""


def attempt(foreign: Callable[[], Result]) -> Result | Crash:
    """What foreign code returns, or how it failed; what went wrong on our side, such as a full disk, is raised."""
    try:
        return foreign()
    except JostleError:
        raise
    except FailedElsewhere as failure:
        return failure.crash
    except (Exception, SystemExit) as error:  # a script that ends itself must not end us
        frame = traceback.extract_tb(error.__traceback__)[-1]
        message = (str(error).strip().splitlines() or [""])[0]
        return Crash(
            error=type(error).__name__,
            message=message,
            where=f"{Path(frame.filename).name}:{frame.name}",
            traceback="".join(traceback.format_exception(error)),
        )
