"""`jostle init`: a jostle.toml to begin with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jostle.cli.flags import Flags, taking
from jostle.cli.in_subprocess import in_sandbox, in_subprocess_if_from_file
from jostle.cli.terminal import output, say
from jostle.commands.first_look import first_look
from jostle.commands.options_taken import OF_MODEL
from jostle.commands.starter_config import NIGHTLY, QUICK, consent_flags, starter_config
from jostle.composition.settle import FUZZ
from jostle.errors import OutputRefused
from jostle.options.campaign import DATA_HELP, InputOptions
from jostle.options.declaration import options_of
from jostle.options.toml_files import CONFIG_FILE
from jostle.storage.files import write_whole

FORCE_HELP = "Replace a jostle.toml that is there, and write one although a pre-flight check has doubts."
OPTIONS = (*OF_MODEL, *(name for name in options_of(InputOptions) if name != "seeds"), "output", "task")


@in_subprocess_if_from_file(lambda model, weights, **_: [model, *filter(None, [weights])])
@taking(FUZZ, OPTIONS, argument="model", required=True)
def init(
    flags: Flags,
    seeds: Annotated[str, typer.Argument(help=f"{DATA_HELP}.", metavar="SEEDS")],
    force: Annotated[bool, typer.Option("--force", help=FORCE_HELP)] = False,
) -> None:
    """Look at a model and seeds, try how they go together, and write a jostle.toml with two campaigns to begin with."""
    path = Path(CONFIG_FILE)
    if path.exists() and not force:
        raise OutputRefused(f"{path} is there already: add --force to replace it, or go to another folder")
    given = FUZZ.parsed({**FUZZ.read(flags), "seeds": seeds})
    with in_sandbox(given, writable=[path.parent]):
        look = first_look(given.over(force=True) if force else given)
    write_whole(path, starter_config(look).encode())
    told = f", {quality}" if (quality := look.way.figures["quality_on_seeds"]) else ""
    say(output(), f"wrote {path} for {look.inspection.kind} and {len(look.seeds):,} seeds{told}")
    start = " ".join([f"jostle run {QUICK}", *consent_flags(look.given)])
    say(output(), f"start with: {start} (or {NIGHTLY}; jostle run lists them)")
