"""A campaign over frameworks finds, locates and reduces bugs that were planted in one of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest
import torch

from jostle.campaign import Budget, Campaign
from jostle.foreign import Crash, attempt
from jostle.frameworks.backends.program import GRADIENT, PREDICT, TRAIN, arrays_of
from jostle.frameworks.backends.torch.programs import EAGER
from jostle.frameworks.campaign.examiner import REFERENCE_BOUNDS, Examiner
from jostle.frameworks.campaign.feedback import DefectsOfParents, LibraryCoverage, RaisedInconsistency
from jostle.frameworks.campaign.graph_store import GraphStore
from jostle.frameworks.campaign.mutator import Edits, Plan
from jostle.frameworks.campaign.oracle import BackendAgrees
from jostle.frameworks.campaign.scheduler import SeedScores, Weights
from jostle.frameworks.campaign.seed_graphs import seed_graphs
from jostle.frameworks.campaign.sweep import AUTO, Sweep, share_of
from jostle.frameworks.campaign.target import BackendComparison
from jostle.frameworks.edits.all_edits import edits_with
from jostle.frameworks.graph import Graph
from jostle.frameworks.judging.disagreement import Symptom
from jostle.frameworks.observations import REFERENCE, Observation, Status
from jostle.frameworks.operators.all_operators import OPERATORS
from jostle.frameworks.reduction.reduce import SameDefect, reduce
from jostle.frameworks.reference.run import result
from jostle.frameworks.strategies.all_strategies import Greedy
from jostle.graph_signature import parse
from jostle.records import NO_LABEL, Finding, Seeds

Switch = Callable[[str], str]  # a program of torch to the same with a bug
VOCABULARY = ("conv", "relu", "sin", "cast", "dropout", "linear", "add", "mul", "tanh", "reshape")


@dataclass(frozen=True)
class WrongTorch:
    """Torch with a bug behind a switch, in this process."""

    switch: Switch
    names: tuple[str, ...] = (REFERENCE, "torch")

    def run(
        self, graphs: Sequence[Graph], phase: str, backends: Sequence[str] | None = None
    ) -> list[dict[str, Observation]]:
        return [{name: self._observed(name, graph, phase) for name in backends or self.names} for graph in graphs]

    def _observed(self, name: str, graph: Graph, phase: str) -> Observation:
        ran = attempt(lambda: result(graph, phase) if name == REFERENCE else self._result(graph, phase))
        if not isinstance(ran, Crash):
            return Observation(Status.OK, ran)
        told = {"Undefined": Status.UNDEFINED, "Unsupported": Status.UNSUPPORTED}.get(ran.error, Status.CRASHED)
        return Observation(told, crash=ran)

    def _result(self, graph: Graph, phase: str) -> dict[str, object]:
        namespace: dict[str, object] = dict(arrays_of(graph, phase))
        exec(self.switch(EAGER.program(graph, phase)), namespace)
        return namespace["result"]  # type: ignore[return-value]


def campaign_of(
    runner: WrongTorch,
    phase: str,
    models: Sequence[str],
    seed: int,
    executions: int,
    findings: int | None = None,
    sweep: float | str = AUTO,
) -> tuple[Campaign, GraphStore]:
    store, plan = GraphStore(lambda number: b""), Plan()
    graphs = seed_graphs(models, VOCABULARY, seed)
    edits = edits_with([OPERATORS[name] for name in VOCABULARY])
    target = BackendComparison(store, runner, [phase], Examiner(runner, []), {})
    swept = Sweep(VOCABULARY, share_of(sweep, VOCABULARY), lambda number: len(store.get(number).nodes))
    defects = DefectsOfParents()
    campaign = Campaign(
        target=target,
        mutator=Edits(edits, store, plan),
        feedbacks=[LibraryCoverage(), RaisedInconsistency(), defects],
        oracles=[BackendAgrees("torch", symptom, lambda: target.faults, defects.knows) for symptom in Symptom],
        scheduler=SeedScores(Greedy(list(edits)), plan, Weights(), sweep=swept),
        seeds=Seeds(store.put_all(list(graphs.values())), torch.full((len(graphs),), NO_LABEL), tuple(graphs)),
        budget=Budget(executions=executions, findings=findings),
        seed=seed,
        batch=8,
    )
    return campaign, store


def findings_of(campaign: Campaign) -> list[Finding]:
    found: list[Finding] = []
    campaign.run(listeners=[lambda record: found.extend(record.findings)])
    return found


ENOUGH = {PREDICT: 800, GRADIENT: 250, TRAIN: 250}  # models


def replaced(pattern: str, by: str) -> Switch:
    return lambda program: re.sub(pattern, by, program)


PLANTED = {
    "wrong padding": (replaced(r"F\.pad\((\w+), \[(\d+), (\d+)", r"F.pad(\1, [\3, \2"), PREDICT, ("conv", "pad")),
    "wrong gradient": (
        replaced(r"torch\.sin\((\w+)\)", r"(torch.sin(\1).detach() + \1 - \1.detach())"),
        GRADIENT,
        "sin",
    ),
    "swallowed dtype": (replaced(r"\.to\(torch\.float64\)", ".to(torch.float32)"), PREDICT, "cast"),
    "optimiser off by epsilon": (replaced(r"eps=[^,)]+", "eps=0.05"), TRAIN, "optimiser."),
    "dropout scale": (replaced(r" / \(1 - 0\.\d+\)", ""), PREDICT, "dropout"),
}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0])
@pytest.mark.parametrize("bug", sorted(PLANTED))
def test_a_planted_bug_is_found_located_and_reduced(bug: str, seed: int) -> None:
    switch, phase, guilty = PLANTED[bug]
    runner = WrongTorch(switch)
    campaign, store = campaign_of(runner, phase, ("mlp", "attention", "operators"), seed, ENOUGH[phase], findings=1)
    found = findings_of(campaign)
    signatures = [parse(finding.violation.details["signature"]) for finding in found]
    right = [number for number, one in enumerate(signatures) if one.operator.startswith(guilty)]
    assert right, [one.text for one in signatures]
    finding, signature = found[right[0]], signatures[right[0]]
    graph = store.get(int(finding.row.inputs.flatten()[0]))
    graph = graph if signature.phase == TRAIN else graph.without_training()
    small = reduce(
        graph, SameDefect(signature, runner, REFERENCE_BOUNDS), REFERENCE_BOUNDS.evaluate, late=lambda: False
    )
    assert len(small.nodes) <= 3


def models_until_found(bug: str, seed: int, sweep: float | str, most: int) -> int:
    """How many models run until the bug is found, in a campaign that begins from a network without its operator."""
    switch, phase, _ = PLANTED[bug]
    campaign, _ = campaign_of(WrongTorch(switch), phase, ("mlp",), seed, most, findings=1, sweep=sweep)
    return campaign.run().executions


@pytest.mark.slow
def test_the_sweep_finds_a_planted_bug_sooner_than_edits_do() -> None:
    swept, edited = (
        [models_until_found("swallowed dtype", seed, sweep, most=400) for seed in range(10)] for sweep in (AUTO, 0.0)
    )
    assert sum(swept) < sum(edited) / 2, (swept, edited)


@pytest.mark.parametrize("phase", [PREDICT, GRADIENT, TRAIN])
def test_without_a_bug_there_is_nothing_to_find(phase: str) -> None:
    campaign, _ = campaign_of(WrongTorch(lambda program: program), phase, ("mlp", "operators"), 0, 100)
    assert [one.violation.summary for one in findings_of(campaign)] == []


def test_every_model_to_begin_from_is_judged_and_those_that_fail_are_not_mutated() -> None:
    failing = WrongTorch(lambda program: f"{program}\n1 / 0")
    campaign, _ = campaign_of(failing, PREDICT, ("operators",), 0, executions=len(VOCABULARY))
    found = findings_of(campaign)
    assert len(campaign.corpus) == 0
    assert {one.violation.details["operator"] for one in found} == set(VOCABULARY)
