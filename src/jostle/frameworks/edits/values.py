"""Edits of weights, and of what is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from jostle.frameworks.drawing import with_specials
from jostle.frameworks.edits.edit import Edit, Inapplicable, Random, one_of
from jostle.frameworks.edits.repairing import checked, read_by, repaired
from jostle.frameworks.graph import FLOATS, INPUT, LAYOUTS, PARAMETER, Array, Graph, Leaf

Change = Callable[[Array, Random], Array]
SPREAD = 0.1  # of noise on weights, in their standard deviations (LEMON)


def _parameters(graph: Graph) -> list[str]:
    return [name for name in graph.named(PARAMETER) if graph.leaves[name].array.size]


def _with_array(graph: Graph, name: str, array: Array) -> Graph:
    leaf = graph.leaves[name]
    with np.errstate(over="ignore"):
        changed = Leaf(leaf.role, np.asarray(array, leaf.array.dtype), leaf.layout)
    return replace(graph, leaves={**graph.leaves, name: changed})


def _on_weights(change: Change) -> Callable[[Graph, Random], Graph]:
    def apply(graph: Graph, rng: Random) -> Graph:
        name = one_of(_parameters(graph), rng)
        return _with_array(graph, name, change(graph.leaves[name].array, rng))

    return apply


def gaussian(weights: Array, rng: Random) -> Array:
    finite = weights[np.isfinite(weights)]
    spread = SPREAD * (float(finite.astype(np.float64).std()) if finite.size > 1 else 1.0)
    return weights + rng.standard_normal(weights.shape) * min(spread, 1e6)


def shuffle(weights: Array, rng: Random) -> Array:
    return rng.permutation(weights.ravel()).reshape(weights.shape)


def some(weights: Array, rng: Random) -> Array:
    """Which weights an edit changes [as weights], at least one."""
    chosen = rng.random(weights.shape) < 0.3
    chosen.flat[int(rng.integers(chosen.size))] = True
    return chosen


def zero(weights: Array, rng: Random) -> Array:
    return np.where(some(weights, rng), 0.0, weights)


def negate(weights: Array, rng: Random) -> Array:
    return np.where(some(weights, rng), -weights, weights)


def scale(weights: Array, rng: Random) -> Array:
    with np.errstate(over="ignore"):
        return weights * float(rng.choice([1e-6, 1e-3, 1e3, 1e6, 100.0]))


WEIGHTS = (
    Edit("noise weights", "Gaussian noise of a tenth of their standard deviation", _on_weights(gaussian)),
    Edit("shuffle weights", "weights in another order", _on_weights(shuffle)),
    Edit("zero weights", "some weights are 0", _on_weights(zero)),
    Edit("negate weights", "some weights change their sign", _on_weights(negate)),
    Edit("scale weights", "all weights very small or very large", _on_weights(scale)),
    Edit("special weights", "some weights are NaN, infinite, denormal, -0", _on_weights(with_specials)),
)


def _float_inputs(graph: Graph) -> list[str]:
    return [name for name in graph.named(INPUT) if graph.leaves[name].type.is_float and graph.leaves[name].array.size]


def _on_inputs(change: Change) -> Callable[[Graph, Random], Graph]:
    def apply(graph: Graph, rng: Random) -> Graph:
        name = one_of(_float_inputs(graph), rng)
        return _with_array(graph, name, change(graph.leaves[name].array, rng))

    return apply


def redraw(values: Array, rng: Random) -> Array:
    return rng.standard_normal(values.shape)


def ties(values: Array, rng: Random) -> Array:
    """Few distinct values, so that several are largest."""
    return np.round(np.nan_to_num(values.astype(np.float64), nan=1.0, posinf=2.0, neginf=-2.0).clip(-3, 3))


def large_mean(values: Array, rng: Random) -> Array:
    """Values whose spread is small beside their mean, which variances are lost in."""
    return values + float(rng.choice([1e3, -1e4]))


def resize_input(graph: Graph, rng: Random) -> Graph:
    """An axis of a given tensor has size 1, 0 or another one."""
    name = one_of([name for name in graph.named(INPUT) if graph.leaves[name].array.ndim], rng)
    array = graph.leaves[name].array
    axis, size = int(rng.integers(array.ndim)), int(rng.choice([0, 1, 1, 2, 3, 5, 7]))
    picked = rng.integers(0, max(array.shape[axis], 1), size)
    if size and not array.shape[axis]:
        raise Inapplicable
    return repaired(_resized(graph, name, np.take(array, picked, axis)), read_by(graph))


def _resized(graph: Graph, name: str, array: Array) -> Graph:
    return replace(graph, leaves={**graph.leaves, name: replace(graph.leaves[name], array=array)})


def change_layout(graph: Graph, rng: Random) -> Graph:
    """A given tensor lies in memory otherwise, with the same values."""
    name = one_of([name for name, leaf in graph.leaves.items() if leaf.array.ndim > 1], rng)
    leaf = graph.leaves[name]
    fit = [layout for layout in LAYOUTS if layout != leaf.layout and _fits(layout, leaf.array)]
    layout = one_of(fit, rng)
    array = leaf.array
    if layout == "expanded":
        array = np.repeat(array[:1], len(array), axis=0)
    return checked(replace(graph, leaves={**graph.leaves, name: Leaf(leaf.role, array, layout)}))


def _fits(layout: str, array: Array) -> bool:
    if layout == "channels_last":
        return array.ndim in (4, 5)
    return layout != "expanded" or len(array) > 1


def change_dtype(graph: Graph, rng: Random) -> Graph:
    """All floats of the model are of the other width."""
    floats = [leaf.array.dtype.name for leaf in graph.leaves.values() if leaf.type.is_float]
    if not floats:
        raise Inapplicable
    old = floats[0]
    new = FLOATS[1 - FLOATS.index(old)]
    with np.errstate(over="ignore"):
        leaves = {
            name: replace(leaf, array=leaf.array.astype(new)) if leaf.array.dtype.name == old else leaf
            for name, leaf in graph.leaves.items()
        }
        training = graph.training
        if training is not None and training.target.dtype.name == old:
            training = replace(training, target=training.target.astype(new))
    return repaired(replace(graph, leaves=leaves, training=training), read_by(graph))


INPUTS = (
    Edit("redraw input", "other values", _on_inputs(redraw)),
    Edit("special input", "some values are NaN, infinite, denormal, -0", _on_inputs(with_specials)),
    Edit("scale input", "all values very small or very large", _on_inputs(scale)),
    Edit("tie input", "few distinct values", _on_inputs(ties)),
    Edit("shift input", "a large mean", _on_inputs(large_mean)),
    Edit("resize input", "an axis of another size, 0 and 1 among them", resize_input),
    Edit("change layout", "another order in memory", change_layout),
    Edit("change dtype", "float32 for float64, or the other way round", change_dtype),
)
