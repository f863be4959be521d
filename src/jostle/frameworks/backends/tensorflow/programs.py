"""Programs for TensorFlow: one traced function that its graph optimiser rewrites before it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

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
    seeding,
    statements,
)
from jostle.frameworks.backends.tensorflow.activations import ACTIVATIONS
from jostle.frameworks.backends.tensorflow.arithmetic import ARITHMETIC
from jostle.frameworks.backends.tensorflow.convolutions import CONVOLUTIONS
from jostle.frameworks.backends.tensorflow.dropout import DROPOUT, dropout_layer_of
from jostle.frameworks.backends.tensorflow.elementwise import ELEMENTWISE
from jostle.frameworks.backends.tensorflow.indexing import INDEXING
from jostle.frameworks.backends.tensorflow.layers import LAYERS, layer_of
from jostle.frameworks.backends.tensorflow.linear_algebra import LINEAR_ALGEBRA
from jostle.frameworks.backends.tensorflow.normalisation import NORMALISATION
from jostle.frameworks.backends.tensorflow.plain_normalisation import PLAIN_NORMALISATION
from jostle.frameworks.backends.tensorflow.pooling import POOLING
from jostle.frameworks.backends.tensorflow.quantization import QUANTIZATION
from jostle.frameworks.backends.tensorflow.reductions import REDUCTIONS
from jostle.frameworks.backends.tensorflow.sampling import SAMPLING
from jostle.frameworks.backends.tensorflow.selection import SELECTION
from jostle.frameworks.backends.tensorflow.shaping import SHAPING
from jostle.frameworks.backends.tensorflow.special_functions import SPECIAL_FUNCTIONS
from jostle.frameworks.backends.tensorflow.statistics import STATISTICS
from jostle.frameworks.backends.tensorflow.training import before_step, loss_of, optimiser_of, penalty_of
from jostle.frameworks.backends.tensorflow.windows import WINDOWS
from jostle.frameworks.graph import PARAMETER, Graph
from jostle.frameworks.operators.all_operators import types_of

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


@dataclass(frozen=True)
class TensorFlow:
    """One way of running TensorFlow on the CPU: traced, compiled by XLA, or operator after operator."""

    name: str = "tensorflow"
    decorator: str = "@tf.function(autograph=False)"  # of the function that computes; none runs it as it is
    phases: tuple[str, ...] = PHASES
    extra: str = "tensorflow"
    module: str = "tensorflow"
    packages: tuple[str, ...] = ("tensorflow", "tensorflow-cpu", "keras", "numpy")
    refuse: Callable[[Graph], None] = lambda graph: None  # raises Unsupported for what it has not

    def program(self, graph: Graph, phase: str) -> str:
        self.refuse(graph)
        model = statements(graph, EXPRESSIONS)
        if phase != PREDICT:
            _check_gradients(graph)
        layers = [line for call in calls(graph) for line in (*layer_of(call), *dropout_layer_of(call))]
        run = _predict if phase == PREDICT else _gradient if phase == GRADIENT else _train
        lines = ["import numpy as np", "import tensorflow as tf", "", *seeding(graph, "tf.random.set_seed"), *layers]
        return "\n".join([*lines, *run(graph, model, self.decorator)]) + "\n"


def _refuse_for_xla(graph: Graph) -> None:
    """What XLA says only when it compiles that it has no kernel for."""
    if any(node.operator == "l2_norm" for node in graph.nodes):
        raise Unsupported("has no EuclideanNorm in XLA")


TENSORFLOW_EAGER = TensorFlow("tensorflow-eager", decorator="")
TENSORFLOW_XLA = TensorFlow(
    "tensorflow-xla", decorator="@tf.function(autograph=False, jit_compile=True)", refuse=_refuse_for_xla
)


# TensorFlow documents the gradient of what is not quantized.
WITHOUT_GRADIENT = {"fake_quantize"}


def _check_gradients(graph: Graph) -> None:
    require_gradients(graph, WITHOUT_GRADIENT)
    for call in calls(graph):
        if call.node.operator == "fmod" and call.type.is_float:
            raise Unsupported("has no gradient of truncatemod")
        if call.node.operator in ("conv", "conv_transpose") and max(call.attributes["dilations"]) > 1:
            raise Unsupported("has no gradient of dilated convolutions on CPU")


def _function(name: str, arguments: Sequence[str], body: Sequence[str], decorator: str) -> list[str]:
    """What is not traced would compute with numpy's arrays by itself."""
    head = [decorator] if decorator else [*(f"{one} = tf.constant({one})" for one in arguments), "", ""]
    return [*head, f"def {name}({', '.join(arguments)}):", *_indented(body), ""]


def _indented(lines: Sequence[str]) -> list[str]:
    return [INDENT + line for line in lines]


def _dict(names: Sequence[str]) -> str:
    return "{" + ", ".join(f'"{name}": {name}' for name in names) + "}"


def _called(arguments: Sequence[str]) -> list[str]:
    return [
        f"found = model({', '.join(arguments)})",
        "result = {name: value.numpy() for name, value in found.items()}",
    ]


def _predict(graph: Graph, model: Sequence[str], decorator: str) -> list[str]:
    arguments = list(graph.leaves)
    return [*_function("model", arguments, [*model, f"return {_dict(graph.outputs)}"], decorator), *_called(arguments)]


def _gradient(graph: Graph, model: Sequence[str], decorator: str) -> list[str]:
    outputs, leaves = float_outputs(graph), differentiated(graph)
    if not outputs or not leaves:
        raise Unsupported("has nothing to take a gradient of")
    cotangents = [f"cotangent_{name}" for name in outputs]
    arguments = [*graph.leaves, *cotangents]
    returned = ", ".join(
        [f"**{_dict(graph.outputs)}", *(f'"d_{name}": tf.convert_to_tensor(d_{name})' for name in leaves)]
    )
    body = [
        "with tf.GradientTape() as tape:",
        *_indented([f"tape.watch([{', '.join(leaves)}])", *model]),
        f"{', '.join(f'd_{name}' for name in leaves)}{',' if len(leaves) == 1 else ''} = tape.gradient(",
        f"{INDENT}[{', '.join(outputs)}],",
        f"{INDENT}[{', '.join(leaves)}],",
        f"{INDENT}output_gradients=[{', '.join(cotangents)}],",
        f'{INDENT}unconnected_gradients="zero",',
        ")",
        f"return {{{returned}}}",
    ]
    return [*_function("model", arguments, body, decorator), *_called(arguments)]


def _train(graph: Graph, model: Sequence[str], decorator: str) -> list[str]:
    training, parameters = graph.training, graph.named(PARAMETER)
    if training is None:
        raise Unsupported("is not told how to train")
    others = [name for name in graph.leaves if name not in parameters]
    output = graph.outputs[0]
    type_ = types_of(graph)[output]
    loss = loss_of(training, output, type_)
    penalty = penalty_of(training)
    step = [
        *before_step(training),
        "with tf.GradientTape() as tape:",
        *_indented([*model, f"loss = {loss}"]),
        *_indented([f"loss += sum({penalty}(parameter) for parameter in parameters)"] if penalty else []),
        "losses.append(loss)",
        'optimizer.apply(tape.gradient(loss, parameters, unconnected_gradients="zero"), parameters)',
    ]
    body = ["losses = []", f"for step in range(1, {training.steps + 1}):", *_indented(step), "return tf.stack(losses)"]
    return [
        *(f"{name} = tf.Variable({name})" for name in parameters),
        f"parameters = [{', '.join(parameters)}]",
        f"tf.keras.config.set_floatx({type_.dtype!r})",
        f"optimizer = {optimiser_of(training)}",
        "optimizer.build(parameters)",
        "",
        *_function("train", [*others, "target"], body, decorator),
        f'result = {{"loss": train({", ".join([*others, "target"])}).numpy()}}',
        f"result |= {{name: value.numpy() for name, value in {_dict(parameters)}.items()}}",
    ]
