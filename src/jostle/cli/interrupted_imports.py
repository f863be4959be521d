"""Ctrl-C, and SIGTERM, while modules are imported: the process ends at once, with one line.

Nothing is lost then, and an exception would not always arrive: raised while C++ code of torch imports Python, it ends
the process by SIGABRT. This module comes before all others, and imports next to nothing.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType

ASKING_TO_END = (signal.SIGINT, signal.SIGTERM)
CODE_OF_INTERRUPTED = 2
STANDARD_ERROR = 2
Handler = Callable[[int, FrameType | None], None]
Before = Callable[[int, FrameType | None], object] | int | None


def end_if_interrupted() -> None:
    """From now on, an interrupt ends the process at once."""
    _install(dict.fromkeys(ASKING_TO_END, _end_at_once))


@contextmanager
def ending_if_interrupted() -> Iterator[None]:
    """While this lasts, an interrupt ends the process at once."""
    with handled_by(dict.fromkeys(ASKING_TO_END, _end_at_once)):
        yield


@contextmanager
def handled_by(handlers: Mapping[signal.Signals, Handler]) -> Iterator[None]:
    """While this lasts, signals have these handlers, but for signals that whoever started us has ignored."""
    before = _install(handlers)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _install(handlers: Mapping[signal.Signals, Handler]) -> dict[signal.Signals, Before]:
    """What handled these signals before."""
    left_alone = (signal.SIG_IGN, None)  # None: of a handler that is not Python's, which could not be put back
    ours = {number: handler for number, handler in handlers.items() if signal.getsignal(number) not in left_alone}
    return {number: signal.signal(number, handler) for number, handler in ours.items()}


def _end_at_once(number: int, frame: FrameType | None) -> None:
    try:
        os.write(STANDARD_ERROR, b"jostle: interrupted\n")
    finally:
        os._exit(CODE_OF_INTERRUPTED)
