"""A log that makes findings survive a power failure at the price of one sync a step.

Findings are folders of small files, and syncing each file costs milliseconds. So what a step found is first appended to
this log, as one block, and the log is synced; the folders are synced when the run ends, and the log is emptied. If the
run never got there, the next one writes from the log whatever is missing.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import safetensors.numpy
from safetensors import SafetensorError

from jostle.storage.files import Appended

LOG = "findings.log"
HEAD = struct.Struct("<QI")  # length and checksum of a block
Files = Mapping[str, bytes]  # by name
Folders = Mapping[str, Files]  # by path within the campaign's folder


class Safeguard:
    """Keeps folders of files safe until they are synced themselves."""

    def __init__(self, folder: Path):
        self._log = Appended(folder / LOG)

    def add(self, folders: Folders) -> int:
        """Safe when this returns; tells how many bytes that took."""
        files = {f"{place}/{name}": content for place, some in folders.items() for name, content in some.items()}
        block = safetensors.numpy.save({path: np.frombuffer(content, np.uint8) for path, content in files.items()})
        return self._log.append(HEAD.pack(len(block), zlib.crc32(block)) + block, synced=True)

    def clear(self) -> None:
        """To be called when all that was added has been synced."""
        self._log.clear()

    def close(self) -> None:
        self._log.close()


def guarded(folder: Path) -> dict[str, dict[str, bytes]]:
    """What the log in a campaign's folder holds, the newest of each folder; a block that was cut off ends it."""
    log = folder / LOG
    found: dict[str, dict[str, bytes]] = {}
    for block in _blocks(log.read_bytes() if log.exists() else b""):
        fresh: dict[str, dict[str, bytes]] = {}
        for path, content in block.items():
            place, _, name = path.rpartition("/")
            fresh.setdefault(place, {})[name] = content
        found |= fresh
    return found


def _blocks(content: bytes) -> Iterator[dict[str, bytes]]:
    start = 0
    while start + HEAD.size <= len(content):
        length, checksum = HEAD.unpack_from(content, start)
        block = content[start + HEAD.size : start + HEAD.size + length]
        if len(block) < length or zlib.crc32(block) != checksum:
            return
        try:
            arrays = safetensors.numpy.load(block)
        except SafetensorError:
            return
        yield {path: array.tobytes() for path, array in arrays.items()}
        start += HEAD.size + length
