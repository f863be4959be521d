"""Edits of parameters: attributes, activations, and all that belongs to training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from jostle.frameworks.edits.edit import (
    Edit,
    Inapplicable,
    Random,
    Vocabulary,
    inserted,
    new_node,
    one_of,
    rewired,
    tensors,
)
from jostle.frameworks.edits.repairing import checked, read_by, repaired
from jostle.frameworks.graph import FLOATS, PARAMETER, STYLES, Array, Graph, Invalid, Node, TensorType, Training
from jostle.frameworks.operators.all_operators import OPERATORS, operator_named, type_of, types_of
from jostle.frameworks.operators.elementwise import UNARY
from jostle.frameworks.training import LOSSES, MOST_STEPS, OPTIMISERS, PENALTIES

TRIES = 20
DROPOUTS = ["dropout", "dropout_identity"]  # by a mask of ours, which all frameworks have, or by their own kernel


def change_attribute(graph: Graph, rng: Random) -> Graph:
    """One attribute of a node is drawn anew."""
    types = types_of(graph)
    node = one_of([node for node in graph.nodes if node.attributes], rng)
    read = [types[name] for name in node.inputs]
    for _ in range(TRIES):
        changed = replace(node, attributes=_redrawn(node, read[0], rng))
        try:
            if changed.attributes != node.attributes and type_of(changed, read):
                return repaired(_replaced(graph, changed), read_by(graph))
        except Invalid:
            continue
    raise Inapplicable


def _redrawn(node: Node, first: TensorType, rng: Random) -> dict[str, object]:
    operator = operator_named(node.operator)
    drawn = operator.draw(first, rng)
    if operator.together is not None:
        return drawn
    name = one_of(list(drawn), rng)
    return {**node.attributes, name: drawn[name]}


def _replaced(graph: Graph, node: Node) -> Graph:
    return replace(graph, nodes=tuple(node if one.name == node.name else one for one in graph.nodes))


def change_activation(vocabulary: Vocabulary, graph: Graph, rng: Random) -> Graph:
    """A function of every element becomes another one."""
    types = types_of(graph)
    names = {one.name for one in UNARY if one.accepts(TensorType((), "float32"))}
    node = one_of([node for node in graph.nodes if node.operator in names], rng)
    other = one_of([one for one in vocabulary if one.name in names - {node.operator}], rng)
    first = types[node.inputs[0]]
    changed = replace(node, operator=other.name, attributes=other.draw(first, rng))
    return repaired(_replaced(graph, changed), read_by(graph))


def change_style(graph: Graph, rng: Random) -> Graph:
    """A node is computed in place or through a view where the framework has that."""
    node = one_of(list(graph.nodes), rng)
    return _replaced(graph, replace(node, style=one_of([one for one in STYLES if one != node.style], rng)))


def add_dropout(graph: Graph, rng: Random) -> Graph:
    types, dropout = types_of(graph), one_of(DROPOUTS, rng)
    after = one_of([name for name in tensors(graph) if types[name].is_float and types[name].size], rng)
    node, leaves = new_node(graph, after, rng, [OPERATORS[dropout]])
    return repaired(rewired(inserted(graph, [node], leaves, after), after, node.name, but={node.name}), read_by(graph))


def target_for(loss: str, output: TensorType, rng: Random) -> Array:
    """What an output of this type could be compared with."""
    if loss == "cross_entropy":
        classes = output.size // max(output.shape[0], 1)
        return rng.integers(0, classes, output.shape[0])
    if loss == "bce_with_logits":
        return rng.uniform(0, 1, output.shape).astype(output.dtype)
    if loss == "hinge":
        return rng.choice([-1.0, 1.0], output.shape).astype(output.dtype)
    return rng.standard_normal(output.shape).astype(output.dtype)


def drawn_training(output: TensorType, rng: Random) -> Training:
    losses = [loss for loss in LOSSES if loss != "cross_entropy" or output.rank > 1]
    loss, optimiser = one_of(losses, rng), one_of(list(OPTIMISERS), rng)
    return Training(
        loss,
        target_for(loss, output, rng),
        one_of(list(PENALTIES), rng),
        float(rng.choice([0.01, 0.1])),
        optimiser,
        drawn_settings(optimiser, rng),
        int(rng.integers(1, MOST_STEPS + 1)),
    )


def drawn_settings(optimiser: str, rng: Random) -> dict[str, float]:
    drawn = {name: float(rng.choice(usual)) for name, usual in OPTIMISERS[optimiser].settings.items()}
    if drawn.get("nesterov") and not drawn["momentum"]:
        drawn["nesterov"] = 0.0  # which frameworks refuse
    return drawn


def _trainable(graph: Graph) -> TensorType:
    """The type of the output that a loss can be taken of."""
    output = types_of(graph)[graph.outputs[0]]
    floats = [name for name in graph.named(PARAMETER) if graph.leaves[name].array.dtype.name in FLOATS]
    if not output.is_float or output.size == 0 or not floats:
        raise Inapplicable
    return output


def change_training(graph: Graph, rng: Random) -> Graph:
    """Another loss, penalty and optimiser."""
    return checked(replace(graph, training=drawn_training(_trainable(graph), rng)))


def _one_of_training(*names: str) -> Callable[[Graph, Random], Graph]:
    def apply(graph: Graph, rng: Random) -> Graph:
        drawn = drawn_training(_trainable(graph), rng)
        if graph.training is None:
            return checked(replace(graph, training=drawn))
        changed = replace(graph.training, **{name: getattr(drawn, name) for name in names})
        return checked(replace(graph, training=changed))

    return apply


def parameters(vocabulary: Vocabulary) -> tuple[Edit, ...]:
    return (
        Edit("change activation", "another activation", partial(change_activation, vocabulary)),
        *PARAMETERS,
    )


PARAMETERS = (
    Edit("change attribute", "another stride, padding, size, mode, axis …", change_attribute),
    Edit("change style", "in place or through a view (torch)", change_style),
    Edit("add dropout", "dropout with a mask of its own, or the library's that changes nothing", add_dropout),
    Edit("change loss", "another loss", _one_of_training("loss", "target")),
    Edit("change penalty", "another penalty on the parameters", _one_of_training("penalty", "strength")),
    Edit("change optimiser", "another optimiser", _one_of_training("optimiser", "settings")),
    Edit("change steps", "another number of steps", _one_of_training("steps")),
    Edit("change training", "all of these", change_training),
)
