"""`jostle.replay`: do findings still show, on the model that they were found in or on another?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from jostle.api.objects_by_name import by_name, companions, seeds_by_name
from jostle.commands.options_taken import OF_REPLAY, refuse_others
from jostle.commands.replay import Replay, replay_on
from jostle.commands.replay import replay as replayed_again
from jostle.composition.settle import FUZZ, ON_FOLDER
from jostle.held import holding
from jostle.session.load import load
from jostle.subjects.torch_modes import in_its_mode


def replay(
    folder: str | Path | Sequence[str | Path],
    model: object = None,
    *,
    weights: str | Path | None = None,
    **options: Any,
) -> list[Replay]:
    """What became of the findings in a campaign's folder, or in folders of findings, each run once more alone.

    Without a model, the campaign's is loaded again by its name. Where model, `twin`, `models`, `oracle`, `metadata` or
    `tokenizer` were objects of a script, they are given again by the same names. Python that the folder names is
    executed only if a run of yours executed it before, or with `trust_folder=True`. Each finding has a `verdict`: still
    there, new (wrong in another way), mended or not run.
    """
    refuse_others("jostle.replay", options, OF_REPLAY)
    places = [folder] if isinstance(folder, str | Path) else list(folder)
    with holding() as holder, in_its_mode(model, *companions(options)):
        changes = by_name(holder, {**options, "model": model, "weights": weights})
        return replayed_again([Path(place) for place in places], ON_FOLDER.parsed(changes))


def replayed(
    folders: Sequence[Path], model: object, seeds: object, labels: object, options: Mapping[str, Any]
) -> list[Replay]:
    """What findings show when `jostle.fuzz` is about to be called with these; nothing is written."""
    with holding() as holder, in_its_mode(model, *companions(options)):
        named = by_name(holder, {**options, "model": model})
        given = FUZZ.parsed({**named, "seeds": seeds_by_name(holder, seeds, labels)})
        with closing(load(given)) as loaded:
            return replay_on(loaded, folders)
