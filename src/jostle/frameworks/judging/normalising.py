"""Whether a normalisation divides by next to nothing, so that rounding is all that remains."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jostle.frameworks.graph import Array, Node

LOST = 1e-3  # a deviation of this share of the numbers themselves leaves float32 about four digits
EQUAL, LOST_OF_EQUAL = 1e-9, 0.1  # numbers with such a variance are all the same, so that only rounding is left


def is_degenerate(node: Node, inputs: Sequence[Array]) -> bool:
    """Whether √(variance + epsilon) is somewhere so small beside the numbers that are normalised."""
    with np.errstate(all="ignore"):
        variances = _variances(node, [np.asarray(one, np.float64) for one in inputs])
    if variances is None or not variances.size:
        return False
    smallest = float(np.min(variances, where=np.isfinite(variances), initial=np.inf))
    deviation = np.sqrt(smallest + node.attributes["epsilon"])
    size = float(np.abs(inputs[0][np.isfinite(inputs[0])]).max(initial=0.0))
    return bool(deviation < (LOST_OF_EQUAL if smallest < EQUAL * size**2 else LOST) * size)


def _variances(node: Node, inputs: Sequence[Array]) -> Array | None:
    x = inputs[0]
    if not x.size:
        return None
    match node.operator:
        case "batch_norm":
            return inputs[4]
        case "batch_norm_training":
            return np.asarray(np.var(x, axis=(0, *range(2, x.ndim))))
        case "instance_norm":
            return np.asarray(np.var(x, axis=tuple(range(2, x.ndim))))
        case "group_norm":
            return np.asarray(np.var(x.reshape(x.shape[0], node.attributes["groups"], -1), axis=2))
        case "layer_norm":
            return np.asarray(np.var(x, axis=tuple(range(node.attributes["axis"], x.ndim))))
    return None
