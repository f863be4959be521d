"""Every operator by name, and the types of all tensors of a graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from jostle.frameworks.graph import Graph, Invalid, Node, TensorType
from jostle.frameworks.operators.activations import OTHER_ACTIVATIONS
from jostle.frameworks.operators.arithmetic import ARITHMETIC
from jostle.frameworks.operators.convolutions import CONVOLUTIONS
from jostle.frameworks.operators.dropout import DROPOUT
from jostle.frameworks.operators.elementwise import ACTIVATIONS, ELEMENTWISE
from jostle.frameworks.operators.indexing import INDEXING, MOVING
from jostle.frameworks.operators.layers import PRODUCTS, SEQUENCES
from jostle.frameworks.operators.linear_algebra import LINEAR_ALGEBRA
from jostle.frameworks.operators.normalisation import NORMALISATION
from jostle.frameworks.operators.operator import Operator
from jostle.frameworks.operators.plain_normalisation import PLAIN_NORMALISATION
from jostle.frameworks.operators.pooling import POOLING
from jostle.frameworks.operators.quantization import QUANTIZATION
from jostle.frameworks.operators.recurrent import RECURRENT
from jostle.frameworks.operators.reductions import REDUCTIONS, SORTING
from jostle.frameworks.operators.sampling import SAMPLING
from jostle.frameworks.operators.selection import SELECTION
from jostle.frameworks.operators.shaping import GRIDS, RESHAPING
from jostle.frameworks.operators.special_functions import SPECIAL_FUNCTIONS
from jostle.frameworks.operators.statistics import STATISTICS
from jostle.frameworks.operators.windows import WINDOWS
from jostle.options.choices import nearest

# Random draws go by this order: with another one, every seed gives another campaign.
SHAPING = (*RESHAPING, *MOVING, *INDEXING, *GRIDS, *SORTING)
LAYERS = (*PRODUCTS, *CONVOLUTIONS, *POOLING, *NORMALISATION, *ACTIVATIONS, *SAMPLING, *SEQUENCES, *DROPOUT)
FUNCTIONS = (
    *SPECIAL_FUNCTIONS,
    *ARITHMETIC,
    *OTHER_ACTIVATIONS,
    *QUANTIZATION,
    *STATISTICS,
    *LINEAR_ALGEBRA,
    *SELECTION,
    *PLAIN_NORMALISATION,
    *WINDOWS,
    *RECURRENT,
)

OPERATORS: Mapping[str, Operator] = {
    one.name: one for one in (*ELEMENTWISE, *REDUCTIONS, *SHAPING, *LAYERS, *FUNCTIONS)
}
LARGEST = 4096  # elements of any tensor of a graph: enough for every path of a kernel that we know of, and quick


# What an operator's law raises on attributes or inputs of a stranger's that it was not made for.
UNFIT = (TypeError, ValueError, LookupError, ArithmeticError, AttributeError)


def require_known(names: Iterable[str]) -> None:
    """Invalid, with all of those that are no operators."""
    unknown = [name for name in dict.fromkeys(names) if name not in OPERATORS]
    if unknown:
        raise Invalid("; ".join(map(_unknown, unknown)))


def _unknown(name: str) -> str:
    near = nearest(name, OPERATORS)
    return f"there is no operator {name!r}" + (f", did you mean {near!r}?" if near else "")


def operator_named(name: str) -> Operator:
    require_known([name])
    return OPERATORS[name]


def type_of(node: Node, inputs: Sequence[TensorType]) -> TensorType:
    """The type of what a node computes; Invalid if it cannot."""
    operator = operator_named(node.operator)
    if node.attributes.keys() != operator.domains.keys():
        raise Invalid(f"{node.operator} takes {', '.join(operator.domains) or 'no attributes'}")
    for name, domain in operator.domains.items():
        if not domain.holds(node.attributes[name]):
            raise Invalid(f"{node.operator}: {name} may not be {node.attributes[name]!r}")
    try:
        inferred = operator.infer(inputs, node.attributes)
    except UNFIT as error:
        raise Invalid(f"{node.operator}: attributes and inputs do not go together ({error})") from error
    if min(inferred.shape, default=0) < 0:
        raise Invalid(f"{node.operator} would be {inferred}")
    return inferred


def types_of(graph: Graph) -> dict[str, TensorType]:
    """The types of all tensors by name; Invalid if the graph cannot run."""
    types = {name: leaf.type for name, leaf in graph.leaves.items()}
    for node in graph.nodes:
        missing = [name for name in node.inputs if name not in types]
        if missing or node.name in types:
            raise Invalid(
                f"{node.name} reads {missing[0]} too early" if missing else f"two tensors are named {node.name}"
            )
        try:
            types[node.name] = type_of(node, [types[name] for name in node.inputs])
        except Invalid as error:
            raise Invalid(f"{node.name}: {error}") from error
    if not graph.outputs or any(name not in types for name in graph.outputs):
        raise Invalid("an output is computed by no node")
    return types
