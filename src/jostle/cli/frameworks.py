"""`jostle frameworks`: fuzz the libraries that run models, and write reproducers of what they get wrong."""

from __future__ import annotations

from pathlib import Path

from jostle.cli.flags import AsJson, Flags, taking
from jostle.cli.run import run_session
from jostle.cli.terminal import Exit
from jostle.frameworks.campaign.options import FRAMEWORKS, settled
from jostle.options.toml_files import given_by
from jostle.session.assemble_frameworks import assemble

TABLE = "frameworks"  # of jostle.toml and [tool.jostle]


@taking(FRAMEWORKS, argument="models")
def frameworks(flags: Flags, as_json: AsJson = False) -> Exit:
    """Fuzz deep-learning frameworks: mutate models, run them everywhere, report who is wrong with a short script.

    Exit code: 0 nothing found, 1 findings, 2 interrupted, 3 our own error, 4 wrong usage, 5 nothing ran.
    """
    given = given_by(FRAMEWORKS, {**flags, "models": flags["models"] or None}, Path.cwd(), TABLE)
    return run_session(lambda progress, say: assemble(settled(given), say), as_json)
