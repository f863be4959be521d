"""Ctrl-C, and SIGTERM for commands: the first ends them after what is under way, the second at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from jostle.errors import Interrupted

OF_COMMANDS = (signal.SIGINT, signal.SIGTERM)
OF_SCRIPTS = (signal.SIGINT,)  # what ends a script shall end it, and not a campaign of several


@dataclass
class Asked:
    """Whether anyone asked to stop."""

    stop: bool = False


@contextmanager
def stopping_gently(
    say: Callable[[str], None],
    on_stop: Callable[[], None] = lambda: None,
    signals: Sequence[signal.Signals] = OF_COMMANDS,
) -> Iterator[Asked]:
    """While this lasts, a first signal is noted, and does what is given; threads but for the main one get none."""
    asked = Asked()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def on_signal(number: int, frame: FrameType | None) -> None:
        if asked.stop:
            raise Interrupted
        asked.stop = True
        on_stop()
        say("stopping after the batch under way; once more stops at once")

    before = {number: signal.signal(number, on_signal) for number in signals}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
