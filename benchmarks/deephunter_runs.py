"""A campaign of DeepHunter's parts on a LeNet, for benchmarks that measure its coverage."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from jostle.config import Settings
from jostle.session.defaults import settled
from jostle.session.gradient_ascent import Means
from jostle.session.instrument import contained, watch
from jostle.session.parts import RANGED, Guides, feedbacks_of, mutator_of, oracles, scheduler_of
from jostle.targets.layers import layers_of
from jostle.targets.loading import Model
from torch import Tensor, nn

from jostle.campaign import Budget, Campaign
from jostle.commands.coverage_meter import CoverageMeter
from jostle.interfaces import Listener
from jostle.profile import Profile
from jostle.records import Seeds, Summary
from jostle.storage.archive import open_archive


def profile_of(
    model: nn.Module, images: Tensor, layers: Sequence[str], batch: int = 1000, units: str = "channels"
) -> Profile:
    """Ranges of all neurons over the images [n, ...]."""
    return CoverageMeter(model, RANGED, layers=tuple(layers), units=units).take_profile(images.split(batch))


def fuzz(
    model: nn.Module,
    seeds: Seeds,
    profile: Profile,
    layers: Sequence[str],
    coverage: Sequence[str],
    budget: Budget,
    seed: int = 0,
    listeners: Sequence[Listener] = (),
    twin: nn.Module | None = None,
    **settings: object,
) -> tuple[Summary, Campaign]:
    """Runs the recipe as `jostle fuzz --recipe deephunter` does, everything written to disk."""
    given = Settings("", "", recipe="deephunter", coverage=tuple(coverage), layers=tuple(layers), seed=seed, **settings)
    chosen = settled(given if twin is None else replace(given, twin="weights16"), classes=True)
    own, other = Model(model, lambda: model), None if twin is None else Model(twin, lambda: twin)
    watched = contained(watch(chosen, own, other, layers_of(model, seeds.inputs[:2])))
    classes = watched.target.predict(seeds.inputs[:1]).shape[1]
    means = Means(watched.gradients, watched.incoming, seeds, classes)
    with tempfile.TemporaryDirectory() as folder:
        archive = open_archive(Path(folder) / "campaign", {"benchmark": seed})
        campaign = Campaign(
            target=watched.target,
            mutator=mutator_of(chosen, means),
            feedbacks=feedbacks_of(chosen, Guides(watched.novelty_layers, profile)),
            oracles=oracles(chosen, classes=True),
            scheduler=scheduler_of(chosen),
            seeds=seeds,
            budget=budget,
            seed=seed,
            batch=chosen.batch,
        )
        return campaign.run(listeners=[archive, *listeners]), campaign
