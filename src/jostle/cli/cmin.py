"""`jostle cmin`: a campaign's corpus, as small as its coverage allows."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from jostle.cli.display import coverage_text
from jostle.cli.flags import AsJson, Flags, taking
from jostle.cli.terminal import output, say
from jostle.commands.cmin import Reduction, reduced
from jostle.commands.options_taken import OF_FOLDER
from jostle.composition.settle import ON_FOLDER
from jostle.errors import UsageError


@taking(ON_FOLDER, OF_FOLDER)
def cmin(
    flags: Flags,
    campaign: Annotated[Path, typer.Argument(help="Folder that `jostle fuzz` wrote to.")],
    keep: Annotated[
        str, typer.Option(help="Share of the covered units to keep, of neuron criteria: 95%.", metavar="SHARE")
    ] = "100%",
    out: Annotated[Path | None, typer.Option(help="Where to save, .npz (reduced.npz in the campaign).")] = None,
    as_json: AsJson = False,
) -> None:
    """Reduce what a campaign kept to fewer inputs with the same coverage; the file can serve as --seeds."""
    reduction = reduced(campaign, out, ON_FOLDER.parsed(ON_FOLDER.read(flags)), _share(keep))
    if as_json:
        print(json.dumps(asdict(reduction)))
    else:
        _print(reduction)


def _share(text: str) -> float:
    try:
        share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        share = math.nan
    if not 0 < share <= 1:
        raise UsageError(f"--keep {text}: give a share such as 95% or 0.95")
    return share


def _print(reduction: Reduction) -> None:
    covered = "the same" if reduction.keep == 1 else f"{100 * reduction.keep:g}% of the units"
    lines = [
        f"{reduction.chosen:,} of {reduction.entries:,} inputs cover {covered}; saved to {reduction.out}",
        f"before: {coverage_text(reduction.before)}",
        f"after:  {coverage_text(reduction.after)}",
    ]
    if reduction.lost and reduction.keep == 1:
        lines.append(f"{reduction.lost:,} units lie so close to an edge that rounding in other batches loses them")
    for line in lines:
        say(output(), line)
