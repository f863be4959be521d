"""Files of safetensors: looked at before the library maps them, and opened once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from safetensors import safe_open

from jostle.untrusted.files import HEADER_LIMIT, LARGEST, LARGEST_MODEL, name_of_opened, opened_bounded, opened_plain
from jostle.untrusted.json_text import parsed_json

TENSOR_LIMIT = 100_000


@contextmanager
def opened_tensors(path: Path, limit: int = LARGEST) -> Iterator[Any]:
    """A safetensors file of ours, which is no link; ValueError, OSError and SafetensorError tell of a damaged one."""
    with opened_plain(path, limit) as file:
        _check_header(file)
        with safe_open(name_of_opened(file, path), "pt") as tensors:
            yield tensors


@contextmanager
def opened_named_tensors(path: Path) -> Iterator[Any]:
    """The same of a file that a user names, by a link perhaps."""
    with opened_bounded(path, LARGEST_MODEL) as file:
        _check_header(file)
        with safe_open(name_of_opened(file, path), "pt") as tensors:
            yield tensors


def check_safetensors(path: Path) -> None:
    """Its header is small and every tensor lies inside the file; safetensors itself checks that they fit together."""
    with opened_bounded(path, LARGEST_MODEL) as file:
        _check_header(file)


def _check_header(file: BinaryIO) -> None:
    rest = file.seek(0, 2) - 8
    file.seek(0)
    length = int.from_bytes(file.read(8), "little")
    if length > min(HEADER_LIMIT, max(rest, 0)):
        raise ValueError(f"its header claims {length} bytes, and may have {min(HEADER_LIMIT, max(rest, 0))}")
    header = parsed_json(file.read(length))
    if not isinstance(header, dict) or len(header) > TENSOR_LIMIT:
        raise ValueError(f"its header is no list of up to {TENSOR_LIMIT} tensors")
    for name, tensor in header.items():
        if name != "__metadata__" and not _inside(tensor, rest - length):
            raise ValueError(f"its tensor {name[:100]!r} does not lie inside the file; get it again")


def _inside(tensor: Any, size: int) -> bool:
    match tensor:
        case {"dtype": str(), "shape": [*shape], "data_offsets": [int() as start, int() as end]}:
            return all(isinstance(n, int) and n >= 0 for n in shape) and 0 <= start <= end <= size
    return False
