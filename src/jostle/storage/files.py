"""Writing files so that they are whole or not there."""

from __future__ import annotations

import json
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


def write_json(path: Path, value: Any) -> None:
    write_whole(path, (json.dumps(value, indent=2) + "\n").encode(), synced=True)
