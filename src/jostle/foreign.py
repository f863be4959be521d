"""The one place where foreign code runs and whatever it raises is caught and turned into a value."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from jostle.errors import JostleError, UsageError

OURS, INSTALLED = Path(__file__).parent, "site-packages"
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
        return Crash(
            error=type(error).__name__,
            message=_first_line(error),
            where=f"{Path(frame.filename).name}:{frame.name}",
            traceback="".join(traceback.format_exception(error)),
        )


def asked(part: str, foreign: Callable[..., Result], *given: object) -> Result:
    """What a user's own part returns; what it raises is told in one line that names the part and its line."""
    try:
        return foreign(*given)
    except JostleError:
        raise
    except (Exception, SystemExit) as error:
        what = f"{type(error).__name__} in {_line_in(error)}: {_first_line(error)}"
        raise UsageError(f"{part} raised {what.rstrip(': ')}; mend it") from error


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [""])[0]


def _line_in(error: BaseException) -> str:
    """FILE:LINE, the innermost that is neither ours nor of an installed package, if there is one."""
    frames = [(Path(frame.filename), frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    own = [one for one in frames if not one[0].is_relative_to(OURS) and INSTALLED not in one[0].parts]
    file, line = (own or frames)[-1]
    return f"{file.name}:{line}"
