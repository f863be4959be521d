"""`jostle fuzz`: run a campaign."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from jostle.cli.flags import AsJson, Flags, taking
from jostle.cli.run import run_session
from jostle.cli.terminal import Exit
from jostle.composition.settle import FUZZ
from jostle.errors import UsageError
from jostle.options.named_campaigns import CAMPAIGN
from jostle.options.schema import Given
from jostle.options.toml_files import CONFIG_FILE, code_named, given_by
from jostle.progress import Progress
from jostle.session.assemble import assemble
from jostle.session.session import Session

OTHER_TABLES = ("frameworks", CAMPAIGN)  # of other commands, in the same files


@taking(FUZZ, argument="model")
def fuzz(flags: Flags, as_json: AsJson = False) -> Exit:
    """Fuzz a model from seeds; every setting can also stand in jostle.toml or pyproject.toml.

    Exit code: 0 nothing found, 1 findings, 2 interrupted, 3 our own error, 4 wrong usage, 5 nothing ran. Findings that
    --fail-on and --fail-if-more-than let pass count as nothing found.
    """
    given = given_by(FUZZ, flags, Path.cwd(), other_tables=OTHER_TABLES)
    return fuzz_given(given, as_json, code_named(FUZZ, given, flags))


def fuzz_given(given: Given, as_json: bool, code: Sequence[str] = ()) -> Exit:
    """Runs the campaign that these options describe; code that files of the project name is said before it runs."""
    for missing in ("model", "seeds"):
        if missing not in given:
            raise UsageError(f"{missing} is missing: jostle fuzz MODEL --seeds PATH, or set it in jostle.toml")

    def opened(progress: Progress, say: Callable[[str], None]) -> Session:
        say_code(code, say)
        return assemble(given, progress)

    return run_session(opened, as_json)


def say_code(code: Sequence[str], say: Callable[[str], None]) -> None:
    """Says which files and modules run because a file of the project names them."""
    if code:
        say(f"runs code of: {', '.join(code)} (named by {CONFIG_FILE} or pyproject.toml here)")
