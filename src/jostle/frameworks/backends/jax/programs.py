"""Programs for JAX: a model under jit, its gradient by vjp, its training by Optax."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jostle.frameworks.backends.jax.activations import ACTIVATIONS
from jostle.frameworks.backends.jax.arithmetic import ARITHMETIC
from jostle.frameworks.backends.jax.convolutions import CONVOLUTIONS
from jostle.frameworks.backends.jax.elementwise import ELEMENTWISE
from jostle.frameworks.backends.jax.functions import DEFINITIONS
from jostle.frameworks.backends.jax.indexing import INDEXING
from jostle.frameworks.backends.jax.layers import LAYERS
from jostle.frameworks.backends.jax.linear_algebra import LINEAR_ALGEBRA
from jostle.frameworks.backends.jax.normalisation import NORMALISATION
from jostle.frameworks.backends.jax.plain_normalisation import PLAIN_NORMALISATION
from jostle.frameworks.backends.jax.pooling import POOLING
from jostle.frameworks.backends.jax.quantization import QUANTIZATION
from jostle.frameworks.backends.jax.recurrent import RECURRENT
from jostle.frameworks.backends.jax.reductions import REDUCTIONS
from jostle.frameworks.backends.jax.sampling import SAMPLING
from jostle.frameworks.backends.jax.selection import SELECTION
from jostle.frameworks.backends.jax.shaping import SHAPING
from jostle.frameworks.backends.jax.special_functions import SPECIAL_FUNCTIONS
from jostle.frameworks.backends.jax.statistics import STATISTICS
from jostle.frameworks.backends.jax.training import loss_of, optimiser_of
from jostle.frameworks.backends.jax.windows import WINDOWS
from jostle.frameworks.backends.program import (
    GRADIENT,
    INDENT,
    PHASES,
    TRAIN,
    Unsupported,
    differentiated,
    float_outputs,
    statements,
)
from jostle.frameworks.graph import PARAMETER, Graph

EXPRESSIONS = {
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
    **RECURRENT,
}


@dataclass(frozen=True)
class JaxPrograms:
    """JAX compiled by XLA as a whole, or operator by operator; what is compiled as a whole is left as `compiled`."""

    name: str = "jax"
    jit: bool = True
    phases: tuple[str, ...] = PHASES
    extra: str = "jax"
    module: str = "jax"
    packages: tuple[str, ...] = ("jax", "jaxlib", "optax")

    def program(self, graph: Graph, phase: str) -> str:
        if phase in (GRADIENT, TRAIN):
            _require_gradients(graph)
        if phase == TRAIN:
            return _training(graph, self.jit)
        if phase == GRADIENT and differentiated(graph):
            return _gradient(graph, self.jit)
        return _prediction(graph, self.jit)


def _require_gradients(graph: Graph) -> None:
    """Unsupported where JAX says itself that it has not implemented a gradient."""
    for node in graph.nodes:
        if node.operator == "scatter" and node.attributes["reduction"] == "mul":
            raise Unsupported("has no gradient of a scatter that multiplies")
        if node.operator == "max_pool" and max(node.attributes["dilations"]) > 1:
            raise Unsupported("has no gradient of a dilated max_pool")


def _ready(function: str, given: Sequence[str], jit: bool) -> list[str]:
    """The lines that make `compiled`, which is called with what is given, of a function; or what is given JAX's own."""
    if jit:
        return [f"compiled = jax.jit({function}).lower({', '.join(given)}).compile()"]
    return [f"{name} = jax.tree.map(jnp.asarray, {name})" for name in given]


def _prediction(graph: Graph, jit: bool) -> str:
    given = list(graph.leaves)
    return _joined(
        *_model(graph, _dict_of(graph.outputs)),
        "",
        *_ready("model", given, jit),
        _result("compiled" if jit else "model", given),
    )


def _result(function: str, given: Sequence[str]) -> str:
    return f"result = {{name: np.asarray(value) for name, value in {function}({', '.join(given)}).items()}}"


def _gradient(graph: Graph, jit: bool) -> str:
    leaves, weighed = differentiated(graph), float_outputs(graph)
    others = [name for name in graph.outputs if name not in weighed]
    given = [*graph.leaves, *(f"cotangent_{name}" for name in weighed)]
    function = f"lambda {', '.join(leaves)}: model({', '.join(graph.leaves)})"
    cotangents = _dict_of(weighed, "cotangent_")
    return _joined(
        *_model(graph, f"{_dict_of(weighed)}, {_dict_of(others)}"),
        "",
        f"def differentiate({', '.join(given)}):",
        f"{INDENT}outputs, pull_back, others = jax.vjp({function}, {', '.join(leaves)}, has_aux=True)",
        f"{INDENT}gradients = pull_back({cotangents})",
        f"{INDENT}return outputs | others | dict(zip({[f'd_{name}' for name in leaves]}, gradients))",
        "",
        "",
        *_ready("differentiate", given, jit),
        _result("compiled" if jit else "differentiate", given),
    )


def _training(graph: Graph, jit: bool) -> str:
    training, parameters = graph.training, graph.named(PARAMETER)
    if training is None or not parameters:
        raise Unsupported("there is nothing to train")
    others = [*(name for name in graph.leaves if name not in parameters), "target"]
    arguments = ", ".join(f'parameters["{name}"]' if name in parameters else name for name in graph.leaves)
    output = f'model({arguments})["{graph.outputs[0]}"]'
    given = ["parameters", "state", *others]
    return _joined(
        *_model(graph, _dict_of(graph.outputs)),
        "",
        f"def loss_of(parameters, {', '.join(others)}):",
        f"{INDENT}return {loss_of(training, output)}",
        "",
        "",
        f"def step({', '.join(given)}):",
        f"{INDENT}loss, gradients = jax.value_and_grad(loss_of)(parameters, {', '.join(others)})",
        f"{INDENT}updates, state = optimiser.update(gradients, state, parameters)",
        f"{INDENT}return optax.apply_updates(parameters, updates), state, loss",
        "",
        "",
        f"optimiser = {optimiser_of(training)}",
        f"parameters = jax.tree.map(jnp.asarray, {_dict_of(parameters)})",
        "state = optimiser.init(parameters)",
        *_ready("step", given, jit),
        "losses = []",
        f"for _ in range({training.steps}):",
        f"{INDENT}parameters, state, loss = {'compiled' if jit else 'step'}({', '.join(given)})",
        f"{INDENT}losses.append(loss)",
        'result = {"loss": np.array(losses)} | {name: np.asarray(value) for name, value in parameters.items()}',
        imports=("import optax",),
    )


def _model(graph: Graph, returned: str) -> list[str]:
    lines = [*statements(graph, EXPRESSIONS), f"return {returned}"]
    definitions = dict.fromkeys(part for node in graph.nodes for part in DEFINITIONS.get(node.operator, ()))
    return [
        *(f"\n{definition.strip()}\n" for definition in definitions),
        "",
        f"def model({', '.join(graph.leaves)}):",
        *(INDENT + line for line in lines),
        "",
    ]


def _dict_of(names: Iterable[str], prefix: str = "") -> str:
    return "{" + ", ".join(f'"{name}": {prefix}{name}' for name in names) + "}"


def _joined(*lines: str, imports: tuple[str, ...] = ()) -> str:
    head = (
        "import jax",
        "import jax.numpy as jnp",
        "import numpy as np",
        *imports,
        "from jax import lax",
        "",
        'jax.config.update("jax_enable_x64", True)  # else JAX makes every float64 a float32',
        "",
    )
    return "\n".join((*head, *lines)) + "\n"
