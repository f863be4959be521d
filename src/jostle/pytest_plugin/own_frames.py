"""Errors of ours as tests show them: one line that says what to do, at the line of the test that asked for it."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

from jostle.errors import JostleError, JostleWarning
from jostle.visible import visible

HERE = str(Path(__file__).parents[1])  # this package


def hide_own_frames(error: BaseException, traceback: TracebackType | None) -> None:
    """Cuts a traceback where it enters this package, and leaves out what led to the error; of errors of ours only."""
    if not isinstance(error, JostleError | JostleWarning):
        return
    error.__cause__, error.__suppress_context__ = None, True
    error.args = tuple(visible(one) if isinstance(one, str) else one for one in error.args)
    while traceback is not None and traceback.tb_next is not None:
        if traceback.tb_next.tb_frame.f_code.co_filename.startswith(HERE):
            traceback.tb_next = None
        traceback = traceback.tb_next
