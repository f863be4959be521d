"""Planted bugs are found, located and reduced, and nothing else is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from frameworks_planted import (
    REFERENCE_BOUNDS,
    InProcess,
    Planted,
    chain,
    random_graph,
    trained,
)
from jostle.frameworks.backends.program import GRADIENT, PREDICT, TRAIN, Call
from jostle.frameworks.drawing import filled
from jostle.frameworks.graph import CONSTANT, PARAMETER, Graph, Leaf, Node
from jostle.frameworks.judging.compare import compare, judge
from jostle.frameworks.judging.locate import Patience, locate
from jostle.frameworks.judging.signature import signature_of
from jostle.frameworks.operators.operator import Wanted
from jostle.frameworks.reduction.reduce import SameDefect, reduce, signature_of_what_is_left
from jostle.graph_signature import Signature

Random = np.random.Generator


def swapped_padding(call: Call) -> str:
    pads = [side for pair in zip(call.attributes["before"], call.attributes["after"], strict=True) for side in pair]
    return (
        f"F.conv2d(F.pad({call[0]}, {pads[::-1]}), {call[1]}, {call[2]}, {call.literal('strides')}, 0, "
        f"{call.literal('dilations')}, {call.literal('groups')})"
    )


def naive_softmax(call: Call) -> str:
    return f"torch.exp({call[0]}) / torch.exp({call[0]}).sum({call.literal('axis')}, True)"


def conv_graph(rng: Random) -> Graph:
    attributes = {"strides": [1, 2], "before": [1, 0], "after": [0, 1], "dilations": [1, 1], "groups": 2}
    leaves = {
        "k": Leaf(PARAMETER, filled(Wanted((6, 2, 3, 2), "float32", "weights"), rng)),
        "c": Leaf(PARAMETER, filled(Wanted((6,), "float32", "weights"), rng)),
    }
    return chain(rng, [Node("x3", "conv", ("x2", "k", "c"), attributes)], leaves)


def sin_graph(rng: Random) -> Graph:
    return chain(rng, [Node("x3", "sin", ("x2",))])


def cast_graph(rng: Random) -> Graph:
    graph = chain(rng)
    return replace(graph, nodes=(*graph.nodes, Node("z", "cast", ("y",), {"to": "float64"})), outputs=("z",))


def dropout_graph(rng: Random) -> Graph:
    leaves = {"mask": Leaf(CONSTANT, rng.random((2, 4, 6, 6)) < 0.7)}
    return chain(rng, [Node("x3", "dropout", ("x2", "mask"), {"rate": 0.1})], leaves)


def pool_graph(rng: Random) -> Graph:
    attributes = {"kernel": [2, 3], "strides": [2, 2], "padding": [1, 1], "ceil": True, "include_pad": True}
    return chain(rng, [Node("x3", "avg_pool", ("x2",), attributes)])


def softmax_graph(rng: Random) -> Graph:
    large = Leaf(CONSTANT, np.full((2, 1, 1, 1), 300.0, np.float32))
    middle = [Node("x2b", "mul", ("x2", "large")), Node("x3", "softmax", ("x2b",), {"axis": 1})]
    return chain(rng, middle, {"large": large})


def fused_graph(rng: Random) -> Graph:
    return chain(rng, [Node("x2b", "square", ("x2",)), Node("x3", "sigmoid", ("x2b",))])


def adam_graph(rng: Random) -> Graph:
    return trained(sin_graph(rng), rng)


INSIDE = "w - rate * (m / (1 - beta1**t)) / torch.sqrt(v / (1 - beta2**t) + epsilon)"
WRONG_SLOPE = Planted(wrong=(("sin", lambda call: f"torch.sin({call[0]}).detach() + {call[0]} - {call[0]}.detach()"),))
PLANTED = {
    "wrong padding": (
        Planted(wrong=(("conv", swapped_padding),)),
        conv_graph,
        PREDICT,
        "planted predict values conv",
    ),
    "wrong gradient": (WRONG_SLOPE, sin_graph, GRADIENT, "planted gradient gradient sin"),
    "wrong gradient in training": (
        WRONG_SLOPE,
        lambda rng: trained(sin_graph(rng), rng, "sgd"),
        TRAIN,
        "planted gradient gradient sin",
    ),
    "swallowed dtype": (
        Planted(wrong=(("cast", lambda call: f"{call[0]} * 1"),)),
        cast_graph,
        PREDICT,
        "planted predict type cast",
    ),
    "dropout without scale": (
        Planted(wrong=(("dropout", lambda call: f"{call[0]} * {call[1]}"),)),
        dropout_graph,
        PREDICT,
        "planted predict values dropout",
    ),
    "crash on an attribute": (
        Planted(wrong=(("avg_pool", lambda call: "1 / 0" if call.attributes["ceil"] else f"{call[0]} * 1"),)),
        pool_graph,
        PREDICT,
        "planted predict crash avg_pool",
    ),
    "overflow on the way": (
        Planted(
            wrong=(
                (
                    "softmax",
                    lambda call: f"torch.exp({call[0]}) / torch.exp({call[0]}).sum({call.literal('axis')}, True)",
                ),
            )
        ),
        softmax_graph,
        PREDICT,
        "planted predict nonfinite softmax",
    ),
    "optimiser off by epsilon": (Planted(adam=INSIDE), adam_graph, TRAIN, "planted train training optimiser.adam"),
    "fused wrongly": (
        Planted(fused=("square", "sigmoid")),
        fused_graph,
        PREDICT,
        "planted predict values square+sigmoid",
    ),
    "small relative error": (
        Planted(wrong=(("sin", lambda call: f"torch.sin({call[0]}) * 1.001"),)),
        sin_graph,
        PREDICT,
        "planted predict values sin",
    ),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_found_located_and_reduced(bug: str) -> None:
    lowering, make, phase, expected = PLANTED[bug]
    runner = InProcess({"planted": lowering, "other": Planted("other")})
    graph = make(np.random.default_rng(1))
    (observed,) = runner.run([graph], phase)
    (found,) = compare(graph, phase, observed, REFERENCE_BOUNDS)
    signature = signature_of(locate(graph, found, runner, REFERENCE_BOUNDS, Patience())[0], found)
    assert signature.text.startswith(f"{expected} ")

    whole = graph if signature.phase == TRAIN else graph.without_training()
    small = reduce(
        whole, SameDefect(signature, runner, REFERENCE_BOUNDS), REFERENCE_BOUNDS.evaluate, late=lambda: False
    )
    (observed,) = runner.run([small], signature.phase)
    (found,) = compare(small, signature.phase, observed, REFERENCE_BOUNDS)
    assert signature_of(locate(small, found, runner, REFERENCE_BOUNDS, Patience())[0], found).core == signature.core
    assert len(small.nodes) <= 3
    assert sum(leaf.array.size for leaf in small.leaves.values()) <= 40


def test_operators_that_are_guilty_together_are_reduced_on_their_dtype_and_named_by_what_is_left() -> None:
    wrong = Planted(wrong=(("sin", lambda call: f"torch.sin({call[0]}) * 1.001"),))
    runner = InProcess({"planted": wrong, "other": Planted("other")})
    signature = Signature("planted", PREDICT, "values", "sin+tanh", dtype="float32")
    nodes = Node("a", "tanh", ("x",)), Node("b", "sin", ("a",))
    single, double = (
        Graph({"x": Leaf(PARAMETER, np.array([0.5, 1.0], dtype))}, nodes, ("b",)) for dtype in ("float32", "float64")
    )
    same = SameDefect(signature, runner, REFERENCE_BOUNDS)
    assert same([single, double]) == [True, False]
    small = reduce(single, same, REFERENCE_BOUNDS.evaluate, late=lambda: False)
    assert signature_of_what_is_left(small, signature).text == "planted predict values sin - float32 -"
    alone = replace(signature, operator="sin")
    assert signature_of_what_is_left(small, alone) == alone


@pytest.mark.parametrize("phase", [PREDICT, GRADIENT])
def test_rounding_alone_is_never_reported(phase: str) -> None:
    runner = InProcess({"planted": Planted()})
    for seed in range(80):
        graph = random_graph(np.random.default_rng(seed))
        (observed,) = runner.run([graph], phase)
        verdict = judge(graph, phase, observed, REFERENCE_BOUNDS)
        assert not verdict.found and not verdict.doubted, (seed, verdict)


def test_rounding_of_a_training_is_never_reported() -> None:
    runner = InProcess({"planted": Planted()})
    for seed in range(16):
        rng = np.random.default_rng(seed)
        graph = trained([conv_graph, dropout_graph, pool_graph, chain][seed % 4](rng), rng)
        (observed,) = runner.run([graph], TRAIN)
        assert compare(graph, TRAIN, observed, REFERENCE_BOUNDS) == [], seed
