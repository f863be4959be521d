"""`jostle.replay`: do findings still show, on the model that they were found in or on another?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jostle.api.handed_over import by_name
from jostle.commands.replay import Replay
from jostle.commands.replay import replay as replayed
from jostle.composition.settle import FUZZ
from jostle.held import holding
from jostle.subjects.torch_modes import in_its_mode


def replay(
    folder: str | Path | Sequence[str | Path],
    model: object = None,
    *,
    weights: str | Path | None = None,
    **options: Any,
) -> list[Replay]:
    """What became of the findings in a campaign's folder, or in folders of findings, each run once more alone.

    Without a model, the campaign's is loaded again by its name; a campaign over objects of a script needs one. Each
    has a `verdict`: still there, new (wrong in another way), mended or not run.
    """
    places = [folder] if isinstance(folder, str | Path) else list(folder)
    with holding() as holder, in_its_mode(model):
        changes = by_name(holder, {**options, "model": model, "weights": None if weights is None else str(weights)})
        return replayed([Path(place) for place in places], FUZZ.parsed(changes))
