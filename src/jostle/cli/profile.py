"""`jostle profile`: how far each neuron ranges on training data, saved to be used again."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from jostle.cli.coverage import Data
from jostle.cli.flags import Flags, taking
from jostle.cli.in_subprocess import in_sandbox, in_subprocess_if_from_file
from jostle.cli.progress import shown
from jostle.cli.terminal import output, say
from jostle.commands.coverage_meter import profile_of_data
from jostle.commands.options_taken import OF_DATA, OF_WATCHED_MODEL
from jostle.composition.settle import FUZZ
from jostle.errors import OutputRefused, UsageError
from jostle.profile import encode_profile, is_profile
from jostle.session.profiles import SAVED
from jostle.storage.files import write_whole


@in_subprocess_if_from_file(lambda model, weights, **_: [model, *filter(None, [weights])])
@taking(FUZZ, (*OF_WATCHED_MODEL, *OF_DATA), argument="model", required=True)
def profile(
    flags: Flags,
    data: Data,
    out: Annotated[Path, typer.Option(help="The .safetensors file to write.")] = Path("profile.safetensors"),
) -> None:
    """Take the range of every neuron over training data, for --profile of `jostle fuzz` and `jostle coverage`."""
    given = FUZZ.parsed({**FUZZ.read(flags), "seeds": data})
    if out.suffix != SAVED:
        raise UsageError(f"--out {out}: give a name that ends in {SAVED}")
    with in_sandbox(given, writable=[out.parent]):
        taken, belongs_to = profile_of_data(given, partial(shown, Console(stderr=True), "profiling"))
    if out.exists() and not is_profile(out):
        raise OutputRefused(f"--out {out} holds something that is no profile: give another name")
    if not out.parent.is_dir():
        raise OutputRefused(f"cannot write {out}: there is no such folder; give another --out")
    write_whole(out, encode_profile(taken, belongs_to), synced=True)
    say(output(), f"{taken.explained()}\nwritten to {out}")
