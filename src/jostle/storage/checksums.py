"""A checksum inside a JSON record, by which damage shows."""

from __future__ import annotations

import json
import zlib
from typing import Any

CHECKSUM = "crc"


def with_checksum(record: dict[str, Any]) -> dict[str, Any]:
    """The record with the checksum of its content; the content must be as JSON gives it back."""
    return {**record, CHECKSUM: _checksum(record)}


def without_checksum(record: Any) -> dict[str, Any]:
    """The record without its checksum; ValueError unless it is as it was written."""
    if not isinstance(record, dict):
        raise ValueError("no record")
    content = {name: value for name, value in record.items() if name != CHECKSUM}
    if record.get(CHECKSUM) != _checksum(content):
        raise ValueError("not as it was written")
    return content


def _checksum(content: dict[str, Any]) -> str:
    return f"{zlib.crc32(json.dumps(content).encode()):08x}"
