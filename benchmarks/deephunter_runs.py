"""A campaign of DeepHunter's parts on a LeNet, for benchmarks that measure its coverage."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from jostle.campaign import Budget, Campaign
from jostle.commands.coverage_meter import CoverageMeter
from jostle.composition.compose import compose, prepare, watching
from jostle.composition.settle import FUZZ
from jostle.feedback.neuron_parts import RANGED
from jostle.interfaces import Listener
from jostle.part import TRIED
from jostle.profile import Profile
from jostle.recipes.deephunter import DEEPHUNTER
from jostle.records import Seeds
from jostle.step_records import Summary
from jostle.storage.archive import open_archive
from jostle.subjects.instrument import instrument
from jostle.subjects.torch_module import of_module


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
    **options: Any,
) -> tuple[Summary, Campaign]:
    """Runs the recipe as `jostle fuzz --recipe deephunter --ranges paper` does, everything written to disk."""
    limits = {"budget": budget.seconds, "executions": budget.executions, "findings": budget.findings}
    chosen = {"coverage": list(coverage), "layers": list(layers), "seed": seed, "force": True, "ranges": "paper"}
    given = FUZZ.parsed({**chosen, **limits, **options})
    target = instrument(watching(DEEPHUNTER, given), of_module(model), seeds.inputs[:TRIED]).contained()
    campaign = compose(prepare(DEEPHUNTER, given, target, seeds), lambda: profile).campaign()
    with (
        tempfile.TemporaryDirectory() as folder,
        open_archive(Path(folder) / "campaign", {"benchmark": seed}, pictures=False) as archive,
    ):
        return campaign.run(listeners=[archive, *listeners]), campaign
