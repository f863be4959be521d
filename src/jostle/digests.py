"""Digests: equal for equal arrays, texts and bytes, and for files of equal content; and numbers for equal texts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

import torch
from torch import Tensor

from jostle.untrusted.files import LARGEST_MODEL, opened_regular

LENGTH = 16  # characters of a digest


def digest_of(*arrays: Tensor) -> str:
    """Equal for equal arrays."""
    digest = hashlib.sha256()  # which processors have instructions for
    for array in arrays:
        array = array.int_repr() if array.is_quantized else array
        digest.update(array.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()[:LENGTH]


def digest_of_files(*paths: Path) -> str:
    """Equal for files of equal content in the same order."""
    digest = hashlib.sha256()
    for path in paths:
        with opened_regular(path, LARGEST_MODEL) as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:LENGTH]


def digest_of_text(text: str) -> str:
    """Equal for equal texts."""
    return digest_of_bytes([text.encode()])


def digest_of_bytes(parts: Iterable[bytes]) -> str:
    """Equal for equal bytes one after another."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()[:LENGTH]


def digest_of_file(spec: str) -> str | None:
    """Of the file behind a path or `FILE.py:function`; None where there is no such file."""
    path = Path(spec.rpartition(":")[0] if ".py:" in spec else spec)
    if not spec or not path.is_file():
        return None
    with opened_regular(path, LARGEST_MODEL) as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()[:32]


def digest_of_place(place: Path) -> str:
    """Of all bytes of a file, or of all files in a folder with their names; too long for two to be made alike."""
    digest = hashlib.sha256()
    for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
        if path.is_file():
            digest.update(f"{path.relative_to(place)}\0".encode("utf-8", "surrogateescape"))
            with opened_regular(path, LARGEST_MODEL) as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def bug_number(fingerprint: str) -> int:
    """The same number for the same text, in every process: 63 bits of its hash."""
    return int.from_bytes(hashlib.blake2b(fingerprint.encode(), digest_size=8).digest()) >> 1
