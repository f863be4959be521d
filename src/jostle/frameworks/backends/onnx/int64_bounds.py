"""How large the whole numbers of a graph can become, for runtimes that compute int64 in int32."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from jostle.frameworks.backends.program import Call, calls
from jostle.frameworks.graph import INTEGERS, Array, Graph

# No whole number of a tensor is larger; infinite where that is not known.
Bound = float
BoundOf = Callable[[Call, Sequence[Bound]], Bound]


def _reduced_count(call: Call) -> int:
    axes: list[int] = call.attributes.get("axes", [call.attributes.get("axis", 0)])
    return max(1, math.prod(call.types[0].shape[axis] for axis in axes))


def _scattered(call: Call, bounds: Sequence[Bound]) -> Bound:
    own, updates, count = bounds[0], bounds[2], max(call.types[2].size, 1)
    return own + count * updates if call.attributes["reduction"] == "add" else _power(own * max(updates, 1), count)


def _power(base: Bound, exponent: float) -> Bound:
    """Never below 1, as a product of nothing is 1."""
    return float(max(base, 1.0) ** exponent) if exponent * math.log2(max(base, 1.0)) < 1000 else math.inf


def _cast(call: Call, bounds: Sequence[Bound]) -> Bound:
    return math.inf if call.types[0].is_float else bounds[0]


def _added(call: Call, bounds: Sequence[Bound]) -> Bound:
    """Of what adds all updates, which are the last input, to the first."""
    return bounds[0] + max(call.types[-1].size, 1) * bounds[-1]


def _bits(call: Call, bounds: Sequence[Bound]) -> Bound:
    """All bits below the highest of both, or the next of a negative number."""
    largest = 255.0 if call.type.dtype == "uint8" else max(bounds)
    return float(2.0 ** (math.floor(math.log2(largest)) + 1)) if 0 < largest < math.inf else largest + 1


def _scalar(call: Call) -> float:
    return abs(float(call.attributes["scalar"]))


GROWING: Mapping[str, BoundOf] = {
    **dict.fromkeys(("add", "sub"), lambda call, bounds: sum(bounds)),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not"), _bits),
    **dict.fromkeys(("sum", "cumsum"), lambda call, bounds: bounds[0] * _reduced_count(call)),
    **dict.fromkeys(("prod", "cumprod"), lambda call, bounds: _power(bounds[0], _reduced_count(call))),
    **dict.fromkeys(("index_add", "scatter_nd_add"), _added),
    **dict.fromkeys(("left_shift", "lcm", "matmul_integer"), lambda call, bounds: math.inf),
    "mul": lambda call, bounds: bounds[0] * bounds[1],
    "square": lambda call, bounds: bounds[0] ** 2,
    "squared_difference": lambda call, bounds: sum(bounds) ** 2,
    "sum_square": lambda call, bounds: bounds[0] ** 2 * _reduced_count(call),
    "diff": lambda call, bounds: bounds[0] * 2 ** call.attributes["n"],
    "segment_sum": lambda call, bounds: bounds[0] * max(call.types[0].shape[0], 1),
    "scatter": _scattered,
    "cast": _cast,
    "pad": lambda call, bounds: max(bounds[0], abs(call.attributes["value"])),
    "add_scalar": lambda call, bounds: bounds[0] + _scalar(call),
    "rsub_scalar": lambda call, bounds: bounds[0] + _scalar(call),
    "mul_scalar": lambda call, bounds: bounds[0] * _scalar(call),
    "bucketize": lambda call, bounds: float(len(call.attributes["boundaries"])),
    "quantize": lambda call, bounds: 255.0,
    "pow_scalar": lambda call, bounds: _power(bounds[0], _scalar(call)),
}
# What gives positions and counts of its own, none above the size of a tensor.
COUNTING = {"argmax", "argmin", "argsort", "topk_indices", "count_nonzero", "max_pool_indices", "bin_counts"}


def largest_wholes(graph: Graph) -> dict[str, Bound]:
    """Of each tensor of whole numbers or truth values; nothing a node computes on the way is larger than its result."""
    bounds = {name: _of_array(leaf.array) for name, leaf in graph.leaves.items()}
    for call in calls(graph):
        bounds[call.node.name] = _of_result(call, [bounds[name] for name in call.node.inputs])
    return bounds


def _of_array(array: Array) -> Bound:
    if array.dtype.name not in INTEGERS:
        return 1.0
    return float(np.abs(array.astype(np.float64)).max(initial=0.0))


def _of_result(call: Call, bounds: Sequence[Bound]) -> Bound:
    if call.type.dtype not in INTEGERS:
        return 1.0
    return min(_grown(call, bounds), -float(np.iinfo(call.type.dtype).min) or 255.0)


def overflows(call: Call, largest: Mapping[str, Bound]) -> bool:
    """Whether a result may be too large for its dtype."""
    if call.type.dtype not in INTEGERS:
        return False
    return _grown(call, [largest[name] for name in call.node.inputs]) > float(np.iinfo(call.type.dtype).max)


def _grown(call: Call, bounds: Sequence[Bound]) -> Bound:
    if call.node.operator in COUNTING:
        return float(max(call.types[0].size, 1))
    if call.node.operator in GROWING:
        return GROWING[call.node.operator](call, bounds)
    return max(bounds)
