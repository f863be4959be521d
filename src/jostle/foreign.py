"""The one place where foreign code runs and whatever it raises is caught and turned into a value."""

from __future__ import annotations

import re
import signal
import sysconfig
import threading
import traceback
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from jostle.errors import Interrupted, JostleError, UsageError
from jostle.process_state import ProcessState, in_foreign_hands

OURS, INSTALLED = Path(__file__).parent, "site-packages"
WATCHING = OURS / "frameworks" / "backends"
STANDARD = sysconfig.get_path("stdlib")
Result = TypeVar("Result")
LONGEST_MESSAGE, LONGEST_TRACEBACK = 4_000, 100_000  # characters
A_PLACE = re.compile(r"(Exception from|Check '[^']*' failed at) \S+:\d+:?")  # as C++ libraries begin a message
MOST_CAUSES = 100  # of an exception, one behind the other; foreign code may tie them in a ring
CRASH = "crash"  # the kind of what a target raises or dies of
TRUSTING = "give --sandbox off if you trust it"
# As Python keeps them: a class may put something else in their place.
NAME_OF_CLASS, TRACEBACK_OF_EXCEPTION = type.__dict__["__name__"], BaseException.__dict__["__traceback__"]
REFUSALS = {PermissionError.__name__, "PermissionDeniedError"}  # by Python, by TensorFlow


@dataclass(frozen=True)
class Crash:
    """How foreign code failed on one input: an exception, or the end of its process."""

    error: str  # the exception's type, the signal's name
    message: str
    where: str  # innermost frame, file:function
    traceback: str  # or what the process wrote last
    fatal: bool = False  # it took its process with it
    twin: str = ""  # whose failure it is, as the user calls it, if not the model's or not known
    denied: bool = False  # because the system refused it something, as a sandbox does

    def by_sandbox(self) -> str:
        """What is said of a model that failed because it was denied something in a sandbox."""
        what = f"{self.error} in {self.where}: {self.message}".rstrip(": ")
        return f"the sandbox kept the model from writing a file or from the network ({what}): {TRUSTING}"


class FailedElsewhere(Exception):
    """Foreign code failed in another process, or in one of several models; carries how."""

    def __init__(self, crash: Crash):
        super().__init__(f"{crash.error}: {crash.message}")
        self.crash = crash


class UnfitOutput(ValueError):
    """A model's output holds no plain numbers; the message names the fix."""


class NotOneRowPerInput(ValueError):
    """A model's output does not hold one row for each input of its batch."""


def attempt(foreign: Callable[[], Result], refuses: bool = True) -> Result | Crash:
    """What foreign code returns, or how it failed; what went wrong on our side, such as a full disk, is raised.

    Where foreign code `refuses`, as what loads a model may, an error of our kinds that it raises is raised too.
    What it changed of the process is put back, and noted in `meddling`.
    """
    try:
        return _put_back_after(foreign)
    except JostleError as error:
        if refuses or raised_by_user(error) is None:
            raise
        return _crash_of(error)  # the model's, which knows our exceptions
    except FailedElsewhere as failure:
        return failure.crash
    except BaseException as error:  # one that ends itself, or interrupts itself, must not end us
        if asks_to_end(error):
            raise
        return _crash_of(error)


def asked(part: str, foreign: Callable[..., Result], *given: object) -> Result:
    """What a user's own part returns; what it raises is told in one line that names the part and its line."""
    try:
        return _put_back_after(lambda: foreign(*given))
    except JostleError:
        raise
    except BaseException as error:
        if asks_to_end(error):
            raise
        what = f"{kind_of(error)} in {_line_in(error)}: {first_line(error)}"
        raise UsageError(f"{part} raised {what.rstrip(': ')}; mend it") from error


def asks_to_end(error: BaseException) -> bool:
    """Whether a person or the system asks this process to end.

    Our own handlers raise Interrupted; where Python's is in place, as in scripts, a KeyboardInterrupt may be Ctrl-C.
    """
    kind = type(error)  # of which an exception may lie where it is asked whether it is an instance
    if issubclass(kind, Interrupted):
        return True
    return issubclass(kind, KeyboardInterrupt) and signal.getsignal(signal.SIGINT) is signal.default_int_handler


def kind_of(error: BaseException) -> str:
    """The name of an exception's class, also where its class says another, or raises."""
    return str(NAME_OF_CLASS.__get__(type(error)))


def first_line(error: BaseException) -> str:
    """The first line of what an exception says, after lines that only name places; nothing, if it cannot say it."""
    said = _told_or(lambda: str(str(error)[:LONGEST_MESSAGE]), "").strip()
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return next((line for line in lines if not A_PLACE.fullmatch(line)), next(iter(lines), ""))


def _told_or(ask: Callable[[], Result], otherwise: Result) -> Result:
    """What an exception answers, which is foreign code too; something else where it raises."""
    try:
        return ask()
    except BaseException as failure:
        if asks_to_end(failure):
            raise
        return otherwise


# The last failure of foreign code in this process that came of what the system refused, if there was one.
denials: deque[Crash] = deque(maxlen=1)
# Set while torch's defaults are left to foreign code, which builds a model by those that its file sets: until the
# outermost call of it is over, and for good in a process of its own.
torch_is_lent = threading.Event()
# What foreign code changed of this process, in words, in the order in which it was first seen.
meddling: dict[str, None] = {}


def _put_back_after(foreign: Callable[[], Result]) -> Result:
    with in_foreign_hands:
        outermost = not torch_is_lent.is_set()
        before = ProcessState.now(with_torch=outermost)
        torch_is_lent.set()
        try:
            return foreign()
        finally:
            if outermost:
                torch_is_lent.clear()
            changed = before.restore()  # before any builtin is looked up, which may be another
            meddling.update(dict.fromkeys(changed))


def _crash_of(error: BaseException) -> Crash:
    frame = _where(error)
    crash = Crash(
        error=kind_of(error),
        message=first_line(error),
        where=f"{Path(frame.filename).name}:{frame.name}",
        traceback=_traceback_of(error)[-LONGEST_TRACEBACK:],
        denied=_told_or(lambda: _denied(error), False),
    )
    if crash.denied:
        denials.append(crash)
    return crash


def _traceback_of(error: BaseException) -> str:
    """Its own frames alone where an exception, or one behind it, cannot be asked whether it is there."""
    own = "".join(_frames_of(error).format()) + kind_of(error)
    return _told_or(lambda: "".join(traceback.format_exception(error)), own)


def _where(error: BaseException) -> traceback.FrameSummary:
    """The innermost frame but for ours that watch what a library calls; of endless recursion, one that recurs.

    Which of those is innermost depends on how deep the recursion began.
    """
    frames = _frames_of(error)
    if issubclass(type(error), RecursionError):
        times = Counter((frame.filename, frame.name) for frame in frames)
        often = max(times.values()) / 2
        recurring = [frame for frame in frames if times[frame.filename, frame.name] >= often]
        users = [frame for frame in recurring if _is_users(frame)]
        return max(users or recurring, key=lambda frame: (Path(frame.filename).name, frame.name))
    return ([one for one in frames if not Path(one.filename).is_relative_to(WATCHING)] or frames)[-1]


def _frames_of(error: BaseException) -> traceback.StackSummary:
    return traceback.extract_tb(TRACEBACK_OF_EXCEPTION.__get__(error))


def _denied(error: BaseException | None) -> bool:
    """Whether it, or what it was raised for, says that the system refused something."""
    for _ in range(MOST_CAUSES):
        if error is None:
            break
        if REFUSALS & {kind.__name__ for kind in type(error).__mro__}:
            return True
        error = error.__context__ if error.__cause__ is None else error.__cause__  # whose truth is foreign code too
    return False


def raised_by_user(error: BaseException) -> str | None:
    """FILE:LINE in the user's code, if the innermost frame lies there."""
    frames = _frames_of(error)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames and _is_users(frames[-1]) else None


def _line_in(error: BaseException) -> str:
    """FILE:LINE, the innermost that is neither ours nor of an installed package, if there is one."""
    frames = _frames_of(error)
    frame = ([one for one in frames if _is_users(one)] or frames)[-1]
    return f"{Path(frame.filename).name}:{frame.lineno}"


def _is_users(frame: traceback.FrameSummary) -> bool:
    file = Path(frame.filename)
    return not file.is_relative_to(OURS) and INSTALLED not in file.parts and not file.is_relative_to(STANDARD)
