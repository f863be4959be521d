"""Programs for Paddle: operator after operator, or as one static program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from jostle.frameworks.backends.paddle.activations import ACTIVATIONS
from jostle.frameworks.backends.paddle.arithmetic import ARITHMETIC
from jostle.frameworks.backends.paddle.convolutions import CONVOLUTIONS
from jostle.frameworks.backends.paddle.dropout import DROPOUT, dropout_layer_of
from jostle.frameworks.backends.paddle.elementwise import ELEMENTWISE
from jostle.frameworks.backends.paddle.indexing import INDEXING
from jostle.frameworks.backends.paddle.layers import LAYER_CLASSES, LAYERS, layer_of
from jostle.frameworks.backends.paddle.linear_algebra import LINEAR_ALGEBRA
from jostle.frameworks.backends.paddle.normalisation import NORMALISATION
from jostle.frameworks.backends.paddle.plain_normalisation import PLAIN_NORMALISATION
from jostle.frameworks.backends.paddle.pooling import POOLING
from jostle.frameworks.backends.paddle.quantization import QUANTIZATION
from jostle.frameworks.backends.paddle.reductions import REDUCTIONS
from jostle.frameworks.backends.paddle.sampling import SAMPLING
from jostle.frameworks.backends.paddle.selection import SELECTION
from jostle.frameworks.backends.paddle.shaping import SHAPING
from jostle.frameworks.backends.paddle.special_functions import SPECIAL_FUNCTIONS
from jostle.frameworks.backends.paddle.static import differentiated_statically, predicted
from jostle.frameworks.backends.paddle.statistics import STATISTICS
from jostle.frameworks.backends.paddle.training import loss_of, optimiser_of, penalty_of
from jostle.frameworks.backends.paddle.windows import WINDOWS
from jostle.frameworks.backends.program import (
    GRADIENT,
    INDENT,
    PREDICT,
    TRAIN,
    Expression,
    Unsupported,
    calls,
    differentiated,
    float_outputs,
    require_gradients,
    seeding,
    statements,
)
from jostle.frameworks.graph import PARAMETER, Graph, Training

EXPRESSIONS: Mapping[str, Expression] = {
    **ELEMENTWISE,
    **REDUCTIONS,
    **SHAPING,
    **INDEXING,
    **CONVOLUTIONS,
    **POOLING,
    **NORMALISATION,
    **SAMPLING,
    **LAYERS,
    **DROPOUT,
    **SPECIAL_FUNCTIONS,
    **ARITHMETIC,
    **ACTIVATIONS,
    **QUANTIZATION,
    **STATISTICS,
    **LINEAR_ALGEBRA,
    **SELECTION,
    **PLAIN_NORMALISATION,
    **WINDOWS,
}
WITHOUT_GRADIENT = {"div_floor"}


Run = Callable[[Graph], list[str]]  # the lines of a phase, after the model


@dataclass(frozen=True)
class Paddle:
    """One way of running Paddle on the CPU: operator after operator, or as a static program."""

    name: str
    runs: Mapping[str, Run]  # by phase
    refuse: Callable[[Graph], None] = lambda graph: None  # raises Unsupported for what it has not
    extra: str = "paddle"
    module: str = "paddle"
    packages: tuple[str, ...] = ("paddlepaddle", "numpy")

    @property
    def phases(self) -> tuple[str, ...]:
        return tuple(self.runs)

    def program(self, graph: Graph, phase: str) -> str:
        if phase not in self.runs:
            raise Unsupported(f"has no phase {phase}")
        self.refuse(graph)
        if phase != PREDICT and has_layers(graph):
            raise Unsupported("takes no gradients of the weights that its recurrent layers were given")
        if phase != PREDICT:
            require_gradients(graph, WITHOUT_GRADIENT)
        layers = [line for call in calls(graph) for line in (*layer_of(call, graph.leaves), *dropout_layer_of(call))]
        lines = ["import numpy as np", "import paddle", "import paddle.nn.functional as F", ""]
        return (
            "\n".join([*lines, *seeding(graph, "paddle.seed"), *layers, *_model(graph), *self.runs[phase](graph)])
            + "\n"
        )


def has_layers(graph: Graph) -> bool:
    """Whether it has operators that Paddle has as objects with weights of their own."""
    return any(node.operator in LAYER_CLASSES for node in graph.nodes)


def _model(graph: Graph) -> list[str]:
    body = [*statements(graph, EXPRESSIONS), f"return {', '.join(graph.outputs)}"]
    return [f"def model({', '.join(graph.leaves)}):", *_indented(body), ""]


def _indented(lines: Sequence[str]) -> list[str]:
    return [INDENT + line for line in lines]


def _tensors(graph: Graph, trainable: Sequence[str]) -> list[str]:
    return [
        f"{name} = paddle.to_tensor({name}{', stop_gradient=False' if name in trainable else ''})"
        for name in graph.leaves
    ]


def _called(graph: Graph) -> str:
    return f"{', '.join(graph.outputs)} = model({', '.join(graph.leaves)})"


def _arrays(names: Sequence[str]) -> str:
    return "{" + ", ".join(f'"{name}": {name}.numpy()' for name in names) + "}"


def _predict(graph: Graph) -> list[str]:
    return [*_tensors(graph, ()), _called(graph), f"result = {_arrays(graph.outputs)}"]


def _gradient(graph: Graph) -> list[str]:
    outputs, leaves = float_outputs(graph), differentiated(graph)
    if not outputs or not leaves:
        raise Unsupported("has nothing to take a gradient of")
    cotangents = ", ".join(f"paddle.to_tensor(cotangent_{name})" for name in outputs)
    return [
        *_tensors(graph, leaves),
        _called(graph),
        f"result = {_arrays(graph.outputs)}",
        "gradients = paddle.grad(",
        f"{INDENT}[{', '.join(outputs)}], [{', '.join(leaves)}], grad_outputs=[{cotangents}], allow_unused=True",
        ")",
        *(_gradient_array(place, name) for place, name in enumerate(leaves)),
    ]


def _gradient_array(place: int, name: str) -> str:
    """Paddle gives None where an output does not depend on a leaf."""
    zeros = f"np.zeros({name}.shape, {name}.numpy().dtype)"
    return f'result["d_{name}"] = {zeros} if gradients[{place}] is None else gradients[{place}].numpy()'


def _with_every_gradient(training: Training) -> list[str]:
    """Paddle leaves alone what has no gradient, even where weights decay."""
    if training.optimiser != "adamw":
        return []
    return [
        "for parameter in parameters:",
        f"{INDENT}if parameter.grad is None:",
        f"{INDENT * 2}parameter.grad = paddle.zeros_like(parameter)",
    ]


def _train(graph: Graph) -> list[str]:
    training, parameters = graph.training, graph.named(PARAMETER)
    if training is None:
        raise Unsupported("is not told how to train")
    penalty = penalty_of(training)
    step = [
        _called(graph),
        f"loss = {loss_of(training, graph.outputs[0])}",
        *([f"loss = loss + sum({penalty} for parameter in parameters)"] if penalty else []),
        "losses.append(loss.numpy())",
        "loss.backward()",
        *_with_every_gradient(training),
        "optimizer.step()",
        "optimizer.clear_grad()",
    ]
    return [
        *_tensors(graph, parameters),
        "target = paddle.to_tensor(target)",
        f"parameters = [{', '.join(parameters)}]",
        f"optimizer = {optimiser_of(training)}",
        "losses = []",
        f"for _ in range({training.steps}):",
        *_indented(step),
        f'result = {{"loss": np.array(losses), **{_arrays(parameters)}}}',
    ]


def _refuse_static(graph: Graph) -> None:
    if has_layers(graph):
        raise Unsupported("has no recurrent layers with given weights in static programs")
    if any(call.node.operator == "local_response_norm" and call.type.dtype == "float64" for call in calls(graph)):
        raise Unsupported("documents local_response_norm for float32 alone, which static programs check")
    if any(node.operator == "sliding_window" for node in graph.nodes):
        raise Unsupported("unfolds an axis in dynamic graphs only")


EAGER = Paddle("paddle", {PREDICT: _predict, GRADIENT: _gradient, TRAIN: _train})
STATIC = Paddle("paddle-static", {PREDICT: predicted, GRADIENT: differentiated_statically}, _refuse_static)
