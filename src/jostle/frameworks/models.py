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


class Sketch:
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


def _conv(sketch: Sketch, x: str, channels: int, out: int, kernel: int = 3, stride: int = 1) -> str:
    pad = [kernel // 2] * 2
    weights = sketch.weights(out, channels, kernel, kernel), sketch.weights(out)
    return sketch("conv", x, *weights, strides=[stride, stride], before=pad, after=pad, dilations=[1, 1], groups=1)


def _normalised(sketch: Sketch, x: str, channels: int) -> str:
    inputs = (
        sketch.weights(channels),
        sketch.weights(channels),
        sketch.statistics(channels),
        sketch.statistics(channels),
    )
    return sketch("batch_norm", x, *inputs, epsilon=1e-5)


def _classified(sketch: Sketch, x: str, features: int, classes: int = 5) -> str:
    return sketch("linear", x, sketch.weights(classes, features), sketch.weights(classes))


def cnn(rng: Random) -> Graph:
    sketch = Sketch(rng)
    x = _conv(sketch, sketch.given(2, 3, 8, 8), 3, 4)
    x = sketch("relu", _normalised(sketch, x, 4))
    x = sketch("max_pool", x, kernel=[2, 2], strides=[2, 2], padding=[0, 0], dilations=[1, 1], ceil=False)
    x = sketch("relu", _conv(sketch, x, 4, 6))
    x = sketch("avg_pool", x, kernel=[2, 2], strides=[2, 2], padding=[0, 0], ceil=False, include_pad=True)
    return sketch.graph(_classified(sketch, sketch("reshape", x, shape=[2, 24]), 24))


def residual(rng: Random) -> Graph:
    sketch = Sketch(rng)
    x = _conv(sketch, sketch.given(2, 3, 6, 6), 3, 4)
    inner = sketch("relu", _normalised(sketch, _conv(sketch, x, 4, 4), 4))
    inner = _normalised(sketch, _conv(sketch, inner, 4, 4), 4)
    x = sketch("relu", sketch("add", x, inner))
    x = sketch("adaptive_avg_pool", x, size=[1, 1])
    return sketch.graph(_classified(sketch, sketch("reshape", x, shape=[2, 4]), 4))


def mlp(rng: Random) -> Graph:
    sketch = Sketch(rng)
    x = sketch("gelu", _classified(sketch, sketch.given(3, 8), 8, 12))
    x = sketch("layer_norm", x, sketch.weights(12), sketch.weights(12), axis=1, epsilon=1e-5)
    return sketch.graph(sketch("log_softmax", _classified(sketch, x, 12), axis=1))


def _recurrent(kind: str, gates: int) -> Callable[[Random], Graph]:
    def build(rng: Random) -> Graph:
        sketch, hidden = Sketch(rng), 4
        shapes = ((gates * hidden, 6), (gates * hidden, hidden), (gates * hidden,), (gates * hidden,))
        x = sketch(kind, sketch.given(5, 2, 6), *(sketch.weights(*shape) for shape in shapes))
        x = sketch("slice", x, starts=[4, 0, 0], sizes=[1, 2, hidden], steps=[1, 1, 1])
        return sketch.graph(_classified(sketch, sketch("reshape", x, shape=[2, hidden]), hidden))

    return build


def attention(rng: Random) -> Graph:
    sketch = Sketch(rng)
    x = sketch.given(2, 4, 6)
    query, key, value = (_classified(sketch, x, 6, 6) for _ in range(3))
    mixed = sketch("add", x, sketch("attention", query, key, value, causal=True))
    x = sketch("layer_norm", mixed, sketch.weights(6), sketch.weights(6), axis=2, epsilon=1e-5)
    inner = _classified(sketch, sketch("gelu_tanh", _classified(sketch, x, 6, 8)), 8, 6)
    return sketch.graph(sketch("softmax", sketch("add", x, inner), axis=2))


def upsampler(rng: Random) -> Graph:
    sketch = Sketch(rng)
    x = sketch.given(1, 4, 4, 4)
    weights = sketch.weights(4, 3, 2, 2), sketch.weights(3)
    zeros = [0, 0]
    x = sketch(
        "conv_transpose", x, *weights, strides=[2, 2], padding=zeros, output_padding=zeros, dilations=[1, 1], groups=1
    )
    x = sketch("leaky_relu", x, alpha=0.2)
    x = sketch("resize", x, size=[5, 5], mode="linear")
    return sketch.graph(sketch("tanh", _conv(sketch, x, 3, 2)))


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
