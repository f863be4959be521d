"""Runs a subcommand, and turns every failure into one line and an exit code."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

from jostle.cli.interrupted_imports import ASKING_TO_END, STANDARD_ERROR, handled_by
from jostle.cli.model_arguments import needs_subprocess, needs_worker
from jostle.cli.terminal import Exit, print_version, tell
from jostle.errors import Interrupted, JostleError, ProcessSpoilt, UsageError
from jostle.foreign import first_line, kind_of, raised_by_user
from jostle.process_state import TIMERS, TimerRanOut, keep_streams, stop_timer

CLICKS_INTERRUPTED = 130
LONGEST = 60  # characters of a name that a refusal shows
BEYOND_TELLING = (
    b"jostle: functions of Python were replaced while the model ran: what was found is safe; --isolate runs it in a "
    b"process of its own\n"
)
TO_THE_END = 3.0  # seconds that libraries, and threads that a model left, have once everything is saved


def run_and_exit() -> NoReturn:
    """Runs one command and ends this process with its code, whatever the model left behind."""
    sys.unraisablehook = _unraisable
    code = _run_or_give_up()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    if code == Exit.OUR_ERROR:
        os._exit(code)  # the model may have taken the memory or the files that libraries, and threads, need to end
    _always_end_with(code)
    threading.Thread(target=_end_anyhow, args=(code,), daemon=True).start()
    sys.exit(code)


def _run_or_give_up() -> int:
    """Where even telling of a failure fails, Python would end with the exit code of findings."""
    try:
        return run_command()
    except Interrupted:  # once more, while the first was told
        os._exit(Exit.INTERRUPTED)
    except BaseException:
        try:
            os.write(STANDARD_ERROR, BEYOND_TELLING)
        finally:
            os._exit(Exit.OUR_ERROR)


def _always_end_with(code: int) -> None:
    """From now on, a model that left something to do at the end can end the process then, but with our code."""
    end = os._exit
    os._exit = lambda status: end(code)


def _end_anyhow(code: int) -> None:
    """Ends a process whose main thread has ended, and which waits for others."""
    time.sleep(TO_THE_END)
    if not threading.main_thread().is_alive():
        os._exit(code)


def _unraisable(failure: sys.UnraisableHookArgs) -> None:
    """Is silent about what objects of the model raise when they are removed, which nobody can catch."""
    if failure.exc_value is None or raised_by_user(failure.exc_value) is None:
        sys.__unraisablehook__(failure)


def run_command() -> int:
    """Runs one command in this process, which goes on, and gives its exit code."""
    keep_streams()
    with _signals_raise():
        try:
            code = _run(sys.argv[1:])
            if code == CLICKS_INTERRUPTED:
                code = _told("interrupted; what was found is saved, and the same command goes on", Exit.INTERRUPTED)
        except UsageError as error:
            code = _refused(str(error))
        except JostleError as error:
            code = _told(str(error), Exit.OUR_ERROR)
        except Interrupted:
            code = _told("interrupted", Exit.INTERRUPTED)
        except BaseException as error:
            code = _failed(error)
    return int(code or Exit.CLEAN)


@contextmanager
def _signals_raise() -> Iterator[None]:
    """While this lasts, what asks the process to end raises Interrupted, and a timer that ran out TimerRanOut."""
    timers = dict.fromkeys(TIMERS, _timer_ran_out)  # which only foreign code sets, and which end a process silently
    with handled_by({**dict.fromkeys(ASKING_TO_END, _interrupt), **timers}):
        yield


def _failed(error: BaseException) -> Exit:
    """Tells whose fault it is: that of the user's code, if it was raised there or took what we need, or ours."""
    if isinstance(error, TimerRanOut):
        return _told(str(ProcessSpoilt(f"a timer that the model set ran out later ({error})")), Exit.OUR_ERROR)
    if isinstance(error, OSError) and error.errno == errno.EBADF:
        return _told(str(ProcessSpoilt("files of the process were closed while the model ran")), Exit.OUR_ERROR)
    if isinstance(error, SystemExit) and isinstance(error.__context__, BrokenPipeError):
        return Exit.OUR_ERROR  # nobody reads what we print any more
    if isinstance(error, SystemExit) and raised_by_user(error) is None:  # nothing of ours raises it
        return _told(str(ProcessSpoilt("a thread of the model asked the process to end")), Exit.OUR_ERROR)
    if (place := raised_by_user(error)) is not None:
        what = f"{kind_of(error)} in {place}: {first_line(error)}".rstrip(": ")
        return _refused(f"{what}; what was found is safe: mend that code, or keep it apart with --isolate")
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return _refused(f"{str(error.filename)[:LONGEST]}…: the name is longer than the file system takes: shorten it")
    traceback.print_exception(error)
    return _told("this is a defect in Jostle itself; what was found so far is saved", Exit.OUR_ERROR)


def _run(arguments: Sequence[str]) -> int | None:
    """Runs the command, which imports what it needs and no more."""
    if arguments == ["--version"]:
        print_version()
        return Exit.CLEAN
    if "torch" in sys.modules or not (needs_subprocess(arguments) or needs_worker(arguments)):
        return _run_here()
    return _run_model_file(arguments)


def _run_model_file(arguments: Sequence[str]) -> int | None:
    """The same; what it will start anyhow starts before torch is imported here, which takes seconds."""
    from jostle.cli.in_subprocess import command_in_subprocess, is_subprocess
    from jostle.isolation.ahead import MODEL_WORKER, started_ahead

    if is_subprocess():
        return _run_here()
    if needs_subprocess(arguments):
        return command_in_subprocess()
    with started_ahead(MODEL_WORKER):
        return _run_here()


def _run_here() -> int | None:
    from typer.exceptions import Abort, TyperException

    from jostle.cli.app import app

    try:
        code: int | None = app(standalone_mode=False)
    except TyperException as error:
        raise UsageError(f"{error.format_message()} (jostle --help tells the usage)") from error
    except Abort as error:
        raise Interrupted from error
    return code


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise Interrupted


def _timer_ran_out(number: int, frame: FrameType | None) -> None:
    """Once: a timer that goes on would interrupt us too."""
    stop_timer(number)
    raise TimerRanOut(signal.Signals(number).name)


def _refused(message: str) -> Exit:
    return _told(" ".join(message.split()), Exit.USAGE)


def _told(message: str, code: Exit) -> Exit:
    """The code holds even where the line cannot be written: nowhere to write, no memory."""
    with suppress(Exception):
        tell(message)
    return code
