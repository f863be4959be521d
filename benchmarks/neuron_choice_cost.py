"""What choosing neurons takes of all that making a mutant by gradients takes, on a network of ResNet-50's size."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import torch
from torch import Tensor

from bare_pass import seconds_of, torch_threads
from bench.command import run_script
from bench.rows import Beside, Figures, Row, at_most
from jostle.mutators.ascent import Ascent
from jostle.mutators.goals import AnotherClass
from jostle.mutators.neuron_choice import STRATEGIES, NeuronChoice
from jostle.records import Seeds
from jostle.subjects.layers import speaking
from jostle.subjects.torch_layers import layers_of
from jostle.subjects.torch_target import TorchTarget
from paper.table import Data
from resnet50 import photos, resnet50

TIMES = 2
BAR = at_most(10.0)


class TimedChoice:
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


def measure(data: Data) -> Iterator[Row]:
    model, images = resnet50(), photos()[: data.budget(16, 2)]
    watched = TorchTarget(model, speaking(layers_of(model, images[:2])), extremes=True)
    layers = tuple((name, value.shape[1]) for name, value in watched.linearise(images[:2]).activations.items())
    neurons = sum(size for _, size in layers)
    parents = Seeds(images, torch.zeros(len(images), dtype=torch.int64), ("",) * len(images)).as_candidates()
    weights = torch.rand(neurons, generator=torch.Generator().manual_seed(0))
    target = TorchTarget(model, [layer for layer, _ in layers], extremes=True)
    with torch_threads(2):
        for name, strategy in data.some(STRATEGIES.items()):
            choice = TimedChoice(NeuronChoice(layers, 10, [strategy], 0.25, weights))
            mutator = Ascent(target, AnotherClass(1000, 4), 0, 1, choice, iterations=1)  # type: ignore[arg-type]
            times = data.budget(TIMES, 1)
            whole = seconds_of(lambda mutator=mutator: mutator.mutate(parents, torch.Generator()), times)
            share = 100 * choice.seconds / (times + 1) / whole  # the first time is not in `whole`
            yield Row(
                f"dlfuzz, ResNet-50 with {neurons:,} neurons, two threads, strategy `{name}`: choosing neurons, share "
                "of the time to make a mutant",
                Figures((share,), ".1f", " %"),
                f"{times} times {len(images)} mutants",
                BAR,
                Beside("making all of them", Figures((whole,), ".2f", " s")),
            )


if __name__ == "__main__":
    sys.exit(run_script(__file__, measure))
