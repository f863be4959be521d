"""A log that makes findings survive a power failure at the price of one sync a step.

Findings are folders of small files, and syncing each file costs milliseconds. So what a step found is first appended to
this log, as one block, and the log is synced; the folders are synced when the run ends, and the log is emptied. If the
run never got there, the next one writes from the log whatever is missing.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from jostle.storage.files import Appended

LOG = "findings.log"
HEAD = struct.Struct("<QI")  # length and checksum of a block


class Safeguard:
    """Keeps what was found safe until it is synced in its own place."""

    def __init__(self, folder: Path):
        self._log = Appended(folder / LOG)

    def add(self, block: bytes) -> int:
        """Safe when this returns; tells how many bytes that took."""
        return self._log.append(HEAD.pack(len(block), zlib.crc32(block)) + block, synced=True)

    def clear(self) -> None:
        """To be called when all that was added has been synced."""
        self._log.clear()

    def close(self) -> None:
        self._log.close()


def guarded(folder: Path) -> Iterator[bytes]:
    """The blocks in the log of a campaign's folder; one that is cut off or damaged ends it."""
    content, start = (folder / LOG).read_bytes() if (folder / LOG).exists() else b"", 0
    while start + HEAD.size <= len(content):
        length, checksum = HEAD.unpack_from(content, start)
        block = content[start + HEAD.size : start + HEAD.size + length]
        if len(block) < length or zlib.crc32(block) != checksum:
            return
        yield block
        start += HEAD.size + length
