"""What a campaign was begun with: versions and the machine."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from jostle.storage.files import read_json

ENVIRONMENT = "environment.json"
PACKAGES = ("jostle", "torch", "numpy", "safetensors", "faiss-cpu")
LONGEST = 40  # characters of a version
DECIDING = ("torch", "numpy", "machine")  # what results can depend on to the last bit


def environment() -> dict[str, Any]:
    """Nothing that decides about the campaign; for whoever wonders why it ran as it did."""
    return {
        "python": platform.python_version(),
        **{name: _version(name) for name in PACKAGES},
        "platform": platform.platform(),
        "machine": platform.machine(),
        "processor": _processor(),
        "processors": os.cpu_count(),
        "memory": _memory(),
        "torch threads": torch.get_num_threads(),
        "cuda": torch.cuda.is_available(),
        "cuda devices": [torch.cuda.get_device_name(number) for number in range(_devices())],
    }


def changes_since(folder: Path) -> Iterator[str]:
    """A line for everything that results depend on and that is not as it was when this campaign was begun."""
    try:
        begun = read_json(folder / ENVIRONMENT)
    except (OSError, ValueError):
        return
    now = environment()
    for name in DECIDING:
        before = begun.get(name) if isinstance(begun, dict) else None
        if isinstance(before, str) and before != now[name]:
            yield (
                f"the campaign was begun with {name} {before[:LONGEST]}, this is {now[name]}: it goes on, but need not "
                f"come to the same end"
            )


def _version(package: str) -> str | None:
    """None where it is not installed under this name."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    """Its name, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())


def _devices() -> int:
    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def _memory() -> int | None:
    """Bytes of the machine, None where it does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
