"""Which operator is guilty: nodes run alone on what the reference computes for their inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from jostle.frameworks.backends.program import GRADIENT, TRAIN
from jostle.frameworks.graph import Graph
from jostle.frameworks.judging.compare import judge
from jostle.frameworks.judging.disagreement import Disagreement, Symptom
from jostle.frameworks.judging.eager_twin import witnesses
from jostle.frameworks.judging.reference_bounds import ReferenceBounds
from jostle.frameworks.observations import Runner
from jostle.frameworks.reduction.simplifications import with_gradient_descent
from jostle.frameworks.reduction.subgraphs import Tensors, ancestors, subgraph


@dataclass(frozen=True)
class Located:
    """The smallest part of a graph that shows what is wrong."""

    operator: str  # or several joined by +, or a part of the training: loss.mse, penalty.l1, optimiser.adam
    graph: Graph
    disagreement: Disagreement  # on that part


def locate(graph: Graph, disagreement: Disagreement, runner: Runner, bounds: ReferenceBounds) -> Located:
    """The first node, backwards for gradients, that is wrong alone, else the fewest neighbours that are together."""
    trial = _Trial(disagreement, runner, bounds)
    if disagreement.phase == TRAIN:
        return _in_training(graph, disagreement, trial)
    tensors = bounds.evaluate(graph)
    return _in_graph(graph, disagreement.phase, trial, tensors) or Located(_joined(graph), graph, disagreement)


@dataclass(frozen=True)
class _Trial:
    """Runs parts of a graph on the backend in question and finds what is wrong with each."""

    disagreement: Disagreement
    runner: Runner
    bounds: ReferenceBounds

    def __call__(self, graphs: Sequence[Graph], phase: str) -> list[Disagreement | None]:
        needed = witnesses(self.disagreement.symptom, self.disagreement.backend)
        observed = self.runner.run(graphs, phase, needed)
        pairs = zip(graphs, observed, strict=True)
        judged = [judge(graph, phase, one, self.bounds).alike(self.disagreement.symptom) for graph, one in pairs]
        return [next(iter(found), None) for found in judged]


def _in_graph(graph: Graph, phase: str, trial: _Trial, tensors: Tensors) -> Located | None:
    """The node, or the neighbours, with the same symptom; else the first node with any, to which it may have led."""
    nodes = graph.nodes[::-1] if phase == GRADIENT else graph.nodes
    parts = [subgraph(graph, {node.name}, tensors) for node in nodes]
    found = trial(parts, phase)
    symptom = trial.disagreement.symptom
    return _first(parts, found, symptom) or _fused(graph, phase, trial, tensors) or _first(parts, found, None)


def _first(parts: Sequence[Graph], found: Sequence[Disagreement | None], symptom: Symptom | None) -> Located | None:
    """The first part that shows this symptom, or any if none is given."""
    for graph, one in zip(parts, found, strict=True):
        if one is not None and symptom in (None, one.symptom):
            return Located(_joined(graph), graph, one)
    return None


def _joined(graph: Graph) -> str:
    return "+".join(node.operator for node in graph.nodes)


def _fused(graph: Graph, phase: str, trial: _Trial, tensors: Tensors) -> Located | None:
    """The shortest beginning of the graph that is wrong, and of that the shortest end."""
    beginnings = [
        replace(subgraph(graph, ancestors(graph, node.name), tensors), outputs=(node.name,)) for node in graph.nodes
    ]
    beginning = _first(beginnings, trial(beginnings, phase), trial.disagreement.symptom)
    if beginning is None:
        return None
    names = [node.name for node in beginning.graph.nodes]
    ends = [subgraph(beginning.graph, names[start:], tensors) for start in range(len(names) - 1, -1, -1)]
    return _first(ends, trial(ends, phase), trial.disagreement.symptom) or beginning


def _in_training(graph: Graph, disagreement: Disagreement, trial: _Trial) -> Located:
    """A node whose gradient is wrong, else the loss, the penalty or the optimiser."""
    untrained = graph.without_training()
    tensors = trial.bounds.evaluate(untrained)
    found = _in_graph(untrained, GRADIENT, _as_gradient(trial), tensors)
    if found is not None:
        return found
    training = graph.training
    if training is None:
        raise ValueError("only a graph with a training can be wrong in it")
    plain = replace(with_gradient_descent(training), steps=1)
    parts = [replace(graph, training=replace(plain, penalty="none")), replace(graph, training=plain), graph]
    names = [f"loss.{training.loss}", f"penalty.{training.penalty}", f"optimiser.{training.optimiser}"]
    for name, simpler, wrong in zip(names, parts, trial(parts, TRAIN), strict=True):
        if wrong is not None:
            return Located(name, simpler, wrong)
    return Located(names[-1], graph, disagreement)


def _as_gradient(trial: _Trial) -> _Trial:
    """The same question where a wrong gradient may have led to wrong parameters."""
    if trial.disagreement.symptom is not Symptom.TRAINING:
        return trial
    return replace(trial, disagreement=replace(trial.disagreement, symptom=Symptom.GRADIENT))
