"""Options that several commands take, under the same names and with the same meaning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from jostle.config import checked

MODEL_HELP = "FILE.py:function, package.module:function, or a .pt2 file."
DATA_HELP = "Folder of images, .npy/.npz file, or FILE.py:function."

Model = Annotated[str, typer.Argument(help=MODEL_HELP)]
Data = Annotated[str, typer.Argument(help=DATA_HELP)]
Weights = Annotated[
    str | None,
    typer.Option(help="State dict (.safetensors; .pt, .pth, .bin, .ckpt) for the model of FILE.py:function."),
]
Profile = Annotated[
    str | None, typer.Option(help="Training data, or a file of `jostle profile`: the ranges kmnc, nbc, snac need.")
]
Sections = Annotated[int | None, typer.Option(help="Sections of a neuron's range (kmnc, 1000).")]
Buckets = Annotated[int | None, typer.Option(help="Sections counted beyond a range (nbc, snac; 10).")]
Top = Annotated[int | None, typer.Option(help="How many of a layer count (tknc, bknc; 10).")]
Active = Annotated[float | None, typer.Option(help="Scaled activation that counts as active (nc, 0.75; dlfuzz 0.25).")]
Levels = Annotated[
    int | None, typer.Option(help="Levels below that, which lead the search and count for nothing (10, dlfuzz 100).")
]
Layers = Annotated[str | None, typer.Option(help="Layers to watch and to guide by: 'conv*,fc1'.")]
Units = Annotated[str | None, typer.Option(help="A neuron is the mean of a channel (channels) or every unit.")]
Range = Annotated[str | None, typer.Option(help="Lowest and highest input value (0,1).")]
Mean = Annotated[str | None, typer.Option(help="Per channel; subtracted before the model.")]
Std = Annotated[str | None, typer.Option(help="Per channel; divided by before the model.")]
Channels = Annotated[int | None, typer.Option(help="Read image files as 1 (grey) or 3 (colour) channels.")]
Size = Annotated[str | None, typer.Option(help="Resize image files to HEIGHT,WIDTH.")]
Batch = Annotated[int | None, typer.Option(help="Inputs run at once (256).")]
TrustModel = Annotated[bool | None, typer.Option("--trust-model", help="Load a pickled model, which can execute code.")]
Timeout = Annotated[str | None, typer.Option(help="Longest time for a batch in the model's own process (5m).")]
RssLimit = Annotated[
    str | None, typer.Option(help="Most memory of the model's own process, such as 2G (3/4 of the machine's).")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object at the end, nothing else.")]


def given(flags: Mapping[str, Any]) -> dict[str, Any]:
    """The flags that were given, in the types of their settings."""
    return {name: checked(name, value) for name, value in flags.items() if value is not None}
