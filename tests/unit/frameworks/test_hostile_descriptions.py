"""Descriptions that a stranger wrote: nothing of them is executed, and what is wrong with them is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from jostle.frameworks.backends.program import literal
from jostle.frameworks.drawing import single
from jostle.frameworks.graph import Graph, Invalid, Node, decode, graph_as_json
from jostle.frameworks.models import MODELS
from jostle.frameworks.operators.all_operators import OPERATORS, type_of, types_of

CODE = "__import__('os').system('touch /tmp/owned')"
Told = dict[str, Any]


def told() -> Told:
    return graph_as_json(MODELS["mlp"](np.random.default_rng(0)))


def first_leaf(told: Told) -> Told:
    leaf: Told = next(iter(told["leaves"].values()))
    return leaf


DAMAGES: dict[str, Callable[[Told], object]] = {
    "code as strength": lambda told: told["training"].update(strength=CODE),
    "code as a setting": lambda told: told["training"]["settings"].update(rate=CODE),
    "code as the name of a setting": lambda told: told["training"]["settings"].update({CODE: 1.0}),
    "code as steps": lambda told: told["training"].update(steps=CODE),
    "code as loss": lambda told: told["training"].update(loss=CODE),
    "code as penalty": lambda told: told["training"].update(penalty=CODE),
    "code as optimiser": lambda told: told["training"].update(optimiser=CODE),
    "true as strength": lambda told: told["training"].update(strength=True),
    "no finite strength": lambda told: told["training"].update(strength=float("nan")),
    "no finite setting": lambda told: told["training"]["settings"].update(rate=float("inf")),
    "strength beyond floats": lambda told: told["training"].update(strength=10**400),
    "half a step": lambda told: told["training"].update(steps=1.5),
    "settings in a list": lambda told: told["training"].update(settings=[1.0]),
    "what no training has": lambda told: told["training"].update(callback="x"),
    "a training without loss": lambda told: told["training"].pop("loss"),
    "training by a number": lambda told: told.update(training=3),
    "a negative size": lambda told: first_leaf(told).update(shape=[-1, -1]),
    "an unknown size": lambda told: first_leaf(told).update(shape=[-1]),
    "an absurd size": lambda told: first_leaf(told).update(shape=[2**62, 2**62]),
    "an absurd size of nothing": lambda told: first_leaf(told).update(shape=[0, 10**30], bytes=""),
    "sizes that are no whole numbers": lambda told: first_leaf(told).update(shape=[2.0]),
    "a byte too few": lambda told: first_leaf(told).update(shape=[1], dtype="int8", bytes=""),
    "bytes that are none": lambda told: first_leaf(told).update(bytes="!!!"),
    "more axes than there can be": lambda told: first_leaf(told).update(shape=[1] * 99, dtype="int8", bytes="AA=="),
    "inputs in one text": lambda told: told["nodes"][0].update(inputs="xy"),
    "an attribute beyond 64 bits": lambda told: told["nodes"][0].update(attributes={"a": 2**64}),
    "an attribute that is nothing": lambda told: told["nodes"][0].update(attributes={"a": None}),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_description_with_something_hostile_in_it_is_refused(damage: Callable[[Told], object]) -> None:
    damaged = told()
    damage(damaged)
    with pytest.raises(Invalid) as refused:
        decode(json.dumps(damaged))
    assert "\n" not in str(refused.value)


def test_a_training_may_leave_out_what_has_a_usual_value() -> None:
    told_short = told()
    del told_short["training"]["penalty"]
    training = decode(json.dumps(told_short)).training
    assert training is not None and training.penalty == "none"


def test_only_plain_values_are_written_into_programs() -> None:
    assert literal([np.float64(0.5), 1, "a'b", True, float("-inf")]) == """[0.5, 1, "a'b", True, float("-inf")]"""
    with pytest.raises(TypeError, match="is no plain value"):
        literal(Node("y", "relu", ("x",)))


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_attributes_of_another_kind_and_missing_inputs_are_told(name: str) -> None:
    graph = single(name, np.random.default_rng(2))
    node, types = graph.nodes[0], types_of(graph)
    given = [types[one] for one in node.inputs]
    for attribute, value in node.attributes.items():
        others = [-1, 1, "a", 1.5, True] if isinstance(value, list) else [[], [1], [value], [[value]]]
        for other in others:
            with pytest.raises(Invalid):
                type_of(replace(node, attributes={**node.attributes, attribute: other}), given)
    with pytest.raises(Invalid):
        type_of(node, [])
    with pytest.raises(Invalid):
        types_of(Graph(graph.leaves, (replace(node, inputs=()),), graph.outputs))
