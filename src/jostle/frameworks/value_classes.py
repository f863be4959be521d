"""Classes of values that kernels often get wrong, each by name: an array becomes another of its shape and dtype."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from jostle.frameworks.drawing import SPECIAL, with_specials
from jostle.frameworks.graph import Array

Random = np.random.Generator
ValueClass = Callable[[Array, Random], Array]
NOT_FINITE = (np.nan, np.inf, -np.inf)
EDGES_OF_EXP = (88.0, 89.0, 104.0, 709.0, 710.0, 746.0)  # where exp of a float32 or a float64 overflows or ends


def _signs(values: Array, rng: Random) -> Array:
    return np.where(rng.random(values.shape) < 0.5, -1.0, 1.0)


def _filled(value: float) -> ValueClass:
    return lambda values, rng: np.full(values.shape, value)


def _one_not_finite(values: Array, rng: Random) -> Array:
    changed = values.astype(np.float64)
    if changed.size:
        changed.flat[int(rng.integers(changed.size))] = rng.choice(NOT_FINITE)
    return changed


def _any_specials(values: Array, rng: Random) -> Array:
    return np.array(SPECIAL)[rng.integers(len(SPECIAL), size=values.shape)]


def _alike(values: Array, rng: Random) -> Array:
    return np.full(values.shape, rng.choice(NOT_FINITE))


def _one_slice(values: Array, rng: Random) -> Array:
    """All along the other axes is alike, as where a mask hides a whole row."""
    changed = values.astype(np.float64)
    if changed.size and changed.ndim:
        axis = int(rng.integers(changed.ndim))
        np.moveaxis(changed, axis, 0)[int(rng.integers(changed.shape[axis]))] = rng.choice(NOT_FINITE)
    return changed


def _tied(values: Array, rng: Random) -> Array:
    return rng.integers(-1, 2, values.shape).astype(np.float64)


def _halves(values: Array, rng: Random) -> Array:
    """What lies between two whole numbers."""
    return rng.integers(-6, 6, values.shape) + 0.5


def _zeros(values: Array, rng: Random) -> Array:
    return _signs(values, rng) * 0.0


def _subnormal(values: Array, rng: Random) -> Array:
    return _signs(values, rng) * rng.integers(1, 1000, values.shape) * float(np.finfo(values.dtype).smallest_subnormal)


def _huge(values: Array, rng: Random) -> Array:
    return _signs(values, rng) * rng.uniform(0.1, 1.0, values.shape) * float(np.finfo(values.dtype).max)


def _shifted(values: Array, rng: Random) -> Array:
    """A spread that is small beside the mean, which variances are lost in."""
    return values + float(rng.choice([1e3, -1e4, 1e6]))


def _edges_of_exp(values: Array, rng: Random) -> Array:
    return np.asarray(_signs(values, rng) * rng.choice(EDGES_OF_EXP, values.shape))


def _scaled(values: Array, rng: Random) -> Array:
    return np.asarray(values * float(rng.choice([1e-6, 1e-3, 30.0, 1e3, 1e6])))


OF_FLOATS: Mapping[str, ValueClass] = {
    "some specials": with_specials,
    "any specials": _any_specials,
    "one that is not finite": _one_not_finite,
    "a slice that is not finite": _one_slice,
    "nothing finite": _alike,
    "ties": _tied,
    "halves": _halves,
    "zeros of both signs": _zeros,
    "subnormal": _subnormal,
    "huge": _huge,
    "large mean": _shifted,
    "edges of exp": _edges_of_exp,
    "scaled": _scaled,
}


def _extremes(values: Array, rng: Random) -> Array:
    """The least and the most of the dtype, and what is next to them and to 0."""
    info = np.iinfo(values.dtype)
    near = np.array([info.min, info.min + 1, info.max, info.max - 1, 0, 1, max(info.min, -1)], values.dtype)
    return near[rng.integers(len(near), size=values.shape)]


def _few(values: Array, rng: Random) -> Array:
    return rng.integers(0, 2, values.shape)


def _any_whole(values: Array, rng: Random) -> Array:
    info = np.iinfo(values.dtype)
    return rng.integers(info.min, info.max, values.shape, values.dtype, endpoint=True)


OF_INTEGERS: Mapping[str, ValueClass] = {
    "extremes": _extremes,
    "few values": _few,
    "zeros": _filled(0),
    "any": _any_whole,
}
OF_BOOLS: Mapping[str, ValueClass] = {"all hold": _filled(True), "none holds": _filled(False)}


def classes_for(array: Array) -> Mapping[str, ValueClass]:
    """By the kind of its dtype."""
    return {"f": OF_FLOATS, "b": OF_BOOLS}.get(array.dtype.kind, OF_INTEGERS)


def of_class(name: str, array: Array, rng: Random) -> Array:
    """An array whose values are of this class."""
    with np.errstate(over="ignore"):
        return np.asarray(classes_for(array)[name](array, rng)).astype(array.dtype)
