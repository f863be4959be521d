"""Where tables are printed: as wide as the terminal, or wide enough that a program reads one row per line."""

import sys

from rich.console import Console

WIDTH_IN_FILES = 200


def output() -> Console:
    """Standard output."""
    return Console(width=None if sys.stdout.isatty() else WIDTH_IN_FILES)
