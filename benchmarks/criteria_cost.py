"""What one assessment by each criterion costs beside the forward pass of LeNet-5, seed by seed of randomness.

A batch is noisy digits of the zoo; each criterion has seen the digits, and some batches, before its time is taken. The
ratio is the time of assessing over that of running the model on the same batch, watched as the criterion needs it.
"""

from __future__ import annotations

import argparse
from time import perf_counter

import torch
from torch import Tensor

from jostle.commands.coverage_meter import CoverageMeter
from jostle.composition.settle import FUZZ, settled
from jostle.feedback.coverage_parts import MEASURED
from jostle.part import PartContext
from jostle.recipes.deephunter import DEEPHUNTER
from jostle.records import NO_LABEL, Seeds
from jostle.task import Task
from jostle.zoo import lenet5, mnist_sample
from spread import spread

NOISE = 0.1  # standard deviation of what is added to digits


def main() -> None:
    options = _arguments().parse_args()
    torch.set_num_threads(1)
    print(f"# LeNet-5, {options.batches} batches of {options.batch}, one thread, {options.seeds} seeds of randomness")
    print(
        "# time of assessing a batch over that of running it: median (smallest to largest); share of rows that are new"
    )
    for name in options.criteria.split(","):
        measured = [_ratio(name, seed, options.batch, options.batches) for seed in range(options.seeds)]
        ratios, new = zip(*measured, strict=True)
        print(f"{name}: {spread(list(ratios), '.2f')} of a forward pass; new {spread(list(new), '.1%')}", flush=True)


def _ratio(name: str, seed: int, batch: int, batches: int) -> tuple[float, float]:
    """The time of assessing over that of running, and the share of rows that were new."""
    rng, (digits, _) = torch.Generator().manual_seed(seed), mnist_sample()
    meter = CoverageMeter(lenet5(), [name])
    profile, model = meter.take_profile(digits.split(batch)), meter.instrumented(digits)
    context = PartContext(_rows(digits), profile=profile, novelty_layers=model.novelty_layers)
    feedback = MEASURED[name].make(settled(DEEPHUNTER, FUZZ.parsed({"coverage": name}), Task.UNKNOWN), context)
    feedback.assess(_rows(digits).as_candidates(), model.target.run(_rows(digits).as_candidates()))
    times, new = torch.zeros(2), []
    for number in range(2 * batches):
        inputs = digits[torch.randint(len(digits), (batch,), generator=rng)]
        noisy = _rows((inputs + NOISE * torch.randn(inputs.shape, generator=rng)).clamp(0, 1)).as_candidates()
        begun = perf_counter()
        trace = model.target.run(noisy)
        ran = perf_counter()
        gains = feedback.assess(noisy, trace)
        if number >= batches:  # the first half warms up
            times += torch.tensor([ran - begun, perf_counter() - ran])
            new.append(float((gains > 0).float().mean()))
    return float(times[1] / times[0]), sum(new) / len(new)


def _rows(inputs: Tensor) -> Seeds:
    return Seeds(inputs, torch.full((len(inputs),), NO_LABEL), ("",) * len(inputs))


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--criteria", default=",".join(MEASURED))
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--batches", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=5)
    return parser


if __name__ == "__main__":
    main()
