"""What can go wrong, by whose fault it is.

JostleError                 our own; every subclass prints as one line
├── WriteFailed             a file could not be written, the disk is full perhaps: exit 3, and the same command goes on
├── ProcessSpoilt           foreign code made the process unfit to go on in: exit 3, and --isolate helps
└── UsageError              the user asked for something that cannot work: exit 4
    ├── ModelRefused        the model file is missing, broken, or would execute code on loading
    ├── SeedsRefused        the seeds are missing, unreadable or do not fit together
    ├── PreflightFailed     model and seeds load, but fuzzing them as configured would mislead
    └── OutputRefused       the output folder cannot be written, or somebody is at work in it
        └── ResumeRefused   it holds something else than this campaign, or a damaged one

What the target does wrong is never an exception: it is an Outcome in the Trace.
"""

from __future__ import annotations

import errno
from pathlib import Path

NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
IN_THE_WAY = {errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENOTEMPTY}


class JostleWarning(UserWarning):
    """What a script should know of a campaign that ran all the same."""


class JostleError(Exception):
    """A failure whose message is one line that names the cause and the fix."""


class WriteFailed(JostleError):
    """What the system refused to write, and what to do."""

    @staticmethod
    def at(place: Path | str, error: OSError) -> JostleError:
        if error.errno == errno.EBADF:
            return ProcessSpoilt(f"{place} was closed while the model ran")
        return WriteFailed(f"cannot write {place}: {error.strerror or type(error).__name__}; {_way_on(error)}")


def _way_on(error: OSError) -> str:
    whole = "what was written before is whole"
    if error.errno in NO_ROOM:
        return f"{whole}: make room, and the same command goes on"
    if error.errno == errno.ENOENT:
        return "its folder was removed meanwhile, perhaps by the model: the same command begins anew"
    if error.errno in IN_THE_WAY:
        return f"{whole}: something else is in the way there, move it, and the same command goes on"
    return f"{whole}: once that is mended, the same command goes on"


class ProcessSpoilt(JostleError):
    """Foreign code took from its process what we need and cannot get back."""

    def __init__(self, what: str):
        super().__init__(f"{what}: what was found is safe; --isolate runs it in a process of its own")


class Interrupted(KeyboardInterrupt):
    """Somebody asked this process to end, which is not the model's KeyboardInterrupt."""


class UsageError(JostleError):
    pass


class ModelRefused(UsageError):
    pass


class SeedsRefused(UsageError):
    pass


class PreflightFailed(UsageError):
    pass


class OutputRefused(UsageError):
    pass


class ResumeRefused(OutputRefused):
    pass
