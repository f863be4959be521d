"""From settings to a campaign ready to run."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from jostle.campaign import Budget, Campaign
from jostle.config import Settings
from jostle.errors import UsageError
from jostle.inputs.distances import as_image_file
from jostle.interfaces import Feedback, Listener, ModelTarget, Oracle
from jostle.options.choices import chosen
from jostle.profile import Profile, encode_profile, load_profile
from jostle.records import History, Seeds, all_rows
from jostle.session.defaults import RECIPES, refuse_contradictions
from jostle.session.finish import Finisher
from jostle.session.gradient_ascent import Means
from jostle.session.load import Loaded, load
from jostle.session.parts import RANGED, Guides, feedbacks_of, mutator_of, oracles, scheduler_of
from jostle.session.preflight import Flight
from jostle.session.profiles import Progress, profile_named, profile_of_seeds, quietly
from jostle.storage.archive import Archive, open_campaign
from jostle.storage.campaign_record import CampaignRecord
from jostle.storage.files import write_whole
from jostle.storage.history import read_history
from jostle.storage.ownership import check_folder

REHEARSED = 32  # seeds at most, spread over all
PROFILE = "profile.safetensors"  # in the campaign's folder


@dataclass(frozen=True)
class Assembled:
    """A campaign with all that a front end shows about it."""

    campaign: Campaign
    finisher: Finisher
    archive: Archive
    history: History | None
    flight: Flight
    watched: tuple[str, ...]
    profile: Profile | None
    loaded: Loaded

    def release(self) -> None:
        """Ends the worker, and lets another process go on with the campaign."""
        self.loaded.close()
        self.archive.release()


def assemble(settings: Settings, listeners: Sequence[Listener] = (), progress: Progress = quietly) -> Assembled:
    """Loads, checks and wires everything; the output folder is touched only after all checks passed."""
    chosen("--recipe", settings.recipe, RECIPES)
    refuse_contradictions(settings)
    loaded = load(settings)
    settings, target, seeds = loaded.settings, loaded.watched.target, loaded.flight.seeds
    record = CampaignRecord(settings.bound(), settings.unbound(), loaded.digest, settings.contents())
    folder = settings.folder(loaded.digest)
    means = Means(loaded.watched.gradients, loaded.watched.incoming, seeds, loaded.flight.classes)
    mutator, scheduler = mutator_of(settings, means), scheduler_of(settings)  # before a profile, which may take long
    check_folder(folder, record)
    profile, flight = _profile(loaded, folder, progress)
    guides = Guides(loaded.watched.novelty_layers, profile)
    judges = oracles(settings, bool(flight.classes))
    _rehearse(target, seeds, feedbacks_of(settings, guides), judges)
    with ExitStack() as undone:
        undone.callback(loaded.close)
        archive = open_campaign(folder, record)
        undone.callback(archive.release)
        if loaded.service is not None:
            loaded.service.keep_batches_in(folder)
        if profile is not None:
            _save_profile(archive, profile, loaded)
        campaign = Campaign(
            target=target,
            mutator=mutator,
            feedbacks=feedbacks_of(settings, guides),
            oracles=judges,
            scheduler=scheduler,
            seeds=seeds,
            budget=budget_of(settings),
            seed=settings.seed,
            batch=settings.batch,
            listeners=[archive, *listeners],
            saved=partial(as_image_file, low=settings.range[0], high=settings.range[1]) if settings.as_images else None,
            full=partial(is_full, archive, settings),
        )
        history = read_history(archive.folder, seeds, archive.quarantine)
        undone.pop_all()
    named = {name: judge for name, judge in zip(settings.oracle, judges, strict=True) if name != "crash"}
    finisher = Finisher(settings, target, means.gradients, seeds, flight.classes, named)
    return Assembled(campaign, finisher, archive, history, flight, tuple(loaded.watched.layers), profile, loaded)


def budget_of(settings: Settings) -> Budget:
    return Budget(settings.budget, settings.executions, settings.findings)


def is_full(archive: Archive, settings: Settings) -> bool:
    """Whether the campaign's folder has reached the size that it may have."""
    return settings.max_disk is not None and archive.used >= settings.max_disk


def _profile(loaded: Loaded, folder: Path, progress: Progress) -> tuple[Profile | None, Flight]:
    """The ranges that criteria measure against, taken once for a campaign; without data, those of the seeds."""
    settings, watched, flight = loaded.settings, loaded.watched, loaded.flight
    if not set(RANGED) & set(settings.coverage):
        return None, flight
    saved = _saved_profile(folder, loaded)
    if saved is not None:
        return saved, flight
    if settings.profile is not None:
        return profile_named(settings, settings.profile, watched, progress), flight
    warning = "neurons are taken to range as they do on the seeds: give training data as --profile for better ranges"
    flight = replace(flight, warnings=(*flight.warnings, warning))
    return profile_of_seeds(settings, watched, progress), flight


def _saved_profile(folder: Path, loaded: Loaded) -> Profile | None:
    """The ranges that this campaign was begun with, None if they cannot be read."""
    if not (folder / PROFILE).exists():
        return None
    try:
        return load_profile(folder / PROFILE, loaded.watched.belongs_to)
    except UsageError:
        return None


def _save_profile(archive: Archive, profile: Profile, loaded: Loaded) -> None:
    path, content = archive.folder / PROFILE, encode_profile(profile, loaded.watched.belongs_to)
    if path.exists() and _saved_profile(archive.folder, loaded) is None:
        archive.quarantine.set_aside(path)
        archive.quarantine.warn(f"{path} was damaged, so the ranges of all neurons were taken again")
    if not path.exists():
        write_whole(path, content, synced=True)


def _rehearse(target: ModelTarget, seeds: Seeds, feedbacks: Sequence[Feedback], judges: Sequence[Oracle]) -> None:
    """Some seeds through all that looks at a trace, so that what refuses them does so before anything is written."""
    sample = seeds.as_candidates().select(all_rows(len(seeds))[:: -(-len(seeds) // REHEARSED)])
    trace = target.run(sample)
    for judge in judges:
        judge.judge(sample, trace)
    for feedback in feedbacks:
        feedback.assess(trace)
