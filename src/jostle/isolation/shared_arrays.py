"""Arrays in a file that two processes have in memory at once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from jostle.errors import JostleError

SMALLEST = 2**20  # bytes
ALIGNED = 64  # bytes, as processors like it
LENGTH = 8  # bytes at the start that tell how long the table of contents is
DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
        *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
    )
}


class SharedArrays:
    """A file that holds one set of named arrays: a table of contents in JSON, then their bytes.

    One process puts, another gets. What was put is in the file even if both are killed.
    """

    def __init__(self, path: Path):
        self._path = path
        self._bytes = torch.empty(0, dtype=torch.uint8)

    def put(self, arrays: Mapping[str, Tensor]) -> None:
        """Replaces what was there."""
        table, place = _table(arrays)
        head = json.dumps(table).encode()
        start = _aligned(LENGTH + len(head))
        self._make_room(start + place)
        self._write(0, torch.frombuffer(bytearray(len(head).to_bytes(LENGTH, "little") + head), dtype=torch.uint8))
        for entry, array in zip(table, arrays.values(), strict=True):
            if array.numel():
                self._write(start + entry["start"], array.detach().contiguous().flatten().view(torch.uint8))

    def get(self) -> dict[str, Tensor]:
        """What is there now, as views of the file; a file that does not hold together raises ValueError."""
        self._map(self._path.stat().st_size, shared=False)  # which opens it for reading only
        length = int.from_bytes(bytes(self._bytes[:LENGTH].tolist()), "little")
        start = _aligned(LENGTH + length)
        if not 0 < length <= len(self._bytes) - LENGTH:
            raise ValueError("the table of contents is longer than the file")
        table = json.loads(self._bytes[LENGTH : LENGTH + length].numpy().tobytes())
        return {entry["name"]: self._array(entry, start) for entry in table}

    def remove(self) -> None:
        self._path.unlink(missing_ok=True)

    def _array(self, entry: Mapping[str, Any], start: int) -> Tensor:
        dtype, shape = DTYPES[entry["dtype"]], [int(size) for size in entry["shape"]]
        first = start + int(entry["start"])
        count = dtype.itemsize
        for size in shape:
            count *= size
        if min((0, *shape)) < 0 or first < start or first + count > len(self._bytes):
            raise ValueError(f"array {entry['name']!r} lies outside the file")
        return self._bytes[first : first + count].view(dtype).view(shape)

    def _write(self, start: int, values: Tensor) -> None:
        self._bytes[start : start + len(values)] = values

    def _make_room(self, needed: int) -> None:
        if needed <= len(self._bytes):
            return
        size = max(SMALLEST, 1 << (needed - 1).bit_length())
        try:
            with self._path.open("ab") as file:  # a file with holes would kill us when the disk is full
                file.write(bytes(max(0, size - file.tell())))
        except OSError as error:
            raise JostleError(f"cannot keep a batch in {self._path}: {error}; all that was found is safe") from error
        self._map(size, shared=True)

    def _map(self, size: int, shared: bool) -> None:
        if size != len(self._bytes):
            self._bytes = torch.from_file(str(self._path), shared=shared, size=size, dtype=torch.uint8)


def _table(arrays: Mapping[str, Tensor]) -> tuple[list[dict[str, Any]], int]:
    """Where each array lies after the table, and where the last one ends."""
    table, place = [], 0
    for name, array in arrays.items():
        dtype = str(array.dtype).removeprefix("torch.")
        if dtype not in DTYPES:
            raise ValueError(f"{name} is of {dtype}, which cannot be handed over")
        table.append({"name": name, "dtype": dtype, "shape": list(array.shape), "start": place})
        place = _aligned(place + array.numel() * array.element_size())
    return table, place


def _aligned(place: int) -> int:
    return -(-place // ALIGNED) * ALIGNED
