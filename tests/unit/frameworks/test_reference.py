"""The reference computes what torch's, numpy's and scipy's own kernels do in float64."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from known_kernels import KERNELS, NotThere

from changed_leaves import with_leaves
from frameworks_slopes import Settled, settle
from jostle.frameworks.backends.program import calls, differentiated, float_outputs
from jostle.frameworks.drawing import single
from jostle.frameworks.graph import DTYPES, INPUT, Graph, Leaf, Node
from jostle.frameworks.operators.all_operators import OPERATORS, types_of
from jostle.frameworks.reference.formulas import FORMULAS
from jostle.frameworks.reference.numbers import held
from jostle.frameworks.reference.run import evaluate, result
from jostle.frameworks.reference.undefined import Undefined

DRAWS = 20
# How far the kernels are off: torch's group norm adds x scale and -mean scale, which cancel where all x are equal.
ROUNDING = {"cast": 1e-6, "group_norm": 1e-8, "instance_norm": 1e-8}


def in_float64(graph: Graph) -> Graph:
    leaves = {
        name: Leaf(leaf.role, leaf.array.astype(np.float64) if leaf.type.is_float else leaf.array)
        for name, leaf in graph.leaves.items()
    }
    return replace(graph, leaves=leaves)


def theirs(graph: Graph) -> np.ndarray:
    (call,) = calls(graph)
    inputs = [torch.from_numpy(np.array(graph.leaves[name].array)) for name in call.node.inputs]
    with warnings.catch_warnings(), np.errstate(all="ignore"), torch.no_grad():
        warnings.simplefilter("ignore")
        return KERNELS[call.node.operator](call, *inputs).numpy()


def test_every_operator_has_a_formula_and_something_to_compare_it_with() -> None:
    assert FORMULAS.keys() == OPERATORS.keys() == KERNELS.keys()


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_computes_what_a_known_kernel_does(name: str) -> None:
    compared = 0
    for seed in range(DRAWS):
        graph = in_float64(single(name, np.random.default_rng(seed)))
        try:
            ours, known = evaluate(graph)["y"], theirs(graph)
        except (Undefined, NotThere):
            continue
        assert ours.shape == types_of(graph)["y"].shape
        rounding = ROUNDING.get(name, 1e-11)
        np.testing.assert_allclose(ours, known, rtol=rounding, atol=rounding, err_msg=f"{seed}: {graph.nodes[0]}")
        compared += 1
    assert compared > DRAWS / 2


def of_dtype(graph: Graph, dtype: str) -> Graph | None:
    """The same graph on leaves of another dtype where they had that of the first; None if no such graph is valid."""
    before = graph.leaves["x"].array.dtype
    return with_leaves(graph, lambda array: array.astype(dtype), lambda leaf: leaf.array.dtype == before)


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_an_operator_computes_is_held_as_its_dtype_whatever_it_is_given(dtype: str) -> None:
    """Also what is never drawn for it, and only comes of mutating graphs."""
    tried = 0
    for name in OPERATORS:
        for seed in range(4):
            graph = of_dtype(single(name, np.random.default_rng(seed)), dtype)
            if graph is None:
                continue
            try:
                found = evaluate(graph)["y"]
            except Undefined:
                continue
            assert found.dtype == held(np.zeros(0, types_of(graph)["y"].dtype)).numpy().dtype, graph.nodes[0]
            tried += 1
    assert tried > 50


@pytest.mark.parametrize("name", [name for name, one in OPERATORS.items() if one.differentiable])
def test_the_gradient_of_an_operator_is_what_finite_differences_say(name: str) -> None:
    settled = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        graph = in_float64(single(name, rng))
        if not float_outputs(graph) or not differentiated(graph):
            continue
        try:
            gradients = result(graph, "gradient")
        except Undefined:
            continue
        for leaf in differentiated(graph):
            claimed = gradients[f"d_{leaf}"]
            settled.append(settle(graph, leaf, claimed, rng, directions=2, tolerance=1e-5))
            assert settled[-1] is not Settled.WRONG, f"{seed}: {graph.nodes[0]}"
    assert settled.count(Settled.RIGHT) >= len(settled) / 3


def test_a_power_with_a_number_is_that_of_ieee_754_where_torch_takes_roots() -> None:
    leaves = {"x": Leaf(INPUT, np.array([-0.0, -np.inf, 4.0]))}
    for scalar, right in ((-0.5, [np.inf, 0.0, 0.5]), (0.5, [0.0, np.inf, 2.0])):
        graph = Graph(leaves, (Node("y", "pow_scalar", ("x",), {"scalar": scalar}),), ("y",))
        np.testing.assert_array_equal(evaluate(graph)["y"], right)
