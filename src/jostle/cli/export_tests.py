"""`jostle export-tests`: the tests of a campaign as arrays, image files or a torch dataset."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from jostle.cli.flags import AsJson, Flags, taking
from jostle.cli.terminal import output, say
from jostle.commands.export_tests import FAILING, SOURCES
from jostle.commands.export_tests import export_tests as exported
from jostle.commands.exported_tests import SCRIPT, TEST_FORMATS
from jostle.composition.settle import ON_FOLDER
from jostle.triage.words import counted

OF_EXPORT = ("seeds", "trust_folder")
FORMATS = "|".join(TEST_FORMATS)


@taking(ON_FOLDER, OF_EXPORT)
def export_tests(
    flags: Flags,
    campaign: Annotated[Path, typer.Argument(help="Folder that `jostle fuzz` wrote to.", metavar="FOLDER")],
    format: Annotated[
        str, typer.Option("--as", help="Arrays, PNG files by class, or tensors for torch.utils.data.", metavar=FORMATS)
    ],
    out: Annotated[Path, typer.Option(help="File (npz) or folder to write.", metavar="PATH")],
    tests: Annotated[
        str, typer.Option(help="Those that fail, or those kept, which pass.", metavar="|".join(SOURCES))
    ] = FAILING,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier export.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write the failing tests of a campaign, each under the label of its seed, for use elsewhere; without pickle.

    Reads the folder only, and loads no model. Kept tests are made of the campaign's seeds, which must still be there; a
    FILE.py:function that gave these runs again, if a run of yours executed it before or you give it as --seeds.
    """
    written = exported(campaign, format, out, tests, overwrite, ON_FOLDER.parsed(ON_FOLDER.read(flags)))
    if as_json:
        print(json.dumps(asdict(written)))
        return
    only = " (its findings: the folder keeps no others)" if written.findings_only else ""
    say(output(), f"{counted(written.tests, f'{tests} test')}{only} written to {written.out}{_use(format, out, tests)}")


def _use(format: str, out: Path, tests: str) -> str:
    """How to go on with them; the model that failing tests come from gets all of them wrong, which must be forced."""
    if format == "torch-dataset":
        return f": from {SCRIPT.removesuffix('.py')} import tests, in that folder"
    force = " --force" if tests == FAILING else ""
    return f": jostle fuzz MODEL --seeds {out}{force} begins from them"
