"""What three twins cost the loop on LeNet-5 beside their bare passes, one thread, in one run."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import torch
from torch import Tensor

from jostle import Noise, Seeds
from jostle.interfaces import ModelTarget
from jostle.subjects.registry import load, subject_of
from jostle.subjects.subject import Subject
from jostle.subjects.twin_making import TwinMaking
from jostle.zoo import lenet5, mnist_sample
from sessions import fuzz_session
from spread import spread

SEEDS = 5
EXECUTIONS = 20_000
BATCH = 256
BAR = 1.15
TWINS = ("onnx", "int8-static", "weights16")


def mutants() -> Tensor:
    """As the loop runs them: pooling takes longer on noise than on clean digits."""
    images, labels = mnist_sample()
    seeds = Seeds(images, labels, ("",) * len(labels)).as_candidates().select(torch.arange(BATCH))
    return Noise(sigma=0.1, low=0, high=1).mutate(seeds, torch.Generator().manual_seed(0)).inputs


def targets(folder: Path) -> list[ModelTarget]:
    """The twins alone."""
    subject = subject_of(lenet5())
    assert subject is not None
    made = [subject.twin(name, TwinMaking(mnist_sample()[0][:128], folder)) for name in TWINS]
    loaded = [load(str(twin)) if isinstance(twin, Path) else twin for twin in made]
    return [twin.target() for twin in loaded if isinstance(twin, Subject)]


def bare_seconds(twins: list[ModelTarget], inputs: Tensor) -> float:
    """Seconds of the processor per input through all twins, one after another, without a loop around them."""
    rounds = EXECUTIONS // BATCH
    for twin in twins:
        twin.predict(inputs)
    started = time.process_time()
    for _ in range(rounds):
        for twin in twins:
            twin.predict(inputs)
    return (time.process_time() - started) / (rounds * BATCH)


def loop_seconds(twins: tuple[str, ...], seed: int) -> float:
    """Seconds of the processor per execution of a campaign as `jostle fuzz` runs it, in which nothing is found."""
    oracles = {"oracle": ("nan", "crash", "agree"), "agree": "1000", "twin": list(twins)}
    options = oracles if twins else {"oracle": ("nan", "crash")}
    with fuzz_session(**options, executions=EXECUTIONS, seed=seed, batch=BATCH) as session:
        started = time.process_time()
        summary = session.search()
        return (time.process_time() - started) / summary.executions


def ratios(twins: list[ModelTarget], inputs: Tensor, seed: int) -> tuple[float, float]:
    """What twins add to the loop, in bare passes of them, and the loop in that of the model and these passes.

    Each is measured before and after.
    """
    alone, bare = loop_seconds((), seed), bare_seconds(twins, inputs)
    beside = loop_seconds(TWINS, seed)
    bare, alone = (bare + bare_seconds(twins, inputs)) / 2, (alone + loop_seconds((), seed)) / 2
    return (beside - alone) / bare, beside / (alone + bare)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    count = parser.parse_args().seeds
    torch.set_num_threads(1)
    print(f"LeNet-5 with {', '.join(TWINS)}, {EXECUTIONS:,} executions, {count} seeds, one thread")
    with tempfile.TemporaryDirectory() as folder:
        twins, inputs = targets(Path(folder)), mutants()
        added, total = zip(*(ratios(twins, inputs, seed) for seed in range(count)), strict=True)
    print(f"  what the twins add / sum of their bare passes (at most {BAR}): {spread(added, '.2f')}")
    print(f"  the loop with twins / the loop without + those passes: {spread(total, '.2f')}")


if __name__ == "__main__":
    main()
