"""`jostle export`: a campaign's defects for continuous integration, and whether they fail it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from jostle.cli.flags import AsJson, Flags, taking
from jostle.cli.terminal import Exit, output, say
from jostle.commands.export import append_summary, read_exported, refuse_unknown_of, write_formats
from jostle.errors import UsageError
from jostle.export.github import annotation_lines
from jostle.options.schema import Schema
from jostle.triage.gate import Gate, GateOptions, gate_of

GATE = Schema(GateOptions)
SUMMARY = "GITHUB_STEP_SUMMARY"  # where GitHub Actions takes the summary of a step from
File = Path | None


@taking(GATE)
def export(
    flags: Flags,
    campaign: Annotated[
        Path, typer.Argument(help="Folder that `jostle fuzz` or `jostle frameworks` wrote to.", metavar="FOLDER")
    ],
    junit: Annotated[File, typer.Option(help="Write JUnit XML, a test for each defect.", metavar="FILE")] = None,
    sarif: Annotated[File, typer.Option(help="Write SARIF 2.1.0 for code scanning.", metavar="FILE")] = None,
    markdown: Annotated[
        File, typer.Option(help="Write Markdown for a pull request: a table, with details folded.", metavar="FILE")
    ] = None,
    github: Annotated[
        bool, typer.Option("--github", help=f"Print annotations, and append the Markdown to ${SUMMARY} if it is set.")
    ] = False,
    as_json: AsJson = False,
) -> Exit:
    """Write the defects of a campaign for continuous integration, and fail if they are too many.

    Reads the folder only: no model is loaded, and no code is executed. Exit code: 0, or 1 for defects that --fail-on or
    --fail-if-more-than does not let pass.
    """
    options = GATE.parsed(GATE.read(flags)).of(GateOptions)
    gate = gate_of(options)
    named = {"junit": junit, "sarif": sarif, "markdown": markdown}
    files = {format: path for format, path in named.items() if path is not None}
    _refuse_contradictions(files, github, as_json, gate)
    result, exported = read_exported(campaign, Path.cwd())
    refuse_unknown_of(campaign, result, options)
    written = write_formats(exported, files)
    if github and os.environ.get(SUMMARY):
        append_summary(exported, Path(os.environ[SUMMARY]))
    excesses = gate.excesses(result.defects) if gate is not None else []
    if as_json:
        told = {"written": list(map(str, written)), "fails": [asdict(one) for one in excesses]}
        print(json.dumps({**result.as_json(), **told}))
    else:
        for path in written:
            say(output(), f"written to {path}")
        for line in annotation_lines(exported) if github else ():
            say(output(), line)
    for line in (*exported.notes, *(f"fails: {excess}" for excess in excesses)):
        say(Console(stderr=True), line)
    return Exit.FINDINGS if excesses else Exit.CLEAN


def _refuse_contradictions(files: Mapping[str, Path], github: bool, as_json: bool, gate: Gate | None) -> None:
    if github and as_json:
        raise UsageError("--github and --json both print to standard output: leave one of them out")
    if not files and not github and not as_json and gate is None:
        raise UsageError("nothing to export: give --junit FILE, --sarif FILE, --markdown FILE, --github or --json")
