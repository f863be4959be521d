"""status.json: what a campaign has done so far, and the only place where times are written."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jostle.records import Summary
from jostle.storage.files import read_json, write_json

STATUS = "status.json"


def write_status(folder: Path, summary: Summary, synced: bool) -> None:
    written = datetime.now(UTC).isoformat(timespec="milliseconds")
    write_json(folder / STATUS, {**summary.as_json(), "written": written}, synced)


def read_status(folder: Path) -> dict[str, Any]:
    """What was last written; nothing if that cannot be read, which costs no more than these figures."""
    try:
        told = read_json(folder / STATUS)
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def seconds_spent(folder: Path) -> float:
    """Time spent so far as last written."""
    told = read_status(folder).get("seconds")
    try:
        seconds = float(told) if isinstance(told, int | float) else 0.0
    except OverflowError:  # JSON's integers have no bound
        return 0.0
    return seconds if math.isfinite(seconds) and seconds > 0 else 0.0
