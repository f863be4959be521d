"""What a model is trained further and measured on: data of the user's, and what a campaign found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from jostle.errors import OutputRefused, SeedsRefused, UsageError
from jostle.inputs.domains import domain_of
from jostle.inputs.preflight import check_inside, check_normalisation
from jostle.inputs.seeds import load_seeds
from jostle.options.campaign import InputOptions
from jostle.records import NO_LABEL, NO_PARENT
from jostle.session.load import seed_form
from jostle.storage.findings import FINDINGS, read_finding, recorded
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


def split_findings(folder: Path, held_out: float, rng: torch.Generator) -> tuple[Labelled, Labelled]:
    """Findings to train on and findings to measure on, from different seeds; a seed that fails itself is neither."""
    flips = [
        read_finding(place, record)
        for place, record in recorded(folder / FINDINGS)
        if record.kind == "flip" and record.parent != NO_PARENT
    ]
    for one in flips:
        if one.input.shape != flips[0].input.shape:
            raise OutputRefused(f"{one.folder} holds an input of another shape than the others: move the folder away")
    roots = sorted({one.record.root for one in flips})
    if len(roots) < 2:
        raise UsageError(
            f"the campaign in {folder} found changed labels from {counted(len(roots), 'seed')}, and some must be held "
            f"out: run jostle fuzz --recipe dlfuzz with more seeds"
        )
    if any("label" not in one.record.details for one in flips):
        raise UsageError(f"the model of the campaign in {folder} gives several labels at once, and training needs one")
    order = torch.randperm(len(roots), generator=rng).tolist()
    held = {roots[i] for i in order[: _held(held_out, len(roots))]}

    def labelled(measured: bool) -> Labelled:
        chosen = [one for one in flips if (one.record.root in held) == measured]
        labels = torch.tensor([one.record.label_change.label for one in chosen])
        return Labelled(torch.stack([one.input for one in chosen]), labels)

    return labelled(False), labelled(True)


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
