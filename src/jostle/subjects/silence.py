"""Running libraries that talk: what they print, warn and log is of their own insides."""

from __future__ import annotations

import io
import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout
from pathlib import Path

STDERR = 2  # its file descriptor


@contextmanager
def silenced(native: bool = False) -> Iterator[None]:
    """No output, warnings or log lines of Python code; loggers and their handlers are afterwards as they were.

    Native code is silenced where that is asked for, because then the last words of one that crashes are lost too.
    """
    root = logging.getLogger()
    handlers, disabled, level = list(root.handlers), root.manager.disable, root.level
    logging.disable(logging.CRITICAL)
    try:
        with (
            _no_stderr() if native else nullcontext(),
            warnings.catch_warnings(),
            redirect_stdout(io.StringIO()),
            redirect_stderr(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        logging.disable(disabled)


@contextmanager
def _no_stderr() -> Iterator[None]:
    """Nothing reaches stderr, not even what a library writes to it that is not Python."""
    sys.stderr.flush()
    kept = os.dup(STDERR)
    try:
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), STDERR)
        yield
    finally:
        os.dup2(kept, STDERR)
        os.close(kept)
