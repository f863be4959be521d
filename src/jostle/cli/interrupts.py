"""Ctrl-C and SIGTERM: the first ends the campaign after the step under way, the second at once."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
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
def stopping_gently(campaign: Campaign) -> Iterator[Asked]:
    asked = Asked()

    def on_signal(number: int, frame: FrameType | None) -> None:
        if asked.stop:
            raise KeyboardInterrupt
        asked.stop = True
        campaign.stop()
        print("jostle: stopping after the batch under way; once more stops at once", file=sys.stderr)

    before = {number: signal.signal(number, on_signal) for number in SIGNALS}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
