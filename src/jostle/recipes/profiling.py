"""Profiles of a watched model: read from a file, or taken over data as it streams by."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from jostle.config import Settings
from jostle.preflight import check_range
from jostle.profile import Profile, load_profile, profiled
from jostle.recipes.loading import Watched, image_form
from jostle.records import Seeds
from jostle.seeds import stream_seeds

# Shows how far a stream has been read: (parts, inputs in all) -> the same parts
Progress = Callable[[Iterator[Seeds], int], Iterator[Seeds]]
SAVED = ".safetensors"


def quietly(parts: Iterator[Seeds], count: int) -> Iterator[Seeds]:
    return parts


def profile_named(settings: Settings, spec: str, watched: Watched, progress: Progress = quietly) -> Profile:
    """A saved profile, if it belongs to this model, or one of the data behind the name."""
    if Path(spec).suffix == SAVED:
        return load_profile(Path(spec), watched.belongs_to)
    parts = data_parts(settings, spec, progress)
    return profiled(watched.target.run(part.as_candidates()) for part in parts)


def data_parts(settings: Settings, spec: str, progress: Progress = quietly) -> Iterator[Seeds]:
    """The data behind a name, batch by batch, all in the declared range."""
    stream = stream_seeds(spec, image_form(settings), settings.batch)
    for part in progress(stream.parts, stream.count):
        check_range(part, *settings.range)
        yield part
