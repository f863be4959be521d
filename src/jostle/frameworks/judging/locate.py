"""Which operator is guilty: nodes run alone on what the reference computes for their inputs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from jostle.foreign import Crash
from jostle.frameworks.backends.program import GRADIENT, TRAIN
from jostle.frameworks.graph import Graph, Training
from jostle.frameworks.judging.compare import judge
from jostle.frameworks.judging.disagreement import Disagreement, Symptom
from jostle.frameworks.judging.eager_twin import witnesses
from jostle.frameworks.judging.reference_bounds import ReferenceBounds
from jostle.frameworks.observations import Runner
from jostle.frameworks.reduction.simplifications import is_valid, with_gradient_descent
from jostle.frameworks.reduction.subgraphs import Tensors, ancestors, subgraph, trained

# Seconds for one location. Without deaths it takes less than one; every part that takes its process with it costs a
# start of the framework, 1 to 6 s, and mostly the guilty node is the only such part.
LOCATING = 20.0


class Unlocated(Exception):
    """The campaign's time was over before anybody knew which operator is guilty."""


@dataclass(frozen=True)
class Patience:
    """How long a location may take: to its own end, or until the campaign has enough."""

    end: float  # by the clock that only goes on
    enough: Callable[[], bool]  # whether the campaign's budget is spent; raises if somebody asked to stop

    @staticmethod
    def of_one(enough: Callable[[], bool] = lambda: False) -> Patience:
        """For a location that begins now."""
        return Patience(time.monotonic() + LOCATING, enough)

    def lasts(self) -> bool:
        """Whether there is time for another part; Unlocated if it is the campaign that has none."""
        if self.enough():
            raise Unlocated
        return time.monotonic() < self.end


@dataclass(frozen=True)
class Located:
    """The smallest part of a graph that shows what is wrong."""

    operator: str  # or several joined by +, or a part of the training: loss.mse, penalty.l1, optimiser.adam
    graph: Graph
    disagreement: Disagreement  # on that part


def locate(
    graph: Graph, disagreement: Disagreement, runner: Runner, bounds: ReferenceBounds, patience: Patience
) -> Located:
    """The first node, backwards for gradients, that is wrong alone, else the fewest neighbours that are together.

    All of the graph if its time is over before.
    """
    trial = _Trial(disagreement, runner, bounds, patience)
    if disagreement.phase == TRAIN:
        return _in_training(graph, disagreement, trial)
    tensors = bounds.evaluate(graph)
    return _in_graph(graph, disagreement.phase, trial, tensors) or Located(joined(graph), graph, disagreement)


@dataclass(frozen=True)
class _Shown:
    """What a part of the graph shows."""

    graph: Graph
    disagreement: Disagreement


@dataclass(frozen=True)
class _Trial:
    """Runs parts of a graph on the backend in question and finds what is wrong with each."""

    disagreement: Disagreement
    runner: Runner
    bounds: ReferenceBounds
    patience: Patience

    def __call__(self, graphs: Sequence[Graph], phase: str) -> Iterator[_Shown]:
        """The parts that show anything, in order, as far as there is time.

        What may end its process or never ends runs alone and as late as possible: a new process takes seconds.
        """
        at_once = 1 if self.disagreement.symptom in (Symptom.CRASH, Symptom.HANG) else max(len(graphs), 1)
        for start in range(0, len(graphs), at_once):
            if not self.patience.lasts():
                return
            yield from self._shown(graphs[start : start + at_once], phase)

    def same(self, one: Disagreement) -> bool:
        """Whether this is what was seen of the whole graph: the same symptom, of a crash the same error there."""
        return one.symptom is self.disagreement.symptom and _place(one.crash) == _place(self.disagreement.crash)

    def _shown(self, graphs: Sequence[Graph], phase: str) -> Iterator[_Shown]:
        needed = witnesses(self.disagreement.symptom, self.disagreement.backend)
        for graph, observed in zip(graphs, self.runner.run(graphs, phase, needed), strict=True):
            for one in judge(graph, phase, observed, self.bounds).alike(self.disagreement.symptom)[:1]:
                yield _Shown(graph, one)


def _place(crash: Crash | None) -> tuple[str, str] | None:
    return None if crash is None else (crash.error, crash.where)


def _in_graph(graph: Graph, phase: str, trial: _Trial, tensors: Tensors) -> Located | None:
    """The node, or the neighbours, that show the same; else the first node with anything, to which it may have led."""
    nodes = graph.nodes[::-1] if phase == GRADIENT else graph.nodes
    others: list[_Shown] = []
    for shown in trial([subgraph(graph, {node.name}, tensors) for node in nodes], phase):
        if trial.same(shown.disagreement):
            return _located(shown)
        others.append(shown)
    together = _fused(graph, phase, trial, tensors)
    if together is not None:
        return together
    alike = [shown for shown in others if shown.disagreement.symptom is trial.disagreement.symptom]
    return next((_located(shown) for shown in [*alike, *others]), None)


def _located(shown: _Shown) -> Located:
    return Located(joined(shown.graph), shown.graph, shown.disagreement)


def joined(graph: Graph) -> str:
    """The operators of a part that is guilty as a whole."""
    return "+".join(node.operator for node in graph.nodes)


def _first(parts: Sequence[Graph], phase: str, trial: _Trial) -> _Shown | None:
    """The first part that shows the same."""
    return next((shown for shown in trial(parts, phase) if trial.same(shown.disagreement)), None)


def _fused(graph: Graph, phase: str, trial: _Trial, tensors: Tensors) -> Located | None:
    """The shortest beginning of the graph that is wrong, and of that the shortest end."""
    beginnings = [
        replace(subgraph(graph, ancestors(graph, node.name), tensors), outputs=(node.name,)) for node in graph.nodes
    ]
    beginning = _first(beginnings, phase, trial)
    if beginning is None:
        return None
    names = [node.name for node in beginning.graph.nodes]
    ends = [subgraph(beginning.graph, names[start:], tensors) for start in range(len(names) - 1, -1, -1)]
    return _located(_first(ends, phase, trial) or beginning)


def _in_training(graph: Graph, disagreement: Disagreement, trial: _Trial) -> Located:
    """A node whose gradient is wrong or that cannot be trained, else the loss, the penalty or the optimiser."""
    training = graph.training
    if training is None:
        raise ValueError("only a graph with a training can be wrong in it")
    untrained = graph.without_training()
    tensors = trial.bounds.evaluate(untrained)
    plain = replace(with_gradient_descent(training), steps=1)
    found = _in_graph(untrained, GRADIENT, _as_gradient(trial), tensors)
    if disagreement.symptom in (Symptom.CRASH, Symptom.HANG) and not (found and trial.same(found.disagreement)):
        found = _untrainable(untrained, plain, trial, tensors) or found
    if found is not None:
        return found
    names = [f"loss.{training.loss}", f"penalty.{training.penalty}", f"optimiser.{training.optimiser}"]
    parts = [replace(graph, training=replace(plain, penalty="none")), replace(graph, training=plain), graph]
    for name, part in zip(names, parts, strict=True):
        for shown in trial([part], TRAIN):
            return Located(name, part, shown.disagreement)
    return Located(names[-1], graph, disagreement)


def _untrainable(untrained: Graph, plain: Training, trial: _Trial, tensors: Tensors) -> Located | None:
    """The node that fails with the plainest training, if what it does not expect is an input without a gradient."""
    simplest = replace(plain, loss="mse", penalty="none")
    parts = [trained(simplest, subgraph(untrained, {node.name}, tensors)) for node in untrained.nodes]
    shown = _first([part for part in parts if is_valid(part)], TRAIN, trial)
    return None if shown is None else _located(shown)


def _as_gradient(trial: _Trial) -> _Trial:
    """The same question where a wrong gradient may have led to wrong parameters."""
    if trial.disagreement.symptom is not Symptom.TRAINING:
        return trial
    return replace(trial, disagreement=replace(trial.disagreement, symptom=Symptom.GRADIENT))
