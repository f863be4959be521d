"""`jostle fuzz`: run a campaign."""

from __future__ import annotations

from pathlib import Path

from jostle.cli.flags import AsJson, Flags, taking
from jostle.cli.run import run_session
from jostle.cli.terminal import Exit
from jostle.composition.settle import FUZZ
from jostle.errors import UsageError
from jostle.options.named_campaigns import CAMPAIGN
from jostle.options.schema import Given
from jostle.options.toml_files import given_by
from jostle.session.assemble import assemble

OTHER_TABLES = ("frameworks", CAMPAIGN)  # of other commands, in the same files


@taking(FUZZ, argument="model")
def fuzz(flags: Flags, as_json: AsJson = False) -> Exit:
    """Fuzz a model from seeds; every setting can also stand in jostle.toml or pyproject.toml.

    Exit code: 0 nothing found, 1 findings, 2 interrupted, 3 our own error, 4 wrong usage, 5 nothing ran. Findings that
    --fail-on and --fail-if-more-than let pass count as nothing found.
    """
    return fuzz_given(given_by(FUZZ, flags, Path.cwd(), other_tables=OTHER_TABLES), as_json)


def fuzz_given(given: Given, as_json: bool) -> Exit:
    """Runs the campaign that these options describe."""
    for missing in ("model", "seeds"):
        if missing not in given:
            raise UsageError(f"{missing} is missing: jostle fuzz MODEL --seeds PATH, or set it in jostle.toml")
    return run_session(lambda progress, say: assemble(given, progress), as_json)
