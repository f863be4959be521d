"""Which operators are guilty: nodes run alone on what the reference computes for their inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from jostle.foreign import Crash
from jostle.frameworks.backends.program import GRADIENT, TRAIN
from jostle.frameworks.graph import Graph, Training
from jostle.frameworks.judging.compare import judge
from jostle.frameworks.judging.disagreement import FAILURES, Disagreement, Symptom
from jostle.frameworks.judging.eager_twin import witnesses
from jostle.frameworks.judging.reference_bounds import ReferenceBounds
from jostle.frameworks.observations import Observation, Runner, Status
from jostle.frameworks.reduction.simplifications import is_valid, with_gradient_descent
from jostle.frameworks.reduction.subgraphs import Tensors, ancestors, subgraph, trained
from jostle.graph_signature import TOGETHER

# Parts that one location may run. Most take milliseconds; a slow backend compiles or exports each for seconds.
PARTS, SLOW_PARTS = 256, 32
AT_ONCE = 8  # parts between two looks at the time, of wrong results on a backend that is not slow
# Parts that may take their process with them or never end: each costs a start of the framework, 1 to 6 s, or the whole
# time of one model, and mostly the guilty node is the only one.
DEATHS = 4


class Unlocated(Exception):
    """The campaign's time was over before anybody knew which operator is guilty."""


@dataclass
class Patience:
    """How much one location may still run. It is counted, not timed: a busy machine names no other operator."""

    parts: int = PARTS
    at_once: int = AT_ONCE
    deaths: int = DEATHS
    enough: Callable[[], bool] = lambda: False  # whether the campaign's budget is spent; raises if somebody stops it
    thorough: bool = True  # all nodes that are wrong are wanted, and not only the first

    @staticmethod
    def with_slow_backend(enough: Callable[[], bool]) -> Patience:
        """For a backend that takes seconds for each part."""
        return Patience(SLOW_PARTS, 1, enough=enough, thorough=False)

    @property
    def exhausted(self) -> bool:
        return self.parts <= 0 or self.deaths <= 0

    def take(self, most: int) -> int:
        """How many of so many parts run next; Unlocated if it is the campaign that has no time."""
        if self.enough():
            raise Unlocated
        count = 0 if self.exhausted else min(most, self.at_once, self.parts)
        self.parts -= count
        return count


@dataclass(frozen=True)
class Located:
    """The smallest part of a graph that shows what is wrong."""

    operator: str  # or several joined by +, or a part of the training: loss.mse, penalty.l1, optimiser.adam
    graph: Graph
    disagreement: Disagreement  # on that part


def locate(
    graph: Graph,
    disagreement: Disagreement,
    runner: Runner,
    bounds: ReferenceBounds,
    patience: Patience,
    is_known: Callable[[Located], bool] = lambda located: False,
) -> list[Located]:
    """The nodes, backwards for gradients, that are wrong alone, else the fewest neighbours that are together.

    All of the graph if patience is exhausted before, or no part shows anything. Of failures, and without thorough
    patience, it is one node, and one that is not known goes before one that is: so no defect hides another in the same
    model.
    """
    trial = _Trial(disagreement, runner, bounds, patience, is_known)
    if disagreement.phase == TRAIN:
        found = _in_training(graph, disagreement, trial)
    else:
        found = _in_graph(graph, disagreement.phase, trial, bounds.evaluate(graph))
    return found or [Located(joined(graph), graph, disagreement)]


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
    is_known: Callable[[Located], bool]

    def __call__(self, graphs: Sequence[Graph], phase: str) -> Iterator[_Shown]:
        """The parts that show anything, in order, as far as patience lasts.

        What may fail runs alone and as late as possible: a new process takes seconds.
        """
        at_once, start = 1 if self.disagreement.symptom in FAILURES else AT_ONCE, 0
        while start < len(graphs):
            count = self.patience.take(min(at_once, len(graphs) - start))
            if not count:
                return
            yield from self._shown(graphs[start : start + count], phase)
            start += count

    def same(self, one: Disagreement) -> bool:
        """Whether this is what was seen of the whole graph: the same symptom, of a crash the same error there."""
        return one.symptom is self.disagreement.symptom and _place(one.crash) == _place(self.disagreement.crash)

    @property
    def raised(self) -> bool:
        """Whether the whole graph ended in one exception, which only one node can have raised."""
        crash = self.disagreement.crash
        return crash is not None and not crash.fatal and self.disagreement.symptom is Symptom.CRASH

    @property
    def wants_all(self) -> bool:
        """Whether one guilty node does not end the search; each that fails costs the start of a framework."""
        return self.patience.thorough and self.disagreement.symptom not in FAILURES

    def known(self, shown: _Shown) -> bool:
        """Whether it is known what a part shows."""
        return self.is_known(_located(shown))

    def known_if_guilty(self, part: Graph, phase: str) -> bool:
        """Whether it would be known if this part showed what the whole graph did."""
        return self.known(_Shown(part, replace(self.disagreement, phase=phase)))

    def _shown(self, graphs: Sequence[Graph], phase: str) -> Iterator[_Shown]:
        needed = witnesses(self.disagreement.symptom, self.disagreement.backend)
        for graph, observed in zip(graphs, self.runner.run(graphs, phase, needed), strict=True):
            self.patience.deaths -= _ended_its_process(observed[self.disagreement.backend])
            for one in judge(graph, phase, observed, self.bounds).alike(self.disagreement.symptom)[:1]:
                yield _Shown(graph, one)


def _ended_its_process(one: Observation) -> bool:
    return one.status is Status.HUNG or (one.crash is not None and one.crash.fatal)


def _place(crash: Crash | None) -> tuple[str, str] | None:
    return None if crash is None else (crash.error, crash.where)


def _in_graph(graph: Graph, phase: str, trial: _Trial, tensors: Tensors) -> list[Located]:
    """The nodes, or the neighbours, that show the same; else the first node with anything, to which it may have led."""
    guilty: list[_Shown] = []
    others: list[_Shown] = []
    for shown in trial(_nodes_in_order(graph, phase, trial, tensors), phase):
        if not trial.same(shown.disagreement):
            others.append(shown)
        elif trial.wants_all or (not trial.raised and trial.known(shown)):
            guilty.append(shown)
        else:
            return [_located(shown)]
    if guilty:
        return [_located(shown) for shown in (guilty if trial.wants_all else guilty[:1])]
    together = _fused(graph, phase, trial, tensors)
    if together is not None or trial.patience.exhausted:
        return [] if together is None else [together]
    alike = [shown for shown in others if shown.disagreement.symptom is trial.disagreement.symptom]
    return [_located(shown) for shown in [*alike, *others][:1]]


def _nodes_in_order(graph: Graph, phase: str, trial: _Trial, tensors: Tensors) -> list[Graph]:
    """Each node alone; of an exception first those whose guilt would be known, which spares the others."""
    nodes = graph.nodes[::-1] if phase == GRADIENT else graph.nodes
    parts = [subgraph(graph, {node.name}, tensors) for node in nodes]
    return sorted(parts, key=lambda part: not trial.known_if_guilty(part, phase)) if trial.raised else parts


def _located(shown: _Shown) -> Located:
    return Located(joined(shown.graph), shown.graph, shown.disagreement)


def joined(graph: Graph) -> str:
    """The operators of a part that is guilty as a whole."""
    return TOGETHER.join(node.operator for node in graph.nodes)


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


def _in_training(graph: Graph, disagreement: Disagreement, trial: _Trial) -> list[Located]:
    """Nodes whose gradient is wrong or that cannot be trained, else the loss, the penalty or the optimiser."""
    training = graph.training
    if training is None:
        raise ValueError("only a graph with a training can be wrong in it")
    untrained = graph.without_training()
    tensors = trial.bounds.evaluate(untrained)
    plain = replace(with_gradient_descent(training), steps=1)
    found = _in_graph(untrained, GRADIENT, _as_gradient(trial), tensors)
    if disagreement.symptom in FAILURES and not (found and trial.same(found[0].disagreement)):
        found = _untrainable(untrained, plain, trial, tensors) or found
    if found:
        return found
    names = [f"loss.{training.loss}", f"penalty.{training.penalty}", f"optimiser.{training.optimiser}"]
    parts = [replace(graph, training=replace(plain, penalty="none")), replace(graph, training=plain), graph]
    for name, part in zip(names, parts, strict=True):
        for shown in trial([part], TRAIN):
            return [Located(name, part, shown.disagreement)]
    return []


def _untrainable(untrained: Graph, plain: Training, trial: _Trial, tensors: Tensors) -> list[Located]:
    """The node that fails with the plainest training, if what it does not expect is an input without a gradient."""
    simplest = replace(plain, loss="mse", penalty="none")
    parts = [trained(simplest, subgraph(untrained, {node.name}, tensors)) for node in untrained.nodes]
    shown = _first([part for part in parts if is_valid(part)], TRAIN, trial)
    return [] if shown is None else [_located(shown)]


def _as_gradient(trial: _Trial) -> _Trial:
    """The same question where a wrong gradient may have led to wrong parameters."""
    if trial.disagreement.symptom is not Symptom.TRAINING:
        return trial
    return replace(trial, disagreement=replace(trial.disagreement, symptom=Symptom.GRADIENT))
