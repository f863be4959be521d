"""Programs that a framework runs, as text: what runs in a campaign is what a reproducer shows.

A program finds the graph's leaves as numpy arrays under their names, and leaves a dict of numpy arrays, `result`:

predict     the outputs by name
gradient    the outputs, and for every float leaf that is an input or a parameter `d_<leaf>`, the gradient of
            Σ output * cotangent_<output> over the outputs of floats; the cotangents are arrays in the program's reach
train       `loss` [steps], before each step with the penalty, and every parameter after the last step; `target` is an
            array in the program's reach

What a program names itself is in jostle.frameworks.names.RESERVED, so that no tensor has such a name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from jostle.frameworks.graph import INPUT, PARAMETER, Array, Attributes, Graph, Node, TensorType
from jostle.frameworks.operators.all_operators import types_of

PREDICT, GRADIENT, TRAIN = "predict", "gradient", "train"
PHASES = (PREDICT, GRADIENT, TRAIN)
INDENT = "    "


class Unsupported(Exception):
    """A framework has nothing that computes this, or documents another meaning; says which."""


@dataclass(frozen=True)
class Call:
    """One node, as a lowering sees it."""

    node: Node
    types: Sequence[TensorType]  # of its inputs
    type: TensorType  # of its output

    def __getitem__(self, place: int) -> str:
        """The name of an input."""
        return self.node.inputs[place]

    @property
    def attributes(self) -> Attributes:
        return self.node.attributes

    def literal(self, attribute: str) -> str:
        """An attribute as it is written in Python."""
        return literal(self.attributes[attribute])


# A node to the expression that computes it; Unsupported where there is none.
Expression = Callable[[Call], str]


class Lowering(Protocol):
    """One framework, and one way of running it."""

    @property
    def name(self) -> str:
        """What users type."""

    @property
    def phases(self) -> tuple[str, ...]: ...

    @property
    def extra(self) -> str:
        """What installs it: pip install 'jostle[extra]'; empty if Jostle needs it anyway."""

    @property
    def module(self) -> str:
        """What must be there to import."""

    @property
    def packages(self) -> tuple[str, ...]:
        """Whose versions a report tells."""

    def program(self, graph: Graph, phase: str) -> str:
        """The program; Unsupported if the framework cannot."""


def literal(value: Any) -> str:
    """A plain value as it is written in Python, also if it is not finite."""
    if isinstance(value, list | tuple):
        inside = ", ".join(map(literal, value))
        return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' if len(value) == 1 else ''})"
    if isinstance(value, float):
        return repr(float(value)) if math.isfinite(value) else f'float("{value}")'
    if value is None or isinstance(value, bool | int | str):
        return repr(value)
    raise TypeError(f"{value!r} is no plain value")


def calls(graph: Graph) -> list[Call]:
    """The nodes in order, with the types of what they read and compute."""
    types = types_of(graph)
    return [Call(node, [types[name] for name in node.inputs], types[node.name]) for node in graph.nodes]


def statements(graph: Graph, expressions: Mapping[str, Expression]) -> list[str]:
    """One line for every node."""
    return [f"{call.node.name} = {expression_of(call, expressions)}" for call in calls(graph)]


def expression_of(call: Call, expressions: Mapping[str, Expression]) -> str:
    if call.node.operator not in expressions:
        raise Unsupported(f"has no {call.node.operator}")
    return expressions[call.node.operator](call)


def seeding(graph: Graph, function: str) -> list[str]:
    """The line by which a library's chance begins, if a node leaves anything to it."""
    seeds = [node.attributes["seed"] for node in graph.nodes if "seed" in node.attributes]
    return [f"{function}({literal(seeds[0])})"] if seeds else []


def differentiated(graph: Graph) -> list[str]:
    """The leaves that gradients are taken of."""
    return [name for name, leaf in graph.leaves.items() if leaf.role in (INPUT, PARAMETER) and leaf.type.is_float]


def require_gradients(graph: Graph, without: Collection[str]) -> None:
    """Unsupported if a framework says of an operator of the graph that it has no gradient, or documents another one."""
    for node in graph.nodes:
        if node.operator in without:
            raise Unsupported(f"has no gradient of {node.operator}")


def float_outputs(graph: Graph) -> list[str]:
    """The outputs that a gradient is taken from."""
    types = types_of(graph)
    return [name for name in graph.outputs if types[name].is_float]


def cotangents_of(graph: Graph, seed: int) -> dict[str, Array]:
    """What each output of floats is weighed with in a gradient; the same for the same seed."""
    types, rng = types_of(graph), np.random.default_rng(seed)
    return {
        f"cotangent_{name}": rng.standard_normal(types[name].shape).astype(types[name].dtype)
        for name in float_outputs(graph)
    }


def arrays_of(graph: Graph, phase: str, seed: int = 0) -> dict[str, Array]:
    """All that a program finds under a name."""
    arrays = {name: leaf.array for name, leaf in graph.leaves.items()}
    if phase == GRADIENT:
        arrays |= cotangents_of(graph, seed)
    if phase == TRAIN and graph.training is not None:
        arrays["target"] = graph.training.target
    return arrays
