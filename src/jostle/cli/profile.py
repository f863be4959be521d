"""`jostle profile`: how far each neuron ranges on training data, saved to be used again."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from jostle.cli import options
from jostle.cli.in_subprocess import apart_if_from_file
from jostle.cli.progress import shown
from jostle.cli.terminal import output, say
from jostle.commands.coverage_meter import CoverageMeter
from jostle.config import Settings
from jostle.errors import OutputRefused, UsageError
from jostle.profile import encode_profile, is_profile
from jostle.session.instrument import load_seeded
from jostle.session.parts import RANGED
from jostle.session.profiles import SAVED, data_parts
from jostle.storage.files import write_whole


@apart_if_from_file(lambda model, weights, **_: [model, *filter(None, [weights])])
def profile(
    model: options.Model,
    data: options.Data,
    weights: options.Weights = None,
    out: Annotated[Path, typer.Option(help="The .safetensors file to write.")] = Path("profile.safetensors"),
    layers: options.Layers = None,
    units: options.Units = None,
    range: options.Range = None,
    mean: options.Mean = None,
    std: options.Std = None,
    channels: options.Channels = None,
    size: options.Size = None,
    batch: options.Batch = None,
    trust_model: options.TrustModel = None,
) -> None:
    """Take the range of every neuron over training data, for --profile of `jostle fuzz` and `jostle coverage`."""
    given = options.given({name: value for name, value in locals().items() if name not in ("model", "data", "out")})
    if out.suffix != SAVED:
        raise UsageError(f"--out {out}: give a name that ends in {SAVED}")
    settings = Settings(model, data, **given)
    meter = CoverageMeter(load_seeded(settings, model, settings.weights), RANGED, **given)
    parts = data_parts(settings, data, partial(shown, Console(stderr=True), "profiling"))
    taken = meter.take_profile(part.inputs for part in parts)
    if out.exists() and not is_profile(out):
        raise OutputRefused(f"--out {out} holds something that is no profile: give another name")
    if not out.parent.is_dir():
        raise OutputRefused(f"cannot write {out}: there is no such folder; give another --out")
    write_whole(out, encode_profile(taken, meter.belongs_to), synced=True)
    say(output(), f"{taken.explained()}\nwritten to {out}")
