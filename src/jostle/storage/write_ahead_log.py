"""A log that makes findings survive a power failure at the price of one sync a step.

Findings are folders of small files, and syncing each file costs milliseconds. So what a step found is first appended to
this log, as one block, and the log is synced; the folders are synced when the run ends, and the log is emptied. If the
run never got there, the next one writes from the log whatever is missing.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

from jostle.storage.files import Appended, read_growing

LOG = "findings.log"
HEAD = struct.Struct("<QI")  # length and checksum of a block
HEAD_CHECKSUM = struct.Struct("<I")  # of the head, so that a damaged length is not taken for a block that is cut off


class WriteAheadLog:
    """Keeps what was found safe until it is synced in its own place."""

    def __init__(self, folder: Path):
        self._log = Appended(folder / LOG)

    def add(self, block: bytes) -> int:
        """Safe when this returns; tells how many bytes that took."""
        return self._log.append(_head(block) + block, synced=True)

    def clear(self) -> None:
        """To be called when all that was added has been synced."""
        self._log.clear()

    def close(self) -> None:
        self._log.close()


def _head(block: bytes) -> bytes:
    head = HEAD.pack(len(block), zlib.crc32(block))
    return head + HEAD_CHECKSUM.pack(zlib.crc32(head))


@dataclass(frozen=True)
class LogContent:
    """What can be believed of a log."""

    blocks: tuple[bytes, ...]
    damaged: bool  # something in it is not as it was written; a last block that is cut off is no damage


def read_log(folder: Path) -> LogContent:
    """The blocks in the log of a campaign's folder, without those that are damaged or cut off."""
    content, start = read_growing(folder / LOG, "give another --out"), 0
    blocks: list[bytes] = []
    damaged = False
    while start + HEAD.size + HEAD_CHECKSUM.size <= len(content):
        head = content[start : start + HEAD.size]
        begin = start + HEAD.size + HEAD_CHECKSUM.size
        if content[start + HEAD.size : begin] != HEAD_CHECKSUM.pack(zlib.crc32(head)):
            # Where the next block begins cannot be told; zeros are what a power failure leaves of a block.
            return LogContent(tuple(blocks), damaged or any(content[start:]))
        length, checksum = HEAD.unpack(head)
        start = begin + length
        if zlib.crc32(content[begin:start]) == checksum and start <= len(content):
            blocks.append(content[begin:start])
        else:
            damaged = damaged or start < len(content)
    return LogContent(tuple(blocks), damaged)
