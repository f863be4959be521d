"""`jostle promote`: findings become small cases that the test suite runs from then on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from jostle.cli.flags import AsJson
from jostle.cli.terminal import output, say
from jostle.commands.promote import promote as promoted
from jostle.held import shown_name, was_held
from jostle.storage.defect_case import read_case

MODEL_HELP = "What builds the model, FILE.py:function or a model file, of a finding whose model was an object of a test"
TRUST_HELP = "Promote findings that may have brought the Python along that they name, which tests would run"


def promote(
    findings: Annotated[
        list[Path], typer.Argument(help="Folders of findings or of defects, CAMPAIGN/defects/….", metavar="FINDING…")
    ],
    to: Annotated[Path, typer.Argument(help="Folder of cases, such as tests/regressions.", metavar="FOLDER")],
    model: Annotated[str | None, typer.Option("--model", help=f"{MODEL_HELP}.", metavar="TEXT")] = None,
    trust_model: Annotated[bool, typer.Option("--trust-model", help=f"{TRUST_HELP}.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write findings as small cases, arrays and metadata, which pytest collects and runs by itself.

    Run it from the folder that the tests run in: names of files are to stand from there.
    """
    places = [promoted(finding, to, model, trust_model) for finding in findings]
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
