"""Running converters that talk: what they print, warn and log is of their own insides."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout


@contextmanager
def silenced() -> Iterator[None]:
    """No output, warnings or log lines of Python code; loggers and their handlers are afterwards as they were."""
    root = logging.getLogger()
    handlers, disabled, level = list(root.handlers), root.manager.disable, root.level
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        logging.disable(disabled)
