"""Memory that a step frees is kept for the next one, which needs the same sizes again."""

from __future__ import annotations

import ctypes
import sys
from functools import cache

# Of glibc's mallopt: their numbers in malloc.h, and what they are set to.
LARGEST_REUSED = (-3, 32 * 2**20)  # M_MMAP_THRESHOLD, bytes, the most that it takes: larger blocks go back at once
KEPT_AT_THE_TOP = (-1, 256 * 2**20)  # M_TRIM_THRESHOLD, bytes
POOLS = (-8, 1)  # M_ARENA_MAX: what a step's thread frees, threads that begin later can use


@cache
def keep_freed_memory() -> None:
    """From now on, the process gives back to the system only what is beyond 256 MB, or in blocks above 32 MB.

    Else the activations of each batch are given back after it, and the system hands them out anew, page by page and
    zeroed: a third of a campaign's time on a small network. Other systems than Linux with glibc stay as they are.
    """
    if sys.platform != "linux":
        return
    tune = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
    if tune is not None and tune(*LARGEST_REUSED):
        tune(*KEPT_AT_THE_TOP)
        tune(*POOLS)
