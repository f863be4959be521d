"""The same graph with other roundings: where results move with them, no framework is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from jostle.frameworks.graph import CONSTANT, Array, Graph, Leaf, Node, TensorType
from jostle.frameworks.judging.rounding import epsilon_of, is_degenerate, rounds, too_large, too_small
from jostle.frameworks.operators.all_operators import OPERATORS, types_of
from jostle.frameworks.operators.operator import Rounding
from jostle.frameworks.operators.subtracted import typical

ULPS = 2


def jittered(graph: Graph, tensors: Mapping[str, Array], seed: int, sign: float = 1.0, extremes: bool = False) -> Graph:
    """The graph with every float that is read or computed by a node that rounds moved by some ulps.

    With the other sign, everything is moved the other way, so that what lies near a jump takes it once of two times.
    With `extremes`, those too small to be normal become 0 and those whose square overflows infinite, as happens in
    frameworks that flush, or that square on the way; what is normalised by next to nothing is no number, and
    computed zeros have the other sign, but the same slope.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return _Jitter(graph, tensors, np.random.default_rng(seed), sign, extremes).graph()


class _Jitter:
    def __init__(
        self, graph: Graph, tensors: Mapping[str, Array], rng: np.random.Generator, sign: float, extremes: bool
    ) -> None:
        self.original, self.tensors, self.rng, self.sign, self.extremes = graph, tensors, rng, sign, extremes
        self.types = types_of(graph)
        self.leaves, self.nodes = dict(graph.leaves), list[Node]()
        self.moved: dict[str, str] = {}  # what nodes that round read instead

    def graph(self) -> Graph:
        for node in self.original.nodes:
            if rounds(node, self.types):
                self._rounding(node)
            else:
                self.nodes.append(node)
        return replace(self.original, leaves=self.leaves, nodes=tuple(self.nodes))

    def _rounding(self, node: Node) -> None:
        raw, inputs = f"{node.name}_jostle_raw", tuple(map(self._read, node.inputs))
        self.nodes.append(replace(node, name=raw, inputs=inputs, style="plain"))
        if OPERATORS[node.operator].rounding.saturates:
            raw = self._slope(node, raw, inputs[0])
        self._move(raw, node.name, node.name, self._floor(node))
        if self.extremes and is_degenerate(node, [self.tensors[name] for name in node.inputs]):
            self.leaves[f"{node.name}_jostle_factor"] = Leaf(
                CONSTANT, np.full(self.types[node.name].shape, np.nan, self.types[node.name].dtype)
            )
        self.moved[node.name] = node.name

    def _read(self, name: str) -> str:
        if not self.types[name].is_float:
            return name
        if name not in self.moved:
            self.moved[name] = f"{name}_jostle_moved"
            self._move(name, self.moved[name], name, 0.0)
        return self.moved[name]

    def _slope(self, node: Node, raw: str, read: str) -> str:
        """raw + e (x - x₀), where x₀ is the value of x: hardly another value, but a slope that is off by e."""
        taken, type_ = np.asarray(self.tensors[node.inputs[0]], np.float64), self.types[node.name]
        if not taken.size or not type_.size:
            return raw
        stem = f"{node.name}_jostle"
        for name, values in {
            "there": np.where(np.isfinite(taken), taken, 0.0),
            "nowhere": np.zeros(taken.shape),
            "slope": self._steepness(node, taken) * self._noise(type_),
        }.items():
            self.leaves[f"{stem}_{name}"] = Leaf(CONSTANT, values.astype(type_.dtype))
        self.leaves[f"{stem}_finite"] = Leaf(CONSTANT, np.isfinite(taken))
        self.nodes.append(Node(f"{stem}_apart", "sub", (read, f"{stem}_there")))
        self.nodes.append(Node(f"{stem}_way", "where", (f"{stem}_finite", f"{stem}_apart", f"{stem}_nowhere")))
        way = f"{stem}_way"
        if taken.shape != type_.shape:
            way = f"{stem}_ways"
            axes = {"axes": list(range(taken.ndim)), "keepdims": False}
            self.nodes.append(Node(way, "sum", (f"{stem}_way",), axes))
        self.nodes.append(Node(f"{stem}_more", "mul", (way, f"{stem}_slope")))
        self.nodes.append(Node(f"{stem}_sloped", "add", (raw, f"{stem}_more")))
        return f"{stem}_sloped"

    def _steepness(self, node: Node, taken: Array) -> Array | float:
        """The size of the numbers that a gradient subtracts, for each that is 1 in the gradient that comes in."""
        sizes, made = np.abs(taken), np.abs(np.asarray(self.tensors[node.name], np.float64))
        finite = sizes[np.isfinite(sizes)]
        if OPERATORS[node.operator].rounding is Rounding.LOGARITHMIC:
            return 1.0 + float(finite.max(initial=0.0))
        spread = float(np.std(finite)) if finite.size else 0.0
        steepness = 1.0 + (typical(made) / spread if spread > 0 else 0.0)
        if sizes.shape != made.shape:
            return steepness
        own = np.divide(made, sizes, out=np.zeros_like(made), where=np.isfinite(made / np.where(sizes, sizes, np.nan)))
        return steepness + np.minimum(own, 1e6)

    def _floor(self, node: Node) -> Array | float:
        """The size of the numbers that a node subtracts."""
        operator, read = OPERATORS[node.operator], [self.tensors[name] for name in node.inputs]
        if operator.rounding is Rounding.LOGARITHMIC:
            return 1.0 + typical(np.abs(read[0]))
        if operator.subtracts is None:
            return 0.0
        return np.nan_to_num(operator.subtracts(read, node.attributes), nan=0.0, posinf=0.0)

    def _move(self, source: str, name: str, value: str, floor: Array | float) -> None:
        """`name` is `source`, whose exact value is known, moved a little."""
        type_ = self.types[value]
        factor = 1 + self._noise(type_)
        if self.extremes:
            values = np.asarray(self.tensors[value], np.float64).reshape(type_.shape)
            factor = _to_extremes(factor, values, type_.dtype)
            if value not in self.original.leaves and (values == 0).any():
                source = self._with_other_zeros(source, name, values, type_.dtype)
        self.leaves[f"{name}_jostle_factor"] = Leaf(CONSTANT, factor.astype(type_.dtype))
        product = f"{name}_jostle_product" if np.any(floor) else name
        self.nodes.append(Node(product, "mul", (source, f"{name}_jostle_factor")))
        if np.any(floor):
            self.leaves[f"{name}_jostle_shift"] = Leaf(CONSTANT, (floor * self._noise(type_)).astype(type_.dtype))
            self.nodes.append(Node(name, "add", (product, f"{name}_jostle_shift")))

    def _with_other_zeros(self, source: str, name: str, values: Array, dtype: str) -> str:
        """`source`, with its slopes, but -0 where these values are 0, and 0 where they are -0.

        Nobody says which zero a maximum or a product is. Of both zeros x, x + 0 is 0 and -(-x + 0) is -0.
        """
        stem = f"{name}_jostle_zeros"
        sign = np.where((values == 0) & ~np.signbit(values), -1.0, 1.0)
        self.leaves[f"{stem}_sign"] = Leaf(CONSTANT, sign.astype(dtype))
        self.leaves[f"{stem}_shift"] = Leaf(CONSTANT, np.zeros(values.shape, dtype))
        self.nodes.append(Node(f"{stem}_turned", "mul", (source, f"{stem}_sign")))
        self.nodes.append(Node(f"{stem}_shifted", "add", (f"{stem}_turned", f"{stem}_shift")))
        self.nodes.append(Node(stem, "mul", (f"{stem}_shifted", f"{stem}_sign")))
        return stem

    def _noise(self, type_: TensorType) -> Array:
        return self.rng.choice([-1.0, -0.5, 0.5, 1.0], type_.shape) * self.sign * ULPS * epsilon_of(type_)


def _to_extremes(factor: Array, values: Array, dtype: str) -> Array:
    return np.where(too_large(values, dtype), np.inf, np.where(too_small(values, dtype), 0.0, factor))
