"""What a model is trained further and measured on: data of the user's, and failing tests of a campaign."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from jostle.commands.failing_inputs import failures_in, of_kind
from jostle.digests import digest_of
from jostle.errors import SeedsRefused, UsageError
from jostle.inputs.domains import domain_of
from jostle.inputs.preflight import check_inside, check_normalisation
from jostle.inputs.seeds import load_seeds
from jostle.options.campaign import InputOptions
from jostle.records import NO_LABEL
from jostle.session.load import seed_form
from jostle.storage.ancestry import planted_seeds
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
    trained_seeds: Tensor  # [n, ...] the seeds that those trained on were made of
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
    trained_seeds = planted_seeds(folder, flips.roots[~measured])
    return FailingSplit(known.select(~measured), known.select(measured), trained_seeds, failures.findings_only)


@dataclass(frozen=True)
class DataSplit:
    """Data to train on and to measure on; what is measured on is not known from training in any form."""

    trained: Labelled
    measured: Labelled
    met: int  # inputs of --test that are not measured on: trained on, or failing tests made of them are


def split_data(
    inputs: InputOptions, data: str, test: str | None, met: Tensor, held_out: float, rng: torch.Generator
) -> DataSplit:
    """The data and what is measured on, which holds none of the inputs that were met [n, ...]."""
    known = _labelled(inputs, "--data", data)
    if test is not None:
        return _tested(known, _labelled(inputs, "--test", test), test, met)
    order = torch.randperm(len(known), generator=rng)
    strange = order[~among(known.inputs, met)[order]]
    if len(known) < 2 or not len(strange):
        raise SeedsRefused(
            f"--data {data} holds {counted(len(strange), 'input')} that no failing test is made of, and some must be "
            f"held out: give more, or --test"
        )
    held = strange[: _held(held_out, len(known))]
    return DataSplit(known.select(order[~torch.isin(order, held)]), known.select(held), met=0)


def _tested(known: Labelled, tested: Labelled, test: str, met: Tensor) -> DataSplit:
    seen = among(tested.inputs, known.inputs) | among(tested.inputs, met)
    if seen.all():
        raise SeedsRefused(f"--test {test} holds nothing but what is trained on: give inputs that are not in --data")
    return DataSplit(known, tested.select(~seen), int(seen.sum()))


def among(inputs: Tensor, others: Tensor) -> Tensor:
    """[n] bool: which of the inputs [n, ...] are equal to one of the others [m, ...]."""
    known = set(map(digest_of, others))
    return torch.tensor([digest_of(one) in known for one in inputs], dtype=torch.bool)


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
