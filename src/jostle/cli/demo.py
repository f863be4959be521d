"""`jostle demo`: the main job on embedded data."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from jostle.cli.fuzz import run_campaign
from jostle.cli.terminal import Exit
from jostle.config import Settings, checked
from jostle.errors import OutputRefused
from jostle.storage.campaign_record import read_campaign

TELLING = ("model", "seeds", "twin", "seed", "threshold", "layers")  # settings that tell a demo from a user's campaign


def demo(
    budget: Annotated[str, typer.Option(help="Time such as 20s or 2m.")] = "20s",
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
        budget=checked("budget", budget),
        out=str(out),
    )
    if _holds_demo(out, settings.bound()):
        shutil.rmtree(out)
    code = run_campaign(settings, as_json)
    return Exit.CLEAN if code is Exit.FINDINGS else code


def _holds_demo(folder: Path, settings: Mapping[str, Any]) -> bool:
    """True of the folder of an earlier demo, also of an older format; anything else is not ours to replace."""
    try:
        held = read_campaign(folder).settings
    except (OSError, ValueError, OutputRefused):
        return False
    return all(held.get(name) == settings[name] for name in TELLING)
