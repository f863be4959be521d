"""What a campaign was begun with: versions and the machine."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from typing import Any

import torch

PACKAGES = ("jostle", "torch", "numpy")


def environment() -> dict[str, Any]:
    """Nothing that decides about the campaign; for whoever wonders why it ran as it did."""
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
        "platform": platform.platform(),
        "processors": os.cpu_count(),
        "memory": _memory(),
        "torch threads": torch.get_num_threads(),
    }


def _memory() -> int | None:
    """Bytes of the machine, None where it does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
