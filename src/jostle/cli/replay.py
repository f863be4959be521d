"""`jostle replay`: does a finding still show?"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from jostle.cli.flags import AsJson, Flags, taking
from jostle.cli.terminal import Exit, output, say
from jostle.commands.replay import Replay
from jostle.commands.replay import replay as replayed
from jostle.composition.settle import FUZZ


@taking(FUZZ, ["timeout", "rss_limit", "trust_model"])
def replay(
    flags: Flags,
    finding: Annotated[Path, typer.Argument(help="Folder of a finding: CAMPAIGN/findings/0001-…")],
    as_json: AsJson = False,
) -> Exit:
    """Run the input of a finding once more, alone and in a process of its own, and say what it shows.

    Exit code: 1 if it shows the same defect again, else 0.
    """
    result = replayed(finding, FUZZ.parsed(FUZZ.read(flags)))
    if as_json:
        print(json.dumps({**asdict(result), "again": result.again}))
    else:
        _print(result)
    return Exit.FINDINGS if result.again else Exit.CLEAN


def _print(result: Replay) -> None:
    lines = [f"{'shown again' if result.again else 'not shown again'}: {result.recorded}"]
    lines += [f"  {violation.fingerprint}: {violation.summary}" for violation in result.shown]
    if result.changed:
        lines.append("  model, code or seeds have changed since it was found")
    say(output(), "\n".join(lines if result.shown else [*lines, "  nothing is wrong with it"]))
