"""`jostle report`: a campaign as one HTML file, or two side by side."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from jostle.cli.terminal import output, say
from jostle.cli.triage import CLASSES_HELP
from jostle.commands.report import write_comparison, write_report
from jostle.errors import UsageError

PAIR = 2


def report(
    campaigns: Annotated[list[Path], typer.Argument(help="Folder of a campaign; two are compared.", metavar="FOLDER")],
    out: Annotated[
        Path | None,
        typer.Option(
            help="File to write (report.html in the campaign's folder; comparison.html here).", metavar="FILE"
        ),
    ] = None,
    classes: Annotated[Path | None, typer.Option(help=f"{CLASSES_HELP}.", metavar="FILE")] = None,
) -> None:
    """Write what a campaign found as one HTML file that needs no network; of two campaigns, what differs.

    Nothing in the folder is executed, and the campaign may still be running.
    """
    if len(campaigns) > PAIR:
        raise UsageError("one or two campaigns make a report: give at most two folders")
    first, *second = campaigns
    note = partial(say, output())
    if second:
        written = write_comparison(first, second[0], out, classes, note)
    else:
        written = write_report(first, out, classes, note)
    say(output(), f"written to {written} ({written.stat().st_size / 1e6:.1f} MB): open it in a browser")
