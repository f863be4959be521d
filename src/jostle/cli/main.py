"""The `jostle` command: runs a subcommand, and turns every failure into one line and an exit code."""

from __future__ import annotations

import errno
import signal
import sys
import traceback
from collections.abc import Sequence
from contextlib import nullcontext
from types import FrameType

from typer.exceptions import Abort, TyperException

from jostle.cli.in_subprocess import command_in_subprocess, is_subprocess
from jostle.cli.model_arguments import needs_subprocess, needs_worker
from jostle.cli.terminal import Exit, tell
from jostle.errors import JostleError, UsageError
from jostle.isolation.ahead import MODEL_WORKER, started_ahead

CLICKS_INTERRUPTED = 130
LONGEST = 60  # characters of a name that a refusal shows


def main() -> None:
    """Runs one command and exits with its code."""
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        code = _run(sys.argv[1:])
        if code == CLICKS_INTERRUPTED:
            code = _told("interrupted; what was found is saved, and the same command goes on", Exit.INTERRUPTED)
    except TyperException as error:
        code = _refused(f"{error.format_message()} (jostle --help tells the usage)")
    except UsageError as error:
        code = _refused(str(error))
    except JostleError as error:
        code = _told(str(error), Exit.OUR_ERROR)
    except (KeyboardInterrupt, Abort):
        code = _told("interrupted", Exit.INTERRUPTED)
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
            code = _refused(
                f"{str(error.filename)[:LONGEST]}…: the name is longer than the file system takes: shorten it"
            )
        else:
            traceback.print_exc()
            code = _told("this is a defect in Jostle itself; what was found so far is saved", Exit.OUR_ERROR)
    sys.exit(int(code or Exit.CLEAN))


def _run(arguments: Sequence[str]) -> int | None:
    """Runs the command; what it will start anyhow starts before torch is imported here, which takes seconds."""
    if "torch" in sys.modules or is_subprocess():
        return _run_here()
    if needs_subprocess(arguments):
        return command_in_subprocess()
    with started_ahead(MODEL_WORKER) if needs_worker(arguments) else nullcontext():
        return _run_here()


def _run_here() -> int | None:
    from jostle.cli.app import app

    code: int | None = app(standalone_mode=False)
    return code


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _refused(message: str) -> Exit:
    return _told(" ".join(message.split()), Exit.USAGE)


def _told(message: str, code: Exit) -> Exit:
    tell(message)
    return code
