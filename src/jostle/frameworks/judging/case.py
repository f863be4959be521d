"""One graph in one phase, and what the reference and every backend made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from jostle.frameworks.backends.program import GRADIENT, TRAIN, differentiated
from jostle.frameworks.graph import Array, Graph, Node, TensorType
from jostle.frameworks.judging.disagreement import family_of
from jostle.frameworks.judging.documented import documented
from jostle.frameworks.judging.reference_bounds import ReferenceBounds, distance
from jostle.frameworks.judging.rounding import precision, rounds, too_large
from jostle.frameworks.judging.tolerances import VANISHING, coarser, kinds, peers_error, rounded
from jostle.frameworks.observations import REFERENCE, Observation, Status
from jostle.frameworks.operators.all_operators import types_of
from jostle.frameworks.operators.subtracted import typical

Observations = Mapping[str, Observation]


@dataclass(frozen=True)
class Case:
    """A graph with the observations of all backends, and what follows from them."""

    graph: Graph
    phase: str
    observations: Observations
    bounds: ReferenceBounds

    @property
    def has_reference(self) -> bool:
        """Whether there is a right result."""
        return self.observations[REFERENCE].status is Status.OK

    @cached_property
    def backends(self) -> list[str]:
        """The backends that have what the graph needs, whatever came of it; without the reference."""
        return [
            name
            for name, one in self.observations.items()
            if name != REFERENCE and one.status not in (Status.UNSUPPORTED, Status.UNDEFINED)
        ]

    @cached_property
    def successful(self) -> list[str]:
        """The backends that computed something."""
        return [name for name in self.backends if self.observations[name].status is Status.OK]

    @cached_property
    def types(self) -> dict[str, TensorType]:
        return types_of(self.graph)

    @cached_property
    def results(self) -> dict[str, TensorType]:
        """The types of what a program leaves, outputs first."""
        if self.phase == TRAIN and self.graph.training is not None:
            loss = TensorType((self.graph.training.steps,), self.types[self.graph.outputs[0]].dtype)
            return {"loss": loss} | {name: self.types[name] for name in self.graph.named("parameter")}
        results = {name: self.types[name] for name in self.graph.outputs}
        if self.phase == GRADIENT:
            results |= {f"d_{name}": self.types[name] for name in differentiated(self.graph)}
        return results

    @cached_property
    def spread(self) -> dict[str, Array]:
        return self.bounds.spread(self.graph, self.phase)

    @cached_property
    def tensors(self) -> Mapping[str, Array]:
        return self.bounds.evaluate(self.graph)

    @cached_property
    def all_finite(self) -> bool:
        """Whether all numbers that the reference computes are."""
        return all(np.isfinite(values).all() for values in self.tensors.values() if values.dtype.kind == "f")

    @cached_property
    def overflows(self) -> bool:
        """Whether a node makes what is not finite of finite numbers that are so large that its steps' order decides."""
        return any(self._overflows(node) for node in self.graph.nodes if rounds(node, self.types))

    def _overflows(self, node: Node) -> bool:
        read = [self.tensors[name] for name in node.inputs if self.types[name].is_float]
        large = any(too_large(values, "float64").any() for values in read)
        return large and all(np.isfinite(one).all() for one in read) and not np.isfinite(self.tensors[node.name]).all()

    def expected(self, name: str) -> Array:
        return np.asarray(self.observations[REFERENCE].arrays[name])

    def seen(self, backend: str, name: str) -> Array:
        return np.asarray(self.observations[backend].arrays[name])

    def fits(self, backend: str, name: str) -> bool:
        """Whether a result has the shape and dtype that it should have."""
        arrays, type_ = self.observations[backend].arrays, self.results[name]
        if name not in arrays or arrays[name].shape != type_.shape:
            return False
        return arrays[name].dtype.name == type_.dtype or (name == "loss" and arrays[name].dtype.kind == "f")

    def dtype(self, name: str) -> str:
        """The dtype whose precision a result can have."""
        tensors = [name] if name in self.graph.outputs and self.phase != TRAIN else self.graph.outputs
        coarsest = max(precision(self.graph, tensor, self.types) for tensor in tensors)
        return coarser(self.results[name].dtype, coarsest)

    def documented(self, backend: str) -> bool:
        """Whether documentation explains a difference of this backend."""
        return bool(documented(self.graph, self.types, self.tensors, backend))

    def vanishing(self, name: str) -> float:
        """What remains by rounding of a gradient that ought to vanish; cotangents are about 1."""
        if self.phase != GRADIENT or name in self.graph.outputs:
            return 0.0
        sizes = (typical(np.abs(self.expected(one))) for one in self.results if one not in self.graph.outputs)
        return VANISHING[self.dtype(name)] * max(1.0, *sizes)

    def other_families(self, backend: str, name: str) -> dict[str, list[Array]]:
        """What the backends of each other family made of a result."""
        seen: dict[str, list[Array]] = {}
        for peer in self.successful:
            if family_of(peer) != family_of(backend) and self.fits(peer, name):
                seen.setdefault(family_of(peer), []).append(self.seen(peer, name))
        return seen

    def peers_error(self, backend: str, name: str) -> Array:
        """What at least half of the other families err by; of each family the member that errs least counts."""
        expected = self.expected(name)
        errors = [
            np.minimum.reduce([distance(array, expected) for array in arrays])
            for arrays in self.other_families(backend, name).values()
        ]
        return peers_error(errors, expected)

    def sides_with_reference(self, backend: str, name: str) -> Array:
        """Where most of the other families are finite or not as the reference is; everywhere if there is but one."""
        wanted = kinds(rounded(self.expected(name).astype(np.float64), self.results[name].dtype))
        families = self.other_families(backend, name).values()
        votes = [np.any([kinds(array) == wanted for array in arrays], axis=0) for arrays in families]
        return np.mean(votes, axis=0) > 0.5 if len(votes) > 1 else np.ones(wanted.shape, bool)
