"""`jostle frameworks`: fuzz the libraries that run models, and write reproducers of what they get wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from jostle.cli.flags import AsJson, Flags, taking
from jostle.cli.fuzz import say_code
from jostle.cli.node_table import print_nodes
from jostle.cli.run import run_session
from jostle.cli.terminal import Exit, output
from jostle.frameworks.campaign.options import FRAMEWORKS, OF_MUTATION, settled
from jostle.options.toml_files import code_named, given_by
from jostle.progress import Progress
from jostle.session.assemble_frameworks import assemble
from jostle.session.node_comparison import read_table
from jostle.session.session import Session

TABLE = "frameworks"  # of jostle.toml and [tool.jostle]


@taking(FRAMEWORKS, argument="models")
def frameworks(flags: Flags, as_json: AsJson = False) -> Exit:
    """Fuzz deep-learning frameworks: mutate models, run them everywhere, report who is wrong with a short script.

    Exit code: 0 nothing found, 1 findings, 2 interrupted, 3 our own error, 4 wrong usage, 5 nothing ran.
    """
    flags = {**flags, "models": flags["models"] or None}
    given = given_by(FRAMEWORKS, flags, Path.cwd(), TABLE)
    if given.get("no_mutation"):  # a file's budget is that of campaigns which mutate
        given = given.over(**{name: None for name in OF_MUTATION if not flags[name]})
    interpreters = [] if flags["backends"] else [one.partition("@")[2] for one in given.texts("backends") if "@" in one]
    code = [*code_named(FRAMEWORKS, given, flags), *interpreters]

    folders: list[Path] = []

    def opened(progress: Progress, say: Callable[[str], None]) -> Session:
        say_code(code, say)
        session = assemble(settled(given), say)
        folders.append(session.archive.folder)
        return session

    done = run_session(opened, as_json)
    if given.get("no_mutation") and not as_json:
        print_nodes(output(), read_table(folders[0]))
    return done
