"""How far results move when everything is rounded a little differently."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from jostle.frameworks.graph import Array, Graph, Node
from jostle.frameworks.lowerings.program import GRADIENT, PREDICT, Call
from jostle.frameworks.operators.catalogue import operator_named
from jostle.frameworks.operators.shaping import SHAPING
from jostle.frameworks.reference.run import Compute, computed, evaluate, result
from jostle.frameworks.reference.undefined import Undefined

UNIT = {"float32": 2.0**-24, "float64": 2.0**-53}  # of rounding, relative
JITTER = 4  # units
# Operators that compute with no rounding.
EXACT = {
    *("relu", "relu6", "abs", "neg", "clip", "hardshrink", "floor", "ceil", "round", "trunc", "sign", "isnan", "isinf"),
    *("maximum", "minimum", "fmod", "remainder", "equal", "not_equal", "less", "less_equal", "greater"),
    *("greater_equal", "where", "max", "min", "argmax", "argmin", "cummax", "count_nonzero"),
    *("max_pool", "adaptive_max_pool"),
    *({one.name for one in SHAPING} - {"scatter"}),
}
JUMP = 2.0**-10  # a change beyond this share of a tensor's usual size is no rounding


@dataclass(frozen=True)
class Sensitivity:
    """Of every result by name: which elements jump, and the largest change of each that was seen."""

    flips: Mapping[str, Array]  # truth values
    spread: Mapping[str, Array]  # infinite where a result is sometimes finite and sometimes not


def jittered(
    graph: Graph, rng: np.random.Generator, draws: int = 3, phase: str = PREDICT, seed: int = 0
) -> Sensitivity:
    """What operators that round read and compute is changed by a few units of rounding, with random signs.

    Operators that do not round are exact on leaves, as these are the same for everybody: rounding excuses no framework
    there, not even next to a jump.

    In the phase of prediction all nodes are told, else what a program of this phase leaves.
    """
    still = _results(graph, phase, seed)
    try:
        moved = [_results(graph, phase, seed, _shaking(rng)) for _ in range(draws)]
    except Undefined:  # next to the edge of what is defined, everything may jump
        return Sensitivity(
            {name: np.ones(values.shape, bool) for name, values in still.items()},
            {name: np.full(values.shape, np.inf) for name, values in still.items()},
        )
    spread = {name: _largest_change(values, [one[name] for one in moved]) for name, values in still.items()}
    suspects = _may_jump(graph, phase, still)
    flips = {name: _jumps(values, spread[name], name in suspects) for name, values in still.items()}
    return Sensitivity(flips, spread)


def _results(graph: Graph, phase: str, seed: int, compute: Compute = computed) -> dict[str, Array]:
    if phase != PREDICT:
        return result(graph, phase, seed, compute)
    tensors = evaluate(graph, compute)
    return {node.name: tensors[node.name] for node in graph.nodes} | {name: tensors[name] for name in graph.outputs}


def _shaking(rng: np.random.Generator) -> Compute:
    """Computes nodes as if their inputs and what they compute had been rounded by somebody else."""

    def shaken(values: Tensor, dtype: str) -> Tensor:
        if not values.is_floating_point():
            return values
        up = torch.from_numpy(np.asarray(rng.integers(0, 2, tuple(values.shape), np.int8)))
        return values * (1 - JITTER * UNIT[dtype] + 2 * JITTER * UNIT[dtype] * up)

    def compute(call: Call, inputs: list[Tensor]) -> Tensor:
        if call.node.operator in EXACT:
            return computed(call, inputs)
        if call.node.operator != "cast":
            inputs = [shaken(one, type_.dtype) for one, type_ in zip(inputs, call.types, strict=True)]
        return shaken(computed(call, inputs), call.type.dtype)

    return compute


def _largest_change(values: Array, moved: list[Array]) -> Array:
    return np.asarray(np.max([_change(values, one) for one in moved], axis=0))


def _change(values: Array, moved: Array) -> Array:
    """0 where both are the same, also the same infinity or NaN; infinite where one of them is not finite."""
    if values.dtype == np.bool_:
        return np.asarray(values != moved, np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        change = np.abs(values.astype(np.float64) - moved)
    same = (values == moved) | (np.isnan(values) & np.isnan(moved))
    return np.where(same, 0.0, np.where(np.isnan(change), np.inf, change))


def _may_jump(graph: Graph, phase: str, results: Mapping[str, Array]) -> set[str]:
    """What is downstream of an operator that jumps; of gradients all, as every kink makes them jump."""
    reached: set[str] = set()
    for node in graph.nodes:
        if jumps(node) or reached & set(node.inputs):
            reached.add(node.name)
    if phase == PREDICT:
        return reached
    if phase == GRADIENT:
        return reached | (results.keys() - set(graph.outputs))
    return set(results)


def jumps(node: Node) -> bool:
    nearest = node.operator == "grid_sample" and node.attributes["mode"] == "nearest"
    return nearest or operator_named(node.operator).discontinuous


def _jumps(values: Array, spread: Array, suspect: bool) -> Array:
    if not suspect or values.size == 0:
        return np.zeros(values.shape, bool)
    if values.dtype.kind in "bi":
        return np.asarray(spread > 0)
    finite = np.abs(values[np.isfinite(values)])
    usual = float(np.median(finite)) if finite.size else 0.0
    return np.asarray(spread > JUMP * np.maximum(np.where(np.isfinite(values), np.abs(values), 0.0), usual))
