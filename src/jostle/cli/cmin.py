"""`jostle cmin`: a campaign's corpus, as small as its coverage allows."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from jostle.cli.display import coverage_text
from jostle.cli.flags import AsJson, Flags, taking
from jostle.cli.terminal import output, say
from jostle.commands.cmin import Reduction, reduced
from jostle.composition.settle import FUZZ


@taking(FUZZ, ["trust_model"])
def cmin(
    flags: Flags,
    campaign: Annotated[Path, typer.Argument(help="Folder that `jostle fuzz` wrote to.")],
    out: Annotated[Path | None, typer.Option(help="Where to save, .npz (reduced.npz in the campaign).")] = None,
    as_json: AsJson = False,
) -> None:
    """Reduce what a campaign kept to fewer inputs with the same coverage; the file can serve as --seeds."""
    reduction = reduced(campaign, out, bool(flags["trust_model"]))
    if as_json:
        print(json.dumps(asdict(reduction)))
    else:
        _print(reduction)


def _print(reduction: Reduction) -> None:
    lines = [
        f"{reduction.chosen:,} of {reduction.entries:,} inputs cover the same; saved to {reduction.out}",
        f"before: {coverage_text(reduction.before)}",
        f"after:  {coverage_text(reduction.after)}",
    ]
    if reduction.lost:
        lines.append(f"{reduction.lost:,} units lie so close to an edge that rounding in other batches loses them")
    for line in lines:
        say(output(), line)
