"""Ctrl-C and SIGTERM: the first ends the campaign after the step under way, the second at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from jostle.campaign import Campaign

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass
class Asked:
    """Whether anyone asked the campaign to stop."""

    stop: bool = False


@contextmanager
def stopping_gently(campaign: Campaign, say: Callable[[str], None]) -> Iterator[Asked]:
    """What is asked for while this lasts; threads other than the main one get no signals."""
    asked = Asked()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def on_signal(number: int, frame: FrameType | None) -> None:
        if asked.stop:
            raise KeyboardInterrupt
        asked.stop = True
        campaign.stop()
        say("stopping after the batch under way; once more stops at once")

    before = {number: signal.signal(number, on_signal) for number in SIGNALS}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
