"""`jostle promote`: findings become small cases that the test suite runs from then on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from jostle.cli.flags import AsJson, Flags, taking
from jostle.cli.terminal import output, say
from jostle.commands.promote import promote as promoted
from jostle.composition.settle import ON_FOLDER
from jostle.held import shown_name, was_held
from jostle.storage.defect_case import read_case

OF_PROMOTE = ("model", "trust_folder")


@taking(ON_FOLDER, OF_PROMOTE)
def promote(
    flags: Flags,
    findings: Annotated[
        list[Path], typer.Argument(help="Folders of findings or of defects, CAMPAIGN/defects/….", metavar="FINDING…")
    ],
    to: Annotated[Path, typer.Argument(help="Folder of cases, such as tests/regressions.", metavar="FOLDER")],
    as_json: AsJson = False,
) -> None:
    """Write findings as small cases, arrays and metadata, which pytest collects and runs by itself.

    Run it from the folder that the tests run in: names of files are to stand from there. A finding whose model was an
    object of a test needs --model.
    """
    changes = ON_FOLDER.parsed(ON_FOLDER.read(flags))
    places = [promoted(finding, to, changes) for finding in findings]
    if as_json:
        print(json.dumps({"cases": [str(place) for place in places]}))
        return
    for place in places:
        case = read_case(place)
        say(output(), f"{place}: {case.defect.title}")
        if was_held(case.model):
            say(
                output(),
                f"  {shown_name(case.model)} was an object of a test: add --model FILE.py:function, or set "
                f"jostle_model in pytest's configuration",
            )
