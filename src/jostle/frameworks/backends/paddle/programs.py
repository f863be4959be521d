"""Programs for Paddle: as they are written, or traced and run as one program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jostle.frameworks.backends.paddle.activations import ACTIVATIONS
from jostle.frameworks.backends.paddle.arithmetic import ARITHMETIC
from jostle.frameworks.backends.paddle.convolutions import CONVOLUTIONS
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
from jostle.frameworks.backends.paddle.statistics import STATISTICS
from jostle.frameworks.backends.paddle.training import loss_of, optimiser_of, penalty_of
from jostle.frameworks.backends.paddle.windows import WINDOWS
from jostle.frameworks.backends.program import (
    GRADIENT,
    INDENT,
    PHASES,
    PREDICT,
    Expression,
    Unsupported,
    calls,
    differentiated,
    float_outputs,
    require_gradients,
    statements,
)
from jostle.frameworks.graph import PARAMETER, Graph

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


class Paddle:
    """Operator after operator, on the CPU."""

    name = "paddle"
    phases = PHASES
    extra = "paddle"
    module = "paddle"
    packages = ("paddlepaddle", "numpy")

    def program(self, graph: Graph, phase: str) -> str:
        if phase != PREDICT and any(node.operator in LAYER_CLASSES for node in graph.nodes):
            raise Unsupported("takes no gradients of the weights that its recurrent layers were given")
        if phase != PREDICT:
            require_gradients(graph, WITHOUT_GRADIENT)
        layers = [line for call in calls(graph) for line in layer_of(call, graph.leaves)]
        run = _predict if phase == PREDICT else _gradient if phase == GRADIENT else _train
        lines = ["import numpy as np", "import paddle", "import paddle.nn.functional as F", "", *layers]
        return "\n".join([*lines, *_model(graph), *run(graph)]) + "\n"


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
