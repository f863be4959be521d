"""Small models of every common kind, to begin from."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from jostle.frameworks.drawing import filled
from jostle.frameworks.edits.parameters import drawn_training
from jostle.frameworks.graph import CONSTANT, INPUT, PARAMETER, Graph, Leaf, Node
from jostle.frameworks.operators.all_operators import types_of
from jostle.frameworks.operators.operator import Wanted

Random = np.random.Generator


class ModelBuilder:
    """A graph in the making: every call adds a tensor and gives its name."""

    def __init__(self, rng: Random):
        self._rng = rng
        self._leaves: dict[str, Leaf] = {}
        self._nodes: list[Node] = []

    def given(self, *shape: int, filled_with: str = "values") -> str:
        return self._leaf("x", INPUT, shape, filled_with)

    def weights(self, *shape: int, filled_with: str = "weights") -> str:
        return self._leaf("w", PARAMETER, shape, filled_with)

    def statistics(self, *shape: int) -> str:
        return self._leaf("s", CONSTANT, shape, "variance")

    def _leaf(self, stem: str, role: str, shape: tuple[int, ...], filled_with: str) -> str:
        name = f"{stem}{len(self._leaves) + 1}"
        self._leaves[name] = Leaf(role, filled(Wanted(shape, "float32", filled_with), self._rng))
        return name

    def __call__(self, operator: str, *inputs: str, **attributes: object) -> str:
        name = f"{operator}{len(self._nodes) + 1}"
        self._nodes.append(Node(name, operator, inputs, attributes))
        return name

    def graph(self, *outputs: str) -> Graph:
        """With a training of its own."""
        graph = Graph(self._leaves, tuple(self._nodes), outputs)
        return Graph(graph.leaves, graph.nodes, outputs, drawn_training(types_of(graph)[outputs[0]], self._rng))


def _conv(builder: ModelBuilder, x: str, channels: int, out: int, kernel: int = 3, stride: int = 1) -> str:
    pad = [kernel // 2] * 2
    weights = builder.weights(out, channels, kernel, kernel), builder.weights(out)
    return builder("conv", x, *weights, strides=[stride, stride], before=pad, after=pad, dilations=[1, 1], groups=1)


def _normalised(builder: ModelBuilder, x: str, channels: int) -> str:
    inputs = (
        builder.weights(channels),
        builder.weights(channels),
        builder.statistics(channels),
        builder.statistics(channels),
    )
    return builder("batch_norm", x, *inputs, epsilon=1e-5)


def _classified(builder: ModelBuilder, x: str, features: int, classes: int = 5) -> str:
    return builder("linear", x, builder.weights(classes, features), builder.weights(classes))


def cnn(rng: Random) -> Graph:
    builder = ModelBuilder(rng)
    x = _conv(builder, builder.given(2, 3, 8, 8), 3, 4)
    x = builder("relu", _normalised(builder, x, 4))
    x = builder("max_pool", x, kernel=[2, 2], strides=[2, 2], padding=[0, 0], dilations=[1, 1], ceil=False)
    x = builder("relu", _conv(builder, x, 4, 6))
    x = builder("avg_pool", x, kernel=[2, 2], strides=[2, 2], padding=[0, 0], ceil=False, include_pad=True)
    return builder.graph(_classified(builder, builder("reshape", x, shape=[2, 24]), 24))


def residual(rng: Random) -> Graph:
    builder = ModelBuilder(rng)
    x = _conv(builder, builder.given(2, 3, 6, 6), 3, 4)
    inner = builder("relu", _normalised(builder, _conv(builder, x, 4, 4), 4))
    inner = _normalised(builder, _conv(builder, inner, 4, 4), 4)
    x = builder("relu", builder("add", x, inner))
    x = builder("adaptive_avg_pool", x, size=[1, 1])
    return builder.graph(_classified(builder, builder("reshape", x, shape=[2, 4]), 4))


def mlp(rng: Random) -> Graph:
    builder = ModelBuilder(rng)
    x = builder("gelu", _classified(builder, builder.given(3, 8), 8, 12))
    x = builder("layer_norm", x, builder.weights(12), builder.weights(12), axis=1, epsilon=1e-5)
    return builder.graph(builder("log_softmax", _classified(builder, x, 12), axis=1))


def _recurrent(kind: str, gates: int) -> Callable[[Random], Graph]:
    def build(rng: Random) -> Graph:
        builder, hidden = ModelBuilder(rng), 4
        shapes = ((gates * hidden, 6), (gates * hidden, hidden), (gates * hidden,), (gates * hidden,))
        x = builder(kind, builder.given(5, 2, 6), *(builder.weights(*shape) for shape in shapes))
        x = builder("slice", x, starts=[4, 0, 0], sizes=[1, 2, hidden], steps=[1, 1, 1])
        return builder.graph(_classified(builder, builder("reshape", x, shape=[2, hidden]), hidden))

    return build


def attention(rng: Random) -> Graph:
    builder = ModelBuilder(rng)
    x = builder.given(2, 4, 6)
    query, key, value = (_classified(builder, x, 6, 6) for _ in range(3))
    mixed = builder("add", x, builder("attention", query, key, value, causal=True))
    x = builder("layer_norm", mixed, builder.weights(6), builder.weights(6), axis=2, epsilon=1e-5)
    inner = _classified(builder, builder("gelu_tanh", _classified(builder, x, 6, 8)), 8, 6)
    return builder.graph(builder("softmax", builder("add", x, inner), axis=2))


def upsampler(rng: Random) -> Graph:
    builder = ModelBuilder(rng)
    x = builder.given(1, 4, 4, 4)
    weights = builder.weights(4, 3, 2, 2), builder.weights(3)
    zeros = [0, 0]
    x = builder(
        "conv_transpose", x, *weights, strides=[2, 2], padding=zeros, output_padding=zeros, dilations=[1, 1], groups=1
    )
    x = builder("leaky_relu", x, alpha=0.2)
    x = builder("resize", x, size=[5, 5], mode="linear")
    return builder.graph(builder("tanh", _conv(builder, x, 3, 2)))


MODELS: Mapping[str, Callable[[Random], Graph]] = {
    "cnn": cnn,
    "residual": residual,
    "mlp": mlp,
    "rnn": _recurrent("rnn", 1),
    "lstm": _recurrent("lstm", 4),
    "gru": _recurrent("gru", 3),
    "attention": attention,
    "upsampler": upsampler,
}
