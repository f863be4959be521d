"""`jostle demo`: the main job on embedded data."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from jostle.cli.fuzz import fuzz_given
from jostle.cli.terminal import Exit
from jostle.composition.settle import FUZZ
from jostle.storage.campaign_record import holds_settings

DEMO: Mapping[str, Any] = {
    "model": "jostle.zoo:lenet5",
    "seeds": "jostle.zoo:mnist_sample",
    "twin": ["int8"],
    "seed": 0,
}


def demo(
    budget: Annotated[str, typer.Option(help="Time such as 20s or 2m.")] = "20s",
    out: Annotated[Path, typer.Option(help="Where to write; replaced if it holds an earlier demo.")] = Path(
        "jostle-runs/demo"
    ),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object at the end.")] = False,
) -> Exit:
    """Fuzz the shipped LeNet-5 from 500 real digits: flipped labels, NaNs, and disagreement with its int8 twin."""
    given = FUZZ.parsed({**DEMO, "budget": budget, "out": str(out), "report": True})
    if holds_settings(out, DEMO):  # of an earlier demo; anything else is not ours to replace
        shutil.rmtree(out)
    code = fuzz_given(given, as_json)
    return Exit.CLEAN if code is Exit.FINDINGS else code
