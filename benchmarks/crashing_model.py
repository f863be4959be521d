"""Executions per second of campaigns on a model that ends its process on one input in a hundred, one thread."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import torch
from torch import Tensor

from jostle.zoo import lenet5, mnist_sample
from sessions import fuzz_session

EXECUTIONS = 4_000
BATCH = 64
SHARE = 100  # one input in so many ends the process


class Crashing(torch.nn.Module):
    """LeNet-5, which aborts on about one input in a hundred; the values of its pixels decide on which."""

    def __init__(self) -> None:
        super().__init__()
        self.digits = lenet5()

    def forward(self, images: Tensor) -> Tensor:
        if guilty(images).any():
            os.abort()
        scores: Tensor = self.digits(images)
        return scores


def guilty(images: Tensor) -> Tensor:
    """Which images [batch, 1, 28, 28] end the process."""
    return (images.flatten(1).double() * torch.arange(1, 785)).sum(1).mul(1e4).long() % SHARE == 0


def innocent_seeds() -> Tensor:
    images: Tensor = mnist_sample()[0]
    return images[~guilty(images)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--executions", type=int, default=EXECUTIONS)
    executions = parser.parse_args().executions
    torch.set_num_threads(1)
    here = Path(__file__)
    options = {
        "model": f"{here}:Crashing",
        "seeds": f"{here}:innocent_seeds",
        "oracle": ("nan", "crash"),
        "executions": executions,
        "batch": BATCH,
        "isolate": True,
        "seed": 1,
    }
    with fuzz_session(**options) as session:
        summary = session.search()
    mutants = summary.executions - len(innocent_seeds())
    print(
        f"LeNet-5 that aborts on 1 input in {SHARE}: {mutants:,} inputs in {summary.seconds:.1f} s, "
        f"{mutants / summary.seconds:.1f}/s; {summary.violations.get('crash', 0)} ended their process"
    )


if __name__ == "__main__":
    main()
