"""Damaged copies of a valid file, the same in each run."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path


def damaged(content: bytes, count: int) -> Iterator[bytes]:
    """So many copies: cut, with flipped bits, changed bytes, moved and doubled blocks, and garbage."""
    rng = random.Random(len(content))
    for number in range(count):
        yield DAMAGES[number % len(DAMAGES)](content, rng)


def _cut(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randrange(len(content))]


def _flipped(content: bytes, rng: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 8))):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _early(content: bytes, rng: random.Random) -> bytes:
    """Changed near the start, where formats keep their structure."""
    changed = bytearray(content)
    changed[rng.randrange(min(len(changed), 256))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
    return bytes(changed)


def _number(content: bytes, rng: random.Random) -> bytes:
    """A number of four bytes that may be an offset or a length."""
    at, value = rng.randrange(max(len(content) - 4, 1)), rng.choice((0, 1, 2**31 - 1, 2**31, 2**32 - 1))
    return content[:at] + value.to_bytes(4, "little") + content[at + 4 :]


def _moved(content: bytes, rng: random.Random) -> bytes:
    start, end, to = (rng.randrange(len(content)) for _ in range(3))
    return content[:to] + content[min(start, end) : max(start, end)][:4096] + content[to:]


def _garbage(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randrange(16)] + rng.randbytes(rng.randrange(1, 200))


DAMAGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (_cut, _flipped, _early, _number, _moved, _garbage)


def refusals(path: Path, content: bytes, count: int, check: Callable[[Path], object]) -> int:
    """How many of so many damaged copies the check refuses; it lets the others pass, and does nothing else."""
    refused = 0
    for copy in damaged(content, count):
        path.write_bytes(copy)
        try:
            check(path)
        except ValueError as error:
            assert len(str(error).splitlines()) <= 1 and len(str(error)) < 600, str(error)
            refused += 1
    return refused
