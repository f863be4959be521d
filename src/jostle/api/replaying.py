"""Findings of earlier runs on a model as it is now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from jostle.api.fuzzing import companions
from jostle.api.handed_over import by_name, seeds_by_name
from jostle.commands.replay import Replay, replay_on
from jostle.composition.settle import FUZZ
from jostle.held import holding
from jostle.session.load import load
from jostle.subjects.torch_modes import in_its_mode


def replayed(
    folders: Sequence[Path], model: object, seeds: object, labels: object, options: Mapping[str, Any]
) -> list[Replay]:
    """What findings show when `jostle.fuzz` is about to be called with these; nothing is written."""
    with holding() as holder, in_its_mode(model, *companions(options)):
        named = by_name(holder, {**options, "model": model})
        given = FUZZ.parsed({**named, "seeds": seeds_by_name(holder, seeds, labels)})
        with closing(load(given)) as loaded:
            return replay_on(loaded, folders)
