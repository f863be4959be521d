"""How far a result may lie from the reference before it is wrong, element by element."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jostle.frameworks.graph import Array
from jostle.frameworks.operators.subtracted import typical

# Of the result's size: what good kernels stay within whatever the order of their sums and their approximations.
RELATIVE = {"float32": 1e-5, "float64": 1e-12}
# Of the largest of all gradients: sums of them that ought to vanish do so only up to rounding.
VANISHING = {"float32": 1e-6, "float64": 1e-13}
# How often the spread: a sum of n terms is off by up to √n times what moves with its terms; n ≤ 4096.
SPREADS = 100.0
FACTOR, FACTOR_OF_TINY, TINY = 3.0, 10.0, 64  # of the peers' error; tensors of so few elements vary more


def coarser(dtype: str, epsilon: float) -> str:
    """The dtype whose precision a result has that was rounded with this epsilon on the way."""
    return "float32" if epsilon > np.finfo("float64").eps else dtype


def floor(expected: Array, dtype: str) -> Array:
    """What every implementation is granted."""
    size = np.abs(np.nan_to_num(expected, nan=0.0, posinf=0.0, neginf=0.0))
    share = RELATIVE[dtype]  # of each, because their sum may be beyond all numbers
    return np.asarray(share * size + share * typical(size) + 64 * float(np.finfo(dtype).tiny))


def allowance(expected: Array, dtype: str, spread: Array, peers: Array) -> Array:
    """What an implementation is granted where rounding moves the result and the peers err as well."""
    usual = np.median(spread[np.isfinite(spread)]) if np.isfinite(spread).any() else 0.0
    factor = FACTOR if expected.size > TINY else FACTOR_OF_TINY
    with np.errstate(over="ignore"):
        moved = np.maximum(SPREADS * np.maximum(spread, usual), factor * peers)
    return np.maximum(floor(expected, dtype), moved)


def peers_error(errors: Sequence[Array], like: Array) -> Array:
    """What at least half of the peers err by: the lower median of their errors; 0 without peers."""
    if not errors:
        return np.zeros(like.shape)
    ordered: Array = np.sort(np.stack(errors), axis=0)
    return np.asarray(ordered[(len(errors) - 1) // 2])


def kinds(array: Array) -> Array:
    """0 finite, 1 and 2 infinite, 3 not a number."""
    return np.select([np.isnan(array), np.isposinf(array), np.isneginf(array)], [3, 1, 2], 0)


def rounded(expected: Array, dtype: str) -> Array:
    """As the dtype would hold it, infinite if it overflows."""
    with np.errstate(over="ignore"):
        return expected.astype(dtype).astype(np.float64)


def is_certain(expected: Array, spread: Array) -> Array:
    """Where rounding moves a number, or what is none, so little that it may not become the other."""
    return np.asarray(np.isfinite(spread) & (~np.isfinite(expected) | (SPREADS * spread <= np.abs(expected))))


def near_overflow(expected: Array, dtype: str) -> Array:
    """Where a rounding more or less decides between a number and infinity."""
    largest = float(np.finfo(dtype).max)
    with np.errstate(invalid="ignore"):
        size = np.abs(expected)
        return np.isfinite(size) & (size > largest / 4) & (size < largest * 4)
