"""`jostle run`: campaigns that a file names, one after another."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from jostle.cli.flags import AsJson, Flags, taking
from jostle.cli.fuzz import OTHER_TABLES, fuzz_given
from jostle.cli.terminal import Exit, output, say
from jostle.composition.settle import FUZZ
from jostle.errors import UsageError
from jostle.options.kinds import shown
from jostle.options.named_campaigns import OUT, NamedCampaign, chosen_campaigns, named_campaigns
from jostle.options.schema import Given
from jostle.options.toml_files import code_named
from jostle.storage.files import portable
from jostle.visible import visible

# From what nobody minds to what must be looked at first.
SEVERITY = (Exit.CLEAN, Exit.NOTHING_RAN, Exit.FINDINGS, Exit.INTERRUPTED, Exit.USAGE)
NONE_NAMED = "no campaign has a name: write [campaign.NAME] into jostle.toml, or let jostle init MODEL SEEDS write it"


@taking(FUZZ)
def run_campaigns(
    flags: Flags,
    names: Annotated[
        list[str] | None, typer.Argument(help="Campaigns to run; without any they are listed.", metavar="[NAME]…")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Run all of them, in the file's order.")] = False,
    as_json: AsJson = False,
) -> Exit:
    """Run campaigns that jostle.toml names in tables such as campaign.nightly, or list them.

    Options are flags over those of the table over those above all tables. Several run one after another, and each
    prints what came of it. The exit code is the worst of theirs, as `jostle fuzz` has them: 1 if any found something.
    """
    known = named_campaigns(FUZZ, Path.cwd(), OTHER_TABLES)
    if every and names:
        raise UsageError("--all runs every campaign: leave out the names, or --all")
    if not known and not names:
        raise UsageError(NONE_NAMED)
    if not names and not every:
        _list(known, as_json)
        return Exit.CLEAN
    wanted = chosen_campaigns(known, names or list(known))
    if flags[OUT] is not None and len(wanted) > 1:
        raise UsageError(f"--out {flags[OUT]} is the folder of one campaign: set `out` in their tables")
    return _run({campaign.name: campaign.given(FUZZ, flags) for campaign in wanted}, flags, as_json)


def _run(campaigns: Mapping[str, Given], flags: Flags, as_json: bool) -> Exit:
    """Runs one after another until somebody interrupts; one that is refused does not keep the others from running."""
    ended: list[Exit] = []
    for number, (name, given) in enumerate(campaigns.items(), 1):
        if len(campaigns) > 1 and not as_json:
            say(Console(stderr=True), f"campaign {name} ({number} of {len(campaigns)})")
        ended.append(_ended(name, given, code_named(FUZZ, given, flags), as_json))
        if ended[-1] is Exit.INTERRUPTED:
            break
    return max(ended, key=SEVERITY.index)


def _ended(name: str, given: Given, code: Sequence[str], as_json: bool) -> Exit:
    try:
        return fuzz_given(given, as_json, code)
    except UsageError as error:
        say(Console(stderr=True), f"jostle: campaign {name}: {' '.join(str(error).split())}")
        return Exit.USAGE


def _list(campaigns: Mapping[str, NamedCampaign], as_json: bool) -> None:
    folders = {name: campaign.given(FUZZ, {}).get(OUT) for name, campaign in campaigns.items()}
    if as_json:
        print(json.dumps({name: portable({**one.own, OUT: folders[name]}) for name, one in campaigns.items()}))
        return
    table = Table(show_header=False, box=None, padding=(0, 2))
    for name, campaign in campaigns.items():
        table.add_row(f"[bold]{name}[/bold]", escape(visible(_line(campaign.own))), escape(visible(folders[name])))
    output().print(table, soft_wrap=True)


def _line(own: Mapping[str, Any]) -> str:
    """What a table sets, in its order."""
    said: Sequence[str] = [f"{key} {shown(value)}" for key, value in own.items() if key != OUT]
    return ", ".join(said) or "as above all tables"
