"""What a model is trained further and measured on: data of the user's, and failing tests of a campaign."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from jostle.commands.failing_inputs import failures_in, of_kind
from jostle.errors import SeedsRefused, UsageError
from jostle.inputs.domains import domain_of
from jostle.inputs.preflight import check_inside, check_normalisation
from jostle.inputs.seeds import load_seeds
from jostle.options.campaign import InputOptions
from jostle.records import NO_LABEL
from jostle.session.load import seed_form
from jostle.triage.words import counted


@dataclass(frozen=True)
class Labelled:
    """Inputs [n, ...] with the classes they belong to [n]."""

    inputs: Tensor
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)

    def select(self, rows: Tensor) -> Labelled:
        return Labelled(self.inputs[rows], self.labels[rows])


@dataclass(frozen=True)
class FailingSplit:
    """Failing tests to train on and to measure on, from different seeds."""

    trained: Labelled
    unseen: Labelled
    findings_only: bool  # the campaign keeps no failing tests besides its findings


def split_failing(folder: Path, held_out: float, rng: torch.Generator) -> FailingSplit:
    """The changed labels that a campaign met, each under the label of its seed; a seed that fails itself is none."""
    failures = failures_in(folder)
    flips = of_kind(failures.confirmed_mutants(), "flip")
    roots = flips.roots.unique()
    if len(roots) < 2:
        raise UsageError(
            f"the campaign in {folder} found changed labels from {counted(len(roots), 'seed')}, and some must be held "
            f"out: run jostle fuzz --recipe dlfuzz with more seeds"
        )
    if (flips.labels < 0).any():  # NO_LABEL, or what no class has
        raise UsageError(f"the model of the campaign in {folder} gives several labels at once, and training needs one")
    held = roots[torch.randperm(len(roots), generator=rng)[: _held(held_out, len(roots))]]
    measured = torch.isin(flips.roots, held)
    known = Labelled(flips.inputs, flips.labels)
    return FailingSplit(known.select(~measured), known.select(measured), failures.findings_only)


def split_data(
    inputs: InputOptions, data: str, test: str | None, held_out: float, rng: torch.Generator
) -> tuple[Labelled, Labelled]:
    """Data to train on and data to measure on."""
    known = _labelled(inputs, "--data", data)
    if test is not None:
        return known, _labelled(inputs, "--test", test)
    if len(known) < 2:
        raise SeedsRefused(
            f"--data {data} holds {counted(len(known), 'input')}, and some must be held out: give more, or --test"
        )
    order = torch.randperm(len(known), generator=rng)
    held = _held(held_out, len(known))
    return known.select(order[held:]), known.select(order[:held])


def _held(share: float, count: int) -> int:
    """How many of so many are held out: one at least, and not all."""
    return min(count - 1, max(1, round(share * count)))


def _labelled(inputs: InputOptions, option: str, spec: str) -> Labelled:
    form = seed_form(inputs)
    if not Path(spec).is_dir():  # arrays are as they are, however the campaign read its images
        form = replace(form, channels=None, size=None)
    seeds = load_seeds(spec, form)
    check_normalisation(inputs.mean, inputs.std, seeds.inputs.shape[1])
    check_inside(seeds, domain_of(seeds, inputs))
    if (seeds.labels == NO_LABEL).any():
        raise SeedsRefused(
            f"{option} {spec} has inputs without labels: give an .npz with x and y, folders named by class, or "
            f"FILE.py:function that returns both"
        )
    return Labelled(seeds.inputs, seeds.labels)
