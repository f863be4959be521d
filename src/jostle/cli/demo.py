"""`jostle demo`: the main job on embedded data."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from jostle.cli.exits import Exit
from jostle.cli.fuzz import run_campaign
from jostle.config import Settings


def demo(
    budget: Annotated[float, typer.Option(help="Seconds to fuzz.")] = 20.0,
    out: Annotated[Path, typer.Option(help="Where to write; replaced if it holds an earlier demo.")] = Path(
        "jostle-runs/demo"
    ),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object at the end.")] = False,
) -> Exit:
    """Fuzz the shipped LeNet-5 from 500 real digits: flipped labels, NaNs, and disagreement with its int8 twin."""
    settings = Settings(
        model="jostle.zoo:lenet5",
        seeds="jostle.zoo:mnist_sample",
        oracle=("nan", "crash", "agree", "flip"),
        twin="int8",
        radius=0.3,
        budget=budget,
        out=str(out),
    )
    if out.name == "demo" and (out / "config.json").exists():
        shutil.rmtree(out)
    code = run_campaign(settings, as_json)
    return Exit.CLEAN if code is Exit.FINDINGS else code
