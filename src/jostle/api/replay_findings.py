"""`jostle.replay`: what was found once, on a model as it is now."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jostle.api.handed_over import by_name
from jostle.commands.replay import Replay
from jostle.commands.replay import replay as replayed
from jostle.composition.settle import FUZZ
from jostle.held import holding, is_held
from jostle.subjects.torch_modes import in_its_mode


def replay(places: str | Path | Sequence[str | Path], model: object = None, **options: Any) -> list[Replay]:
    """Runs the inputs of findings once more, each alone, and says whether they are still wrong (`still_wrong`).

    A place is the folder of a campaign, which stands for all its findings, or that of a finding. The model is what
    `jostle.fuzz` takes; without it, it is the one that the findings were found in, if that was a file or
    `FILE.py:function`. Those run in a process of their own, an object in this one.
    """
    folders = [places] if isinstance(places, str | Path) else places
    with holding() as holder, in_its_mode(model):
        named = by_name(holder, options if model is None else {**options, "model": model})
        here = {"isolate": False} if is_held(named.get("model", "")) else {}
        return replayed([Path(folder) for folder in folders], FUZZ.parsed({**here, **named}))
