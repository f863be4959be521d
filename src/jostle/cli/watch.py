"""`jostle watch`: the page of a campaign while it runs."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from jostle.cli.terminal import output, say
from jostle.cli.triage import CLASSES_HELP
from jostle.commands.report import contents_of
from jostle.report.live import live_page

LAST_PORT = 65535


def watch(
    campaign: Annotated[Path, typer.Argument(help="Folder that a campaign writes or wrote to.", metavar="FOLDER")],
    port: Annotated[int, typer.Option(help="Of this machine; 0 takes one that is free.", min=0, max=LAST_PORT)] = 0,
    classes: Annotated[Path | None, typer.Option(help=f"{CLASSES_HELP}.", metavar="FILE")] = None,
) -> None:
    """Show the report of a campaign while it runs, in a browser on this machine; ends by Ctrl-C, changes nothing."""
    page = live_page(partial(contents_of, campaign, classes), port)
    say(output(), f"{page.address} (for this machine only; Ctrl-C ends it)")
    with suppress(KeyboardInterrupt):
        page.serve()
