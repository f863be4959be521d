"""Programs for PyTensor, the maintained successor of Theano: all of its rewrites, run by numpy without a compiler."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from jostle.frameworks.backends.program import (
    GRADIENT,
    INDENT,
    PREDICT,
    Unsupported,
    differentiated,
    float_outputs,
    statements,
)
from jostle.frameworks.backends.pytensor.activations import ACTIVATIONS
from jostle.frameworks.backends.pytensor.arithmetic import ARITHMETIC
from jostle.frameworks.backends.pytensor.elementwise import ELEMENTWISE
from jostle.frameworks.backends.pytensor.indexing import INDEXING
from jostle.frameworks.backends.pytensor.layers import LAYERS
from jostle.frameworks.backends.pytensor.linear_algebra import LINEAR_ALGEBRA
from jostle.frameworks.backends.pytensor.normalisation import NORMALISATION
from jostle.frameworks.backends.pytensor.plain_normalisation import PLAIN_NORMALISATION
from jostle.frameworks.backends.pytensor.quantization import QUANTIZATION
from jostle.frameworks.backends.pytensor.reductions import REDUCTIONS
from jostle.frameworks.backends.pytensor.selection import SELECTION
from jostle.frameworks.backends.pytensor.shaping import SHAPING
from jostle.frameworks.backends.pytensor.special_functions import SPECIAL_FUNCTIONS
from jostle.frameworks.backends.pytensor.statistics import STATISTICS
from jostle.frameworks.graph import Graph, TensorType
from jostle.frameworks.operators.all_operators import types_of

EXPRESSIONS = {
    **ELEMENTWISE,
    **REDUCTIONS,
    **SHAPING,
    **INDEXING,
    **NORMALISATION,
    **LAYERS,
    **SPECIAL_FUNCTIONS,
    **ARITHMETIC,
    **ACTIVATIONS,
    **QUANTIZATION,
    **STATISTICS,
    **LINEAR_ALGEBRA,
    **SELECTION,
    **PLAIN_NORMALISATION,
}
# Measured: 15 ms to make a function of one operator, against 30 s with Numba, which "auto" takes.
SETTINGS = (
    'pytensor.config.linker = "py"  # numpy runs it all, and nothing is compiled',
    'pytensor.config.cxx = ""',
)


@dataclass(frozen=True)
class PytensorPrograms:
    """PyTensor; every program leaves its function under the name `compiled`."""

    name: str = "pytensor"
    phases: tuple[str, ...] = (PREDICT, GRADIENT)
    extra: str = "pytensor"
    module: str = "pytensor"
    packages: tuple[str, ...] = ("pytensor",)

    def program(self, graph: Graph, phase: str) -> str:
        if phase not in self.phases:
            raise Unsupported(f"has no {phase}")
        symbols = {name: leaf.type for name, leaf in graph.leaves.items()}
        types = types_of(graph)
        lines, computed = statements(graph, EXPRESSIONS), list(graph.outputs)
        if phase == GRADIENT:
            symbols |= {f"cotangent_{name}": types[name] for name in float_outputs(graph)}
            lines += _gradient(graph)
            computed += [f"d_{name}" for name in differentiated(graph)]
        return _program(symbols, lines, computed, float_of(types.values()))


def float_of(types: Iterable[TensorType]) -> str:
    """The floats that PyTensor is to take where it takes its own: no wider ones than the graph's."""
    return "float64" if any(type_.dtype == "float64" for type_ in types) else "float32"


def _gradient(graph: Graph) -> list[str]:
    leaves = differentiated(graph)
    if not leaves:
        return []
    weighed = " + ".join(f"pt.sum({name} * cotangent_{name})" for name in float_outputs(graph))
    names = ", ".join(f"d_{name}" for name in leaves)
    return [
        f"objective = {weighed or 'pt.constant(0.0)'}",
        f'[{names}] = pytensor.grad(objective, [{", ".join(leaves)}], disconnected_inputs="ignore")',
    ]


def _program(symbols: dict[str, TensorType], lines: list[str], computed: list[str], widest: str) -> str:
    given = ", ".join(symbols)
    return "\n".join(
        (
            "import numpy as np",
            "import pytensor",
            "import pytensor.tensor as pt",
            "",
            *SETTINGS,
            f'pytensor.config.floatX = "{widest}"',
            "",
            "",
            f"def model({given}):",
            *(INDENT + line for line in lines),
            f"{INDENT}return [{', '.join(computed)}]",
            "",
            "",
            "symbols = [",
            *(
                f'{INDENT}pt.tensor("{name}", shape={type_.shape}, dtype="{type_.dtype}"),'
                for name, type_ in symbols.items()
            ),
            "]",
            'compiled = pytensor.function(symbols, model(*symbols), on_unused_input="ignore")',
            f"computed = compiled({given})",
            f"result = {{name: np.asarray(value) for name, value in zip({computed}, computed)}}",
            "",
        )
    )
