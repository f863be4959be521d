"""Edits of neurons: a unit of a layer more or less, at another's place, with another sign, blocked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from jostle.frameworks.edits.edit import Edit, Inapplicable, Random, one_of
from jostle.frameworks.edits.repairing import read_by, repaired
from jostle.frameworks.edits.units import UnitLayer, UnitPlaces, layers_of_units
from jostle.frameworks.graph import Array, Graph


def _on_one(change: Callable[[Array, int, Random], Array]) -> Callable[[Graph, Random], Graph]:
    """An edit of what one unit has in its own weights and bias."""

    def apply(graph: Graph, rng: Random) -> Graph:
        layer = one_of(layers_of_units(graph), rng)
        unit = int(rng.integers(layer.count))
        return _changed(graph, layer.own, lambda array, _: change(array, unit, rng))

    return apply


def _changed(graph: Graph, places: Iterable[UnitPlaces], change: Callable[[Array, UnitPlaces], Array]) -> Graph:
    leaves = {
        one.leaf: replace(graph.leaves[one.leaf], array=change(graph.leaves[one.leaf].array, one)) for one in places
    }
    return repaired(replace(graph, leaves={**graph.leaves, **leaves}), read_by(graph))


def one_more(array: Array, unit: int, rng: Random) -> Array:
    return np.concatenate([array, array[unit : unit + 1] * array.dtype.type(rng.uniform(-1, 1))])


def one_less(array: Array, unit: int, rng: Random) -> Array:
    if len(array) < 2:
        raise Inapplicable
    return np.delete(array, unit, axis=0)


def inverted(array: Array, unit: int, rng: Random) -> Array:
    """The unit gives the same with the other sign, before the activation."""
    changed = array.copy()
    changed[unit] = -changed[unit]
    return changed


def shuffled(array: Array, unit: int, rng: Random) -> Array:
    changed = array.copy()
    changed[unit] = rng.permutation(array[unit].ravel()).reshape(array[unit].shape)
    return changed


def switch_neurons(graph: Graph, rng: Random) -> Graph:
    """Two units change places, but not for what reads them, so that each has the other's effect."""
    layer = one_of([layer for layer in layers_of_units(graph) if layer.count > 1], rng)
    return _exchanged(graph, layer.own, layer, rng)


def swap_neurons(graph: Graph, rng: Random) -> Graph:
    """Two units change places also for what reads them, so that the model computes the same."""
    layer = one_of([layer for layer in _followed(graph) if layer.count > 1], rng)
    return _exchanged(graph, (*layer.own, *(layer.in_readers or ())), layer, rng)


def _followed(graph: Graph) -> list[UnitLayer]:
    return [layer for layer in layers_of_units(graph) if layer.in_readers]


def _exchanged(graph: Graph, places: Iterable[UnitPlaces], layer: UnitLayer, rng: Random) -> Graph:
    order = np.arange(layer.count)
    a, b = rng.permutation(layer.count)[:2]
    order[[a, b]] = order[[b, a]]
    return _changed(graph, places, lambda array, one: np.take(array, _places_of(order, one), one.axis))


def _places_of(units: Array, one: UnitPlaces) -> Array:
    """The indices along the axis that belong to these units [n], in their order."""
    return np.asarray(units[:, None] * one.each + np.arange(one.each)).ravel()


def block_neuron(graph: Graph, rng: Random) -> Graph:
    """The next layers weigh a unit with 0."""
    layer = one_of(_followed(graph), rng)
    unit = rng.integers(layer.count, size=1)
    return _changed(
        graph, [one for one in layer.in_readers or () if one.weighs], lambda array, one: _zeroed(array, unit, one)
    )


def _zeroed(array: Array, units: Array, one: UnitPlaces) -> Array:
    changed = np.moveaxis(array.copy(), one.axis, 0)
    changed[_places_of(units, one)] = 0
    return np.moveaxis(changed, 0, one.axis)


NEURONS = (
    Edit("add neuron", "a unit more", _on_one(one_more)),
    Edit("delete neuron", "a unit less", _on_one(one_less)),
    Edit("invert neuron", "a unit's weights and bias change their sign", _on_one(inverted)),
    Edit("shuffle neuron", "a unit's weights in another order", _on_one(shuffled)),
    Edit("block neuron", "the next layers weigh a unit with 0", block_neuron),
    Edit("switch neurons", "two units of a layer have each other's weights and bias", switch_neurons),
    Edit("swap neurons", "two units change places, also for the next layers: the same function", swap_neurons),
)
