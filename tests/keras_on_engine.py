"""Holds a Keras file against the torch network that it was written from: run as a process, with one engine."""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from jostle.records import MODEL
from jostle.subjects.layers import scores_layer
from jostle.subjects.registry import load
from jostle.subjects.subject import Loading, Watch
from jostle.subjects.torch_target import TorchTarget
from jostle.zoo import lenet1, mnist_sample
from making import batch_of

WATCHED = ["conv1", "conv2", "fc1:logits"]
SIZES = (1, 5)  # JAX compiles a program for each


def main(path: str, engine: str) -> None:
    subject = load(path, how=Loading(engine=engine)).channels_last()
    import keras

    assert keras.backend.backend() == engine
    digits, labels = mnist_sample()
    layers = subject.layers(digits[:2])
    assert scores_layer(layers) == "fc1:logits"
    target = subject.target(Watch(WATCHED, extremes=True, scores=scores_layer(layers)))
    own = TorchTarget(lenet1(), ["conv1", "conv2", "fc1"], extremes=True)
    for size in SIZES:
        batch = batch_of(digits[:size], labels[:size])
        ran, expected = target.run(batch), own.run(batch)
        torch.testing.assert_close(ran.outputs[MODEL], expected.outputs[MODEL].softmax(1), rtol=1e-3, atol=1e-5)
        for kind in ("activations", "extremes"):
            for layer, value in getattr(expected, kind).items():
                seen = getattr(ran, kind)[layer.replace("fc1", "fc1:logits")]
                torch.testing.assert_close(seen, value, rtol=1e-3, atol=1e-4)
        passed, other = (one.linearise(digits[:size]) for one in (target, own))
        torch.testing.assert_close(passed.scores[MODEL], other.scores[MODEL], rtol=1e-3, atol=1e-4)
        weights = torch.randn(size, 10, generator=torch.Generator().manual_seed(size))
        neurons = {layer: torch.ones_like(value) for layer, value in other.activations.items()}
        own_neurons = {layer.replace("fc1", "fc1:logits"): value for layer, value in neurons.items()}
        gradient = passed.pull({MODEL: weights}, own_neurons)
        torch.testing.assert_close(gradient, other.pull({MODEL: weights}, neurons), rtol=1e-3, atol=1e-3)
        assert gradient.any()
    sys.stdout.write(f"held {Path(path).name} {engine}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
