"""`jostle demo`: the main job on embedded data."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from jostle.cli.fuzz import fuzz_given
from jostle.cli.terminal import Exit
from jostle.recipes.settle import FUZZ
from jostle.storage.files import read_json

DEMO: Mapping[str, Any] = {
    "model": "jostle.zoo:lenet5",
    "seeds": "jostle.zoo:mnist_sample",
    "oracle": ["nan", "crash", "agree", "flip"],
    "twin": "int8",
    "radius": 0.3,
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
    given = FUZZ.parsed({**DEMO, "budget": budget, "out": str(out)})
    if _holds_demo(out / "config.json"):
        shutil.rmtree(out)
    code = fuzz_given(given, as_json)
    return Exit.CLEAN if code is Exit.FINDINGS else code


def _holds_demo(config: Path) -> bool:
    """True of the configuration of an earlier demo, also an older version's; anything else is not ours to replace."""
    try:
        held = read_json(config)
    except (OSError, ValueError):
        return False
    return isinstance(held, dict) and all(held.get(name) == value for name, value in DEMO.items())
