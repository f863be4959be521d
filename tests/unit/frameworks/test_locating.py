"""Which operator is guilty of a failure: found with few runs, once, and in bounded time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch

from frameworks_planted import InProcess, Planted, row_of, trained
from jostle.campaign import Budget, Campaign
from jostle.errors import Interrupted
from jostle.foreign import Crash, attempt
from jostle.frameworks.backends.program import GRADIENT, PREDICT, TRAIN
from jostle.frameworks.campaign.examiner import REFERENCE_BOUNDS, Examiner
from jostle.frameworks.campaign.graph_store import GraphStore
from jostle.frameworks.campaign.mutator import Edits, Plan
from jostle.frameworks.campaign.scheduler import SeedScores, Weights
from jostle.frameworks.campaign.target import BackendComparison, Fault
from jostle.frameworks.edits.all_edits import edits_with
from jostle.frameworks.graph import INPUT, PARAMETER, Graph, Leaf, Node
from jostle.frameworks.judging.compare import judge
from jostle.frameworks.judging.disagreement import Disagreement, Symptom
from jostle.frameworks.judging.known_issues import KnownIssue
from jostle.frameworks.judging.locate import DEATHS, Patience, Unlocated, locate
from jostle.frameworks.observations import REFERENCE, Observation, Status
from jostle.frameworks.operators.all_operators import OPERATORS
from jostle.frameworks.reduction.reduce import reduce
from jostle.frameworks.strategies.all_strategies import UniformEdits
from jostle.records import NO_LABEL, Outcome, Seeds

FAILING = Planted(wrong=(("sin", lambda call: "1 / 0"),))


@dataclass(frozen=True)
class Watched:
    """Counts how many parts ran on the backend under test; models of an operator may end its process."""

    planted: Planted = FAILING
    deadly: str = ""
    also_deadly: str = ""
    parts: list[Graph] = field(default_factory=list)
    batches: list[int] = field(default_factory=list)
    names: tuple[str, ...] = (REFERENCE, "torch")

    def run(
        self, graphs: Sequence[Graph], phase: str, backends: Sequence[str] | None = None
    ) -> list[dict[str, Observation]]:
        self.parts.extend(graphs)
        self.batches.append(len(graphs))
        observed = InProcess({"torch": self.planted}).run(graphs, phase, backends)
        return [one | self._death(graph) for graph, one in zip(graphs, observed, strict=True)]

    def _death(self, graph: Graph) -> dict[str, Observation]:
        if not {self.deadly, self.also_deadly} & {node.operator for node in graph.nodes}:
            return {}
        crash = Crash("SIGSEGV", "ended the process", "", "", fatal=True)
        return {"torch": Observation(Status.CRASHED, crash=crash)}


def examined(examiner: Examiner, runner: Watched, graph: Graph, phase: str = PREDICT) -> Sequence[Fault]:
    (observed,) = runner.run([graph], phase)
    runner.parts.clear()
    return examiner(graph, phase, observed).faults


def test_a_failure_of_another_operator_with_the_same_error_is_another_defect() -> None:
    """However often the first one was met: the place in a framework's own Python is the same for many operators."""
    runner = Watched(Planted(wrong=(("sin", lambda call: "1 / 0"), ("exp", lambda call: "1 / 0"))))
    examiner = Examiner(runner, [])
    (first,) = examined(examiner, runner, row_of("abs", "sin"))
    (second,) = examined(examiner, runner, row_of("exp", "tanh", "sin"))
    assert (first.signature.operator, second.signature.operator) == ("sin", "exp")


def test_another_process_that_ends_is_another_defect_of_a_model_that_holds_the_first() -> None:
    runner = Watched(deadly="exp")
    known = [KnownIssue("torch predict crash exp *", "ends the process")]
    (fault,) = examined(Examiner(runner, known, report_known=True), runner, row_of("abs", "exp"))
    assert fault.known
    both = Watched(deadly="exp", also_deadly="sin")
    (fault,) = examined(Examiner(both, known), both, row_of("exp", "sin"))
    assert fault.signature.operator == "sin"


def test_a_known_wrong_result_does_not_hide_another_in_the_same_model() -> None:
    wrong = tuple((name, lambda call, name=name: f"torch.{name}({call[0]}) * 1.1") for name in ("sin", "exp"))
    runner = Watched(Planted(wrong=wrong))
    examiner = Examiner(runner, [KnownIssue("torch predict values sin *", "a tenth too much")])
    (fault,) = examined(examiner, runner, row_of("sin", "exp"))
    assert fault.signature.operator == "exp"
    assert not examined(examiner, runner, row_of("sin", "abs"))


def test_all_operators_of_a_model_that_are_wrong_are_found_each_once() -> None:
    wrong = tuple((name, lambda call, name=name: f"torch.{name}({call[0]}) * 1.1") for name in ("sin", "exp"))
    runner = Watched(Planted(wrong=wrong))
    faults = examined(Examiner(runner, []), runner, row_of("sin", "abs", "exp", "sin"))
    assert [fault.signature.operator for fault in faults] == ["sin", "exp"]
    assert [fault.part.nodes[0].name for fault in faults] == ["n0", "n2"]


def test_a_failure_with_another_error_is_located() -> None:
    runner = Watched(deadly="exp")
    examiner = Examiner(runner, [])
    examined(examiner, runner, row_of("sin", "tanh"))
    (fault,) = examined(examiner, runner, row_of("sin", "exp"))
    assert fault.signature.operator == "exp"


def test_a_wrong_result_is_located_in_every_model() -> None:
    runner = Watched(Planted(wrong=(("sin", lambda call: f"torch.sin({call[0]}) * 1.1"),)))
    examiner = Examiner(runner, [])
    for graph in (row_of("abs", "sin"), row_of("sin", "abs")):
        (fault,) = examined(examiner, runner, graph)
        assert fault.signature.operator == "sin" and len(runner.parts) == 2


def test_a_finding_that_is_looked_at_once_more_is_not_located_again() -> None:
    runner = Watched(Planted(wrong=(("sin", lambda call: f"torch.sin({call[0]}) * 1.1"),)))
    examiner, graph = Examiner(runner, []), row_of("abs", "sin")
    examined(examiner, runner, graph)
    examined(examiner, runner, graph)
    assert not runner.parts
    examiner.forget()
    examined(examiner, runner, graph)
    assert runner.parts


def test_the_operator_that_a_known_error_names_is_looked_at_first() -> None:
    runner = Watched()
    known = [KnownIssue("torch predict crash sin * ZeroDivisionError@*", "divides by 0")]
    examiner = Examiner(runner, known)
    assert not examined(examiner, runner, row_of("abs", "tanh", "sin"))
    assert [node.operator for part in runner.parts for node in part.nodes] == ["sin"]
    assert examiner.known_seen == 1
    (fault,) = examined(Examiner(runner, known, report_known=True), runner, row_of("abs", "sin"))
    assert fault.known == known[0]


def test_a_known_error_of_an_operator_that_does_not_raise_it_here_is_another_ones() -> None:
    runner = Watched()
    examiner = Examiner(runner, [KnownIssue("torch predict crash abs * ZeroDivisionError@*", "divides by 0")])
    (fault,) = examined(examiner, runner, row_of("abs", "sin"))
    assert fault.signature.operator == "sin"


def test_what_is_known_by_its_operator_alone_is_known_when_that_is_guilty() -> None:
    runner = Watched(deadly="exp")
    examiner = Examiner(runner, [KnownIssue("torch predict crash sin *", "whatever it raises")])
    assert not examined(examiner, runner, row_of("abs", "sin"))
    (fault,) = examined(examiner, runner, row_of("sin", "exp"))
    assert fault.signature.operator == "exp"


def test_a_part_that_ends_its_process_is_run_once() -> None:
    runner = Watched(deadly="exp")
    (fault,) = examined(Examiner(runner, []), runner, row_of("abs", "exp", "tanh", "exp", "sin"))
    deaths = [one for one in runner.parts if "exp" in [node.operator for node in one.nodes]]
    assert fault.signature.operator == "exp" and len(deaths) == 1


@pytest.mark.parametrize("patience", [Patience(parts=1), Patience(deaths=0)])
def test_a_location_without_patience_names_the_whole_model(patience: Patience) -> None:
    runner, graph = Watched(), row_of("abs", "sin")
    (observed,) = runner.run([graph], PREDICT)
    (found,) = judge(graph, PREDICT, observed, REFERENCE_BOUNDS).found
    (located,) = locate(graph, found, runner, REFERENCE_BOUNDS, patience)
    assert (located.operator, located.graph) == ("abs+sin", graph)


def test_a_training_that_there_is_no_patience_to_look_into_is_not_called_its_optimisers() -> None:
    runner, graph = Watched(), trained(row_of("sin"), np.random.default_rng(0))
    found = Disagreement("torch", TRAIN, Symptom.TRAINING, "loss")
    (located,) = locate(graph, found, runner, REFERENCE_BOUNDS, Patience(parts=0))
    assert (located.operator, located.graph) == ("sin", graph)


def test_a_location_counts_the_parts_that_end_their_process() -> None:
    runner, graph = Watched(deadly="exp"), row_of(*["exp"] * 9)
    (observed,) = runner.run([graph], PREDICT)
    runner.parts.clear()
    (found,) = judge(graph, PREDICT, observed, REFERENCE_BOUNDS).found
    locate(graph, found, runner, REFERENCE_BOUNDS, Patience(), lambda located: True)
    assert len(runner.parts) == DEATHS


def test_wrong_results_are_looked_for_in_a_few_parts_at_once_and_alone_on_a_slow_backend() -> None:
    wrong = Planted(wrong=(("sin", lambda call: f"torch.sin({call[0]}) * 1.1"),))
    graph, found = row_of(*["abs"] * 11, "sin"), Disagreement("torch", PREDICT, Symptom.VALUES, "n11")
    sizes = {}
    for patience in (Patience(), Patience.with_slow_backend(lambda: False)):
        runner = Watched(wrong)
        assert [one.operator for one in locate(graph, found, runner, REFERENCE_BOUNDS, patience)] == ["sin"]
        sizes[patience.at_once] = runner.batches
    assert sizes == {8: [8, 4], 1: [1] * 12}


def test_a_crash_of_training_is_told_by_its_operator_and_not_by_the_loss() -> None:
    rng = np.random.default_rng(0)
    weight = Leaf(PARAMETER, np.ones(2, np.float32))
    nodes = (Node("a", "mul", ("x", "w")), Node("b", "sin", ("a",)), Node("y", "abs", ("b",)))
    model = Graph({"x": Leaf(INPUT, np.ones(2, np.float32)), "w": weight}, nodes, ("y",))
    runner = OnlyInTraining()
    graph = trained(model, rng)
    (observed,) = runner.run([graph], TRAIN)
    (found,) = judge(graph, TRAIN, observed, REFERENCE_BOUNDS).found
    (located,) = locate(graph, found, runner, REFERENCE_BOUNDS, Patience())
    assert located.operator == "sin" and located.disagreement.phase == TRAIN


class OnlyInTraining:
    """A framework whose sine fails where it is trained, and not where gradients of all inputs are asked for."""

    names = (REFERENCE, "torch")

    def run(
        self, graphs: Sequence[Graph], phase: str, backends: Sequence[str] | None = None
    ) -> list[dict[str, Observation]]:
        planted = FAILING if phase == TRAIN else Planted()
        return InProcess({"torch": planted}).run(graphs, phase, backends)


def test_a_message_is_told_without_lines_that_only_name_places() -> None:
    def fails(message: str) -> Crash:
        def raising() -> None:
            raise RuntimeError(message)

        crash = attempt(raising)
        assert isinstance(crash, Crash)
        return crash

    place = "Exception from src/inference/src/cpp/core.cpp:105:"
    check = "Check 'false' failed at src/frontends/common_translators/src/unconverted_ops_report.cpp:151:"
    assert fails(f"{place}\n{check}\n\nModel wasn't fully converted.\nMore").message == "Model wasn't fully converted."
    assert fails(place).message == place
    assert fails("one\ntwo").message == "one"


def test_a_reduction_looks_at_the_time_between_the_models_that_it_asks_for() -> None:
    asked: list[Graph] = []

    def shows_many(graphs: Sequence[Graph]) -> list[bool]:
        asked.extend(graphs)
        return [True] * len(graphs)

    graph = row_of("abs", "sin", "tanh", "exp")
    late = reduce(graph, shows_many, REFERENCE_BOUNDS.evaluate, lambda: len(asked) >= 2, at_once=1)
    assert len(asked) == 2 and len(late.nodes) < len(graph.nodes)


def store_of(*graphs: Graph) -> tuple[GraphStore, Seeds]:
    store = GraphStore(lambda number: b"")
    numbers = store.put_all(list(graphs))
    return store, Seeds(numbers, torch.full((len(graphs),), NO_LABEL), tuple(map(str, range(len(graphs)))))


def test_a_model_whose_guilty_operator_there_is_no_time_to_find_is_left_as_if_it_had_not_run() -> None:
    store, seeds = store_of(row_of("abs", "sin"), row_of("abs", "tanh"))
    runner = Watched()
    target = BackendComparison(store, runner, [PREDICT], Examiner(runner, []), {})
    target.ask_between_rows(lambda: True)
    trace = target.run(seeds.as_candidates())
    assert trace.outcome.tolist() == [Outcome.SKIPPED, Outcome.OK]
    assert not any(target.faults.values())
    target.ask_between_rows(lambda: False)
    assert target.run(seeds.as_candidates()).ran.all()


def test_a_model_that_fails_as_is_known_is_nobodys_parent() -> None:
    store, seeds = store_of(row_of("abs", "exp"), row_of("abs", "tanh"))
    runner = Watched(deadly="exp")
    known = [KnownIssue("torch predict crash exp *", "ends the process")]
    trace = BackendComparison(store, runner, [PREDICT], Examiner(runner, known), {}).run(seeds.as_candidates())
    assert trace.outcome.tolist() == [Outcome.CRASHED, Outcome.OK] and not trace.crashes[0].fatal


def test_a_known_defect_in_one_phase_does_not_hide_another_of_the_same_symptom() -> None:
    store, seeds = store_of(row_of("sin"))
    runner = Watched(Planted(wrong=(("sin", lambda call: "1 / 0"),)))
    known = [KnownIssue("torch predict crash sin *", "divides by 0")]
    examiner = Examiner(runner, known, report_known=True)
    target = BackendComparison(store, runner, [PREDICT, GRADIENT], examiner, {})
    target.run(seeds.as_candidates())
    (faults,) = target.faults.values()
    assert [(fault.disagreement.phase, fault.known is None) for fault in faults] == [(GRADIENT, True), (PREDICT, False)]


def test_a_location_that_somebody_stops_is_left_at_once() -> None:
    runner = Watched()
    examiner = Examiner(runner, [])
    examiner.ask_between_parts(lambda: True)
    with pytest.raises(Unlocated):
        examined(examiner, runner, row_of("abs", "sin"))
    assert not runner.parts


def test_a_campaign_that_is_stopped_while_it_plants_ends_there() -> None:
    store, seeds = store_of(*(row_of("abs", "sin", *["tanh"] * count) for count in range(3)))
    runner, plan = Watched(), Plan()
    edits = edits_with([OPERATORS["abs"]])
    target = BackendComparison(store, runner, [PREDICT, GRADIENT], Examiner(runner, []), {})
    campaign = Campaign(
        target=target, mutator=Edits(edits, store, plan), feedbacks=[], oracles=[],
        scheduler=SeedScores(UniformEdits(list(edits)), plan, Weights()), seeds=seeds, budget=Budget(executions=9),
        batch=1, interruptible_beginning=True,
    )  # fmt: skip
    campaign.stop()
    with pytest.raises(Interrupted):
        campaign.run()
    assert not runner.parts
