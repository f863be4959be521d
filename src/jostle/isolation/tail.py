"""What a process wrote last."""

from __future__ import annotations

import threading
from typing import IO

KEPT = 16 * 1024  # bytes


class Tail:
    """Reads a stream to its end beside everything else, and keeps the end: a flood costs no memory."""

    def __init__(self, stream: IO[bytes]):
        self._kept = b""
        self._thread = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self._thread.start()

    def text(self) -> str:
        return self._kept.decode(errors="replace")

    def wait(self, seconds: float) -> None:
        """Until the stream has ended, but not for long: a grandchild may hold it open."""
        self._thread.join(seconds)

    def _read(self, stream: IO[bytes]) -> None:
        with stream:
            while chunk := stream.read1(2**16):  # type: ignore[attr-defined]
                self._kept = (self._kept + chunk)[-KEPT:]
