"""Rows by position, of which the newest are in memory and the older on disk."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from pathlib import Path
from tempfile import gettempdir

import torch
from torch import Tensor

from jostle.storage.scratch_file import ScratchFile

LARGEST_BLOCK = 2**26  # bytes
LEAST_BLOCKS = 8  # that memory is divided into, where it is less than so many of the largest


class StoredRows:
    """Rows of one shape in the order of arrival, in blocks that never move and are never copied to make room.

    As many blocks as fit the memory that they may take are held, one at least; older ones go to a scratch file. A
    selection costs the same however many rows there are, but for what the disk takes.
    """

    def __init__(self, like: Tensor, memory: int | None = None, folder: Path | None = None):
        """Rows are as those of `like` [any, ...]; `memory` is in bytes, None is no bound.

        The scratch file is made in the folder, or in the system's for temporary files, once it is needed.
        """
        self._nothing = like[:0].clone()
        self._row_bytes = max(1, self._nothing.element_size() * like.shape[1:].numel())
        share = LARGEST_BLOCK if memory is None else min(LARGEST_BLOCK, memory // LEAST_BLOCKS)
        self._block_rows = max(1, share // self._row_bytes)
        self._most_held = None if memory is None else max(1, memory // (self._block_rows * self._row_bytes))
        self._held: deque[Tensor] = deque()  # each [block rows, ...]
        self._spilled = 0  # blocks
        self._folder = Path(gettempdir() if folder is None else folder).absolute()  # the model may go elsewhere
        self._scratch: ScratchFile | None = None
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def on_disk(self) -> int:
        """Bytes."""
        return 0 if self._scratch is None else self._scratch.size

    def add(self, rows: Tensor) -> None:
        """Adds rows [any, ...] at the end."""
        while len(rows):
            start = self._count % self._block_rows
            if not start:
                self._held.append(self._new_block())
            some, rows = rows[: self._block_rows - start], rows[self._block_rows - start :]
            self._held[-1][start : start + len(some)] = some
            self._count += len(some)

    def select(self, positions: Tensor) -> Tensor:
        """The rows at these positions [any], as copies [any, ...]."""
        if len(self._held) == 1 and not self._spilled:
            return self._held[0].index_select(0, positions)
        wanted, places = positions.unique(return_inverse=True)  # ascending
        rows = self._nothing.new_empty(len(wanted), *self._nothing.shape[1:])
        on_disk = int((wanted < self._spilled * self._block_rows).sum())
        self._read(wanted[:on_disk], rows[:on_disk])
        self._gather(wanted[on_disk:], rows[on_disk:])
        return rows.index_select(0, places)

    def close(self) -> None:
        """Gives back the room on disk; only what is in memory can still be selected."""
        if self._scratch is not None:
            self._scratch.close()

    def _new_block(self) -> Tensor:
        """Room for rows: new, or that of the oldest block, which goes to disk."""
        if self._most_held is None or len(self._held) < self._most_held:
            return self._nothing.new_empty(self._block_rows, *self._nothing.shape[1:])
        if self._scratch is None:
            self._scratch = ScratchFile(self._folder)
        self._scratch.append(_bytes_of(self._held[0]))
        self._spilled += 1
        return self._held.popleft()

    def _gather(self, wanted: Tensor, rows: Tensor) -> None:
        """Copies rows at ascending positions from memory, block by block."""
        start = 0
        blocks, counts = (wanted // self._block_rows).unique_consecutive(return_counts=True)
        for block, count in zip(blocks.tolist(), counts.tolist(), strict=True):
            places = wanted[start : start + count] - block * self._block_rows
            torch.index_select(self._held[block - self._spilled], 0, places, out=rows[start : start + count])
            start += count

    def _read(self, wanted: Tensor, rows: Tensor) -> None:
        """Reads rows at ascending positions from disk, those that lie side by side at once."""
        if self._scratch is not None and len(wanted):
            room, size = _bytes_of(rows), self._row_bytes
            runs = ((first * size, room[start * size : end * size]) for first, start, end in _runs(wanted))
            self._scratch.read(runs)


def _runs(ascending: Tensor) -> Iterator[tuple[int, int, int]]:
    """Of each run of numbers that follow each other: the first number, where it stands, and where the run ends."""
    starts = [0, *((ascending.diff() != 1).nonzero().squeeze(1) + 1).tolist()]
    firsts = ascending[starts].tolist()
    return zip(firsts, starts, [*starts[1:], len(ascending)], strict=True)


def _bytes_of(rows: Tensor) -> memoryview:
    """The memory of contiguous rows."""
    return rows.flatten().view(torch.uint8).numpy().data
