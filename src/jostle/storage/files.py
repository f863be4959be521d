"""Writing files so that they are whole or not there."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any


def write_whole(path: Path, content: bytes, synced: bool = False) -> None:
    """Writes beside the file and renames: whoever reads, whenever the process dies, sees the old or the new content.

    Synced, the content also survives a power failure, which costs milliseconds.
    """
    beside = temporary(path)
    with beside.open("wb") as file:
        file.write(content)
        file.flush()
        if synced:
            os.fsync(file.fileno())
    beside.replace(path)


def temporary(path: Path) -> Path:
    """Where a file is written before it takes its name."""
    return path.with_name(f".{path.name}.tmp")


def write_json(path: Path, value: Any, synced: bool = True) -> None:
    """As JSON that every parser reads: NaN and infinities become their names."""
    write_whole(path, (json.dumps(_portable(value), indent=2, allow_nan=False) + "\n").encode(), synced)


def _portable(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _portable(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_portable(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
