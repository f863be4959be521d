"""The `jostle` command: before anything else it sees to interrupts, because importing the rest takes a while."""

from __future__ import annotations

from jostle.cli.interrupted_imports import end_if_interrupted


def main() -> None:
    """Runs one command and ends this process with its code."""
    end_if_interrupted()
    from jostle.cli.run_command import run_and_exit

    run_and_exit()
