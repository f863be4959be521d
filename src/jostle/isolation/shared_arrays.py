"""Arrays in a file that two processes have open at once."""

from __future__ import annotations

import json
import os
import weakref
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from jostle.errors import WriteFailed

ALIGNED = 64  # bytes, as processors like it
LENGTH = 8  # bytes at the start that tell how long the table of contents is
USUAL_TABLE = 4096  # bytes that are read at once
DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
        *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
    )
}


class SharedArrays:
    """A file that holds one set of named arrays: a table of contents in JSON, then their bytes.

    One process puts, another gets. What was put is in the file even if both are killed. The file is read and written,
    and never mapped: whoever maps a file that another process makes shorter is killed by the kernel.
    """

    def __init__(self, path: Path | None = None, descriptor: int | None = None):
        """A file at a path, which is made when something is put, or one that is open already."""
        self._path, self._descriptor, self._writable = path, descriptor, descriptor is not None
        self._close = None if descriptor is None else weakref.finalize(self, os.close, descriptor)

    @property
    def descriptor(self) -> int:
        """Of the file, which is open."""
        assert self._descriptor is not None, "nothing was put"
        return self._descriptor

    def put(self, arrays: Mapping[str, Tensor]) -> None:
        """Replaces what was there."""
        table = _table(arrays)
        head = json.dumps(table).encode()
        start = _aligned(LENGTH + len(head))
        try:
            self._open(writing=True)
            _write(self.descriptor, 0, memoryview(len(head).to_bytes(LENGTH, "little") + head))
            for entry, array in zip(table, arrays.values(), strict=True):
                if array.numel():
                    _write(self.descriptor, start + entry["start"], _bytes_of(array))
        except OSError as error:
            raise WriteFailed.at(self._path or "what a worker answers", error) from error

    def get(self, most: int | None = None) -> dict[str, Tensor]:
        """What is there now; ValueError if that does not hold together, or is more bytes than it may be."""
        self._open(writing=False)
        size = os.fstat(self.descriptor).st_size
        head = os.pread(self.descriptor, USUAL_TABLE, 0)
        length = int.from_bytes(head[:LENGTH], "little")
        if not 0 < length <= size - LENGTH:
            raise ValueError("the table of contents is longer than the file")
        if length > len(head) - LENGTH:
            head = os.pread(self.descriptor, LENGTH + length, 0)
        table = json.loads(head[LENGTH : LENGTH + length])
        start = _aligned(LENGTH + length)
        places = [_place(entry, start, size) for entry in table]
        if sum(count for _, count in places) > (size if most is None else min(size, most)):
            raise ValueError(f"arrays are larger together than the {size:,} bytes of their file or what is allowed")
        return {entry["name"]: self._array(entry, first) for entry, (first, _) in zip(table, places, strict=True)}

    def remove(self) -> None:
        """Removes the file; what is put later makes a new one."""
        self.close()
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    def close(self) -> None:
        if self._close is not None:
            self._close()
        self._close = self._descriptor = None

    def _array(self, entry: Mapping[str, Any], first: int) -> Tensor:
        shape = [int(size) for size in entry["shape"]]
        array = torch.empty(shape, dtype=DTYPES[entry["dtype"]], device="cpu")  # whatever the model made the default
        if array.numel():
            _read(self.descriptor, first, _bytes_of(array))
        return array

    def _open(self, writing: bool) -> None:
        """Opens the file, anew if what lies there is another by now: nobody would read what is put."""
        if self._path is None or (self._is_open() and self._writable >= writing):
            return
        self.close()
        flags = os.O_RDWR | os.O_CREAT if writing else os.O_RDONLY
        self._descriptor = os.open(self._path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        self._writable = writing
        self._close = weakref.finalize(self, os.close, self._descriptor)

    def _is_open(self) -> bool:
        if self._descriptor is None or self._path is None:
            return False
        try:
            return os.path.samestat(self._path.lstat(), os.fstat(self._descriptor))
        except FileNotFoundError:
            return False


def _place(entry: Mapping[str, Any], start: int, end: int) -> tuple[int, int]:
    """Where an array begins in the file, and how many bytes it has."""
    shape = [int(size) for size in entry["shape"]]
    first = start + int(entry["start"])
    count = DTYPES[entry["dtype"]].itemsize * prod(shape)
    if min((0, *shape)) < 0 or first < start or (count and first + count > end):
        raise ValueError(f"array {entry['name']!r} lies outside the file")
    return first, count


def _bytes_of(array: Tensor) -> memoryview:
    return array.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data


def _write(descriptor: int, place: int, values: memoryview) -> None:
    while values:
        written = os.pwrite(descriptor, values, place)
        place, values = place + written, values[written:]


def _read(descriptor: int, place: int, into: memoryview) -> None:
    while into:
        if hasattr(os, "preadv"):
            count = os.preadv(descriptor, [into], place)
        else:
            read = os.pread(descriptor, len(into), place)
            count = len(read)
            into[:count] = read
        if not count:
            raise ValueError("the file became shorter while it was read")
        place, into = place + count, into[count:]


def _table(arrays: Mapping[str, Tensor]) -> list[dict[str, Any]]:
    """Where each array lies after the table."""
    table, place = list[dict[str, Any]](), 0
    for name, array in arrays.items():
        dtype = str(array.dtype).removeprefix("torch.")
        if dtype not in DTYPES:
            raise ValueError(f"{name} is of {dtype}, which cannot be handed over")
        table.append({"name": name, "dtype": dtype, "shape": list(array.shape), "start": place})
        place = _aligned(place + array.numel() * array.element_size())
    return table


def _aligned(place: int) -> int:
    return -(-place // ALIGNED) * ALIGNED
