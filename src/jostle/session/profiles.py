"""Profiles of a watched model: read from a file, or taken over data as it streams by."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from jostle.config import Settings
from jostle.errors import PreflightFailed, SeedsRefused
from jostle.inputs.seeds import stream_seeds
from jostle.profile import Profile, load_profile, profiled
from jostle.records import Seeds, Trace
from jostle.session.instrument import Watched
from jostle.session.load import image_form
from jostle.session.preflight import check_range

# Shows how far a stream has been read: (parts, inputs in all) -> the same parts
Progress = Callable[[Iterator[Seeds], int], Iterator[Seeds]]
SAVED = ".safetensors"


def quietly(parts: Iterator[Seeds], count: int) -> Iterator[Seeds]:
    return parts


def profile_of_seeds(settings: Settings, watched: Watched, progress: Progress = quietly) -> Profile:
    """The ranges over the seeds; a seed that the model fails on is a finding, and has none."""
    parts = data_parts(settings, settings.seeds, progress)
    return profiled(watched.target.run(part.as_candidates()) for part in parts)


def profile_named(settings: Settings, spec: str, watched: Watched, progress: Progress = quietly) -> Profile:
    """A saved profile, if it belongs to this model, or one of the data behind the name."""
    if Path(spec).suffix == SAVED:
        return load_profile(Path(spec), watched.belongs_to)
    return profiled(sound_trace(watched, part) for part in data_parts(settings, spec, progress))


def sound_trace(watched: Watched, data: Seeds) -> Trace:
    """What the model does with data that it must accept."""
    trace = watched.target.run(data.as_candidates())
    for crash in trace.crashes.values():
        raise PreflightFailed(
            f"the model fails on data of shape {list(data.inputs.shape[1:])} ({crash.error} in {crash.where}: "
            f"{crash.message}): give data as the model takes it"
        )
    return trace


def data_parts(settings: Settings, spec: str, progress: Progress = quietly) -> Iterator[Seeds]:
    """The data behind a name, batch by batch, all in the declared range."""
    stream = stream_seeds(spec, image_form(settings), settings.batch)
    shape = None
    for part in progress(stream.parts, stream.count):
        check_range(part, *settings.range)
        shape = shape or part.inputs.shape[1:]
        if part.inputs.shape[1:] != shape:
            raise SeedsRefused(f"images in {spec} differ in size: give --size HEIGHT,WIDTH to resize all")
        yield part
