"""What a command leaves: lines on the terminal, whose names and messages may come from strangers, and an exit code."""

from __future__ import annotations

import sys
from enum import IntEnum
from typing import TYPE_CHECKING

from jostle import __version__
from jostle.cli.interrupted_imports import CODE_OF_INTERRUPTED
from jostle.visible import visible

if TYPE_CHECKING:
    from rich.console import Console

WIDTH_IN_FILES = 200


def output() -> Console:
    """Standard output: as wide as the terminal, or wide enough that a program reads one row of a table per line."""
    from rich.console import Console  # here, because refusals and --version do without

    return Console(width=None if sys.stdout.isatty() else WIDTH_IN_FILES, emoji=False)


def say(console: Console, text: str) -> None:
    """Prints lines as they are."""
    console.print(visible(text), highlight=False, soft_wrap=True, markup=False, emoji=False)


def tell(message: str) -> None:
    """One line of Jostle's own, beside what a command prints."""
    print(f"jostle: {visible(message)}", file=sys.stderr)


def print_version() -> None:
    print(f"jostle {__version__}")


class Exit(IntEnum):
    """Exit codes, as pytest means them."""

    CLEAN = 0
    FINDINGS = 1
    INTERRUPTED = CODE_OF_INTERRUPTED  # with the state saved
    OUR_ERROR = 3
    USAGE = 4
    NOTHING_RAN = 5
