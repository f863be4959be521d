"""Adversarial inputs per second over 1,000 images, mutants as a share of bare passes, and what choosing neurons costs.

DLFuzz's own code makes 0.5 adversarial inputs and 3 mutants per second on these networks.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

from deepxplore_lenets import counted_layers, network
from dlfuzz_runs import fuzz
from jostle.campaign import Budget
from jostle.mutators.ascent import Ascent
from jostle.mutators.goals import AnotherClass
from jostle.mutators.neuron_choice import STRATEGIES, NeuronChoice
from jostle.records import NO_LABEL, Seeds
from jostle.subjects.layers import speaking
from jostle.subjects.torch_layers import layers_of
from jostle.subjects.torch_target import TorchTarget
from mnist_data import data_folder, held_out_images
from resnet50 import photos, resnet50
from spread import spread

OWN_CODE = 0.5  # adversarial inputs per second of DLFuzz's own code
BATCH = 256
PASSES = 30


def bare_rate(model: nn.Module, images: Tensor) -> float:
    """Inputs per second of forward and backward passes alone, to the gradient by the input."""

    def passes() -> None:
        inputs = images[:BATCH].clone().requires_grad_()
        torch.autograd.grad(model(inputs).max(1).values.sum(), inputs)

    return BATCH / seconds_of(passes)


def seconds_of(work: Callable[[], object], times: int = PASSES) -> float:
    work()
    started = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - started) / times


def lenets(data: str | None, seeds: int, seconds: float) -> None:
    folder = data_folder(data)
    images, labels, told = held_out_images(folder)
    print(f"# first 1,000 of {told}; {seconds:.0f} s each, {seeds} seeds, {torch.get_num_threads()} threads")
    for name in ("lenet1", "lenet4", "lenet5"):
        model = network(name, folder)
        rates: dict[str, list[float]] = {}
        for seed in range(seeds):
            some = {"images": images[:1000], "labels": labels[:1000], "layers": counted_layers(name), "seed": seed}
            rates.setdefault("bare passes/s", []).append(bare := bare_rate(model, images))
            for way, archived in (("in memory", False), ("all written to disk", True)):
                run = fuzz(
                    model, **some, budget=Budget(seconds=seconds), measured=False, archived=archived, minimise=False
                )
                mutants = run.summary.executions - 1000
                rates.setdefault(f"{way}: mutants/s", []).append(mutants / run.seconds)
                rates.setdefault(f"{way}: share of bare passes", []).append(mutants / run.seconds / bare)
                rates.setdefault(f"{way}: adversarial/s", []).append(len(run.adversarial) / run.seconds)
                rates.setdefault(f"{way}: times DLFuzz's own code", []).append(
                    len(run.adversarial) / run.seconds / OWN_CODE
                )
                rates.setdefault(f"{way}: images flipped", []).append(len(run.adversarial.roots.unique()) / 10)
                rates.setdefault(f"{way}: mean relative L2", []).append(float(run.distances.mean()))
        for what, values in rates.items():
            form = ".2f" if "share" in what or "L2" in what else ".1f" if "flipped" in what else ",.0f"
            print(f"{name}: {what}: {spread(values, form)}", flush=True)


def strategies() -> None:
    """The time that choosing neurons takes of all that making a mutant takes, on a network with 94,056 neurons."""
    model, images = resnet50(), photos()
    layers = tuple(
        (name, value.shape[1])
        for name, value in TorchTarget(model, speaking(layers_of(model, images[:2])), extremes=True)
        .linearise(images[:2])
        .activations.items()
    )
    print(f"# ResNet-50, {sum(size for _, size in layers):,} neurons, {len(images)} images")
    seeds = Seeds(images, torch.full((len(images),), NO_LABEL), ("",) * len(images))
    for name, strategy in STRATEGIES.items():
        weights = torch.rand(sum(size for _, size in layers), generator=torch.Generator().manual_seed(0))
        choice = _Timed(NeuronChoice(layers, 10, [strategy], 0.25, weights))
        target = TorchTarget(model, [layer for layer, _ in layers], extremes=True)
        mutator = Ascent(target, AnotherClass(1000, 4), 0, 1, choice, iterations=1)  # type: ignore[arg-type]
        parents = Seeds(images, torch.zeros(len(images), dtype=torch.int64), seeds.names).as_candidates()
        whole = seconds_of(lambda mutator=mutator, parents=parents: mutator.mutate(parents, torch.Generator()), 2)
        share = choice.seconds / 3 / whole
        print(f"{name}: choosing neurons takes {choice.seconds / 3:.3f} s of {whole:.2f} s: {share:.1%}", flush=True)


class _Timed:
    """A choice of neurons that knows how long it took."""

    def __init__(self, choice: NeuronChoice):
        self._choice, self.looks_closely = choice, choice.looks_closely
        self.seconds = 0.0

    def chosen(self, *given: object) -> Tensor:
        started = time.perf_counter()
        chosen = self._choice.chosen(*given)  # type: ignore[arg-type]
        self.seconds += time.perf_counter() - started
        return chosen

    def weights(self, *given: object) -> dict[str, Tensor]:
        started = time.perf_counter()
        weights = self._choice.weights(*given)  # type: ignore[arg-type]
        self.seconds += time.perf_counter() - started
        return weights


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="folder with full MNIST and the published networks")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--only", choices=("lenets", "strategies"))
    given = parser.parse_args()
    if given.threads:
        torch.set_num_threads(given.threads)
    if given.only != "strategies":
        lenets(given.data, given.seeds, given.seconds)
    if given.only != "lenets":
        strategies()
