"""Profiles of a model: read from a file, or taken over data as it streams by."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from jostle.errors import PreflightFailed, SeedsRefused, UsageError
from jostle.feedback.neuron_parts import ProfileOptions
from jostle.inputs.domains import domain_of
from jostle.inputs.preflight import check_inside
from jostle.inputs.seeds import stream_seeds
from jostle.options.campaign import InputOptions
from jostle.options.resources import BatchOptions
from jostle.options.schema import Given
from jostle.profile import Profile, encode_profile, load_profile, profiled
from jostle.progress import Progress, quietly
from jostle.records import Seeds, Trace
from jostle.session.load import Loaded, seed_form
from jostle.storage.archive import Archive
from jostle.storage.files import write_whole
from jostle.subjects.instrument import Instrumented

SAVED = ".safetensors"
PROFILE = "profile.safetensors"  # in the campaign's folder


def take_profile(loaded: Loaded, progress: Progress) -> Profile:
    """The ranges that criteria measure against, over the data that was named, else over the seeds."""
    given = loaded.settings.given
    named = given.of(ProfileOptions).profile
    if named is not None:
        return profile_named(given, named, loaded.model, progress)
    parts = data_parts(given, given.of(InputOptions).seeds, progress)
    return profiled((loaded.model.target.run(part.as_candidates()) for part in parts), loaded.model.novelty_layers)


def saved_profile(folder: Path, model: Instrumented) -> Profile | None:
    """The ranges that a campaign was begun with, None if they cannot be read."""
    if not (folder / PROFILE).exists():
        return None
    try:
        return load_profile(folder / PROFILE, model.belongs_to, kept=True)
    except UsageError:
        return None


def save_profile(archive: Archive, profile: Profile, model: Instrumented) -> None:
    """Keeps the ranges in the campaign's folder; a damaged file is set aside."""
    path = archive.folder / PROFILE
    if path.exists() and saved_profile(archive.folder, model) is None:
        archive.quarantine.set_aside(path)
        archive.quarantine.warn(f"{path} was damaged, so the ranges of all neurons were taken again")
    if not path.exists():
        write_whole(path, encode_profile(profile, model.belongs_to), synced=True)


def profile_named(given: Given, spec: str, model: Instrumented, progress: Progress = quietly) -> Profile:
    """A saved profile, if it belongs to this model, or one of the data behind the name."""
    if Path(spec).suffix == SAVED:
        return load_profile(Path(spec), model.belongs_to)
    parts = data_parts(given, spec, progress)
    return profiled((sound_trace(model, part) for part in parts), model.novelty_layers)


def sound_trace(model: Instrumented, data: Seeds) -> Trace:
    """What the model does with data that it must accept."""
    trace = model.target.run(data.as_candidates())
    for crash in trace.crashes.values():
        raise PreflightFailed(
            f"the model fails on data of shape {list(data.inputs.shape[1:])} ({crash.error} in {crash.where}: "
            f"{crash.message}): give data as the model takes it"
        )
    return trace


def data_parts(given: Given, spec: str, progress: Progress = quietly) -> Iterator[Seeds]:
    """The data behind a name, batch by batch, all in the declared range."""
    inputs, batch = given.of(InputOptions), given.of(BatchOptions).rows
    stream = stream_seeds(spec, seed_form(inputs), batch)
    shape = None
    for part in progress(stream.parts, stream.count):
        check_inside(part, domain_of(part, inputs))
        shape = shape or part.inputs.shape[1:]
        if part.inputs.shape[1:] != shape:
            raise SeedsRefused(f"images in {spec} differ in size: give --size HEIGHT,WIDTH to resize all")
        yield part
