"""Models that show a defect are mutated too, once for each defect, and no defect hides another in the same model."""

from __future__ import annotations

import torch

from frameworks_planted import InProcess, Planted, row_of
from jostle.campaign import Budget, Campaign
from jostle.frameworks.backends.program import PREDICT
from jostle.frameworks.campaign.examiner import Examiner
from jostle.frameworks.campaign.feedback import INCONSISTENCY, DefectsOfParents, LibraryCoverage, RaisedInconsistency
from jostle.frameworks.campaign.graph_store import GraphStore
from jostle.frameworks.campaign.mutator import Edits, Plan
from jostle.frameworks.campaign.oracle import BackendAgrees
from jostle.frameworks.campaign.scheduler import SeedScores, Weights
from jostle.frameworks.campaign.target import BackendComparison
from jostle.frameworks.edits.all_edits import edits_with
from jostle.frameworks.graph import Graph
from jostle.frameworks.judging.disagreement import Symptom
from jostle.frameworks.operators.all_operators import OPERATORS
from jostle.frameworks.strategies.all_strategies import UniformEdits
from jostle.records import NO_LABEL, Seeds, Verdicts

WRONG = Planted(
    wrong=tuple((name, lambda call, name=name: f"torch.{name}({call[0]}) * 1.1") for name in ("sin", "exp"))
)
RAISING = Planted(wrong=(("sin", lambda call: "1 / 0"),))


class Loop:
    """The parts of a campaign over one framework with bugs."""

    def __init__(self, framework: Planted, *graphs: Graph):
        runner, self.plan = InProcess({"torch": framework}), Plan()
        self.store = GraphStore(lambda number: b"")
        self.target = BackendComparison(self.store, runner, [PREDICT], Examiner(runner, []), {})
        self.defects = DefectsOfParents()
        self.oracles = {
            symptom: BackendAgrees("torch", symptom, lambda: self.target.faults, self.defects.knows)
            for symptom in Symptom
        }
        self.seeds = self.seeds_of(*graphs)

    def seeds_of(self, *graphs: Graph) -> Seeds:
        names = tuple(map(str, range(len(graphs))))
        return Seeds(self.store.put_all(list(graphs)), torch.full((len(graphs),), NO_LABEL), names)

    def said(self, symptom: Symptom, *graphs: Graph) -> Verdicts:
        rows = self.seeds_of(*graphs).as_candidates()
        trace = self.target.run(rows)
        verdicts = self.oracles[symptom].judge(rows, trace)
        self.trace = trace
        return verdicts

    def operators(self, verdicts: Verdicts, rows: int) -> list[str]:
        return [str(verdicts.describe(row).details["operator"]) for row in range(rows)]

    def campaign(self, executions: int) -> Campaign:
        every_edit = edits_with([OPERATORS["abs"], OPERATORS["tanh"]])
        edits = {name: every_edit[name] for name in ("add layer", "copy layer", "delete layer", "redraw input")}
        return Campaign(
            target=self.target,
            mutator=Edits(edits, self.store, self.plan),
            feedbacks=[LibraryCoverage(), RaisedInconsistency(), self.defects],
            oracles=list(self.oracles.values()),
            scheduler=SeedScores(UniformEdits(list(edits)), self.plan, Weights()),
            seeds=self.seeds,
            budget=Budget(executions=executions),
            batch=4,
        )


def test_a_model_with_a_defect_that_no_parent_shows_may_be_a_parent() -> None:
    loop = Loop(WRONG)
    verdicts = loop.said(Symptom.VALUES, row_of("sin"), row_of("abs"))
    assert verdicts.may_be_parents is not None and verdicts.may_be_parents[0]
    loop.defects.assess(loop.seeds.as_candidates(), loop.trace)
    again = loop.said(Symptom.VALUES, row_of("abs", "sin"), row_of("sin", "exp"))
    assert again.may_be_parents is not None and again.may_be_parents.tolist() == [False, True]


def test_a_defect_that_a_parent_shows_hides_no_other_in_the_same_model() -> None:
    loop = Loop(WRONG)
    for expected in ("sin", "exp"):
        assert loop.operators(loop.said(Symptom.VALUES, row_of("sin", "exp")), 1) == [expected]
        loop.defects.assess(loop.seeds.as_candidates(), loop.trace)
    again = loop.said(Symptom.VALUES, row_of("sin", "exp"), row_of("exp"))
    assert loop.operators(again, 2) == ["sin", "exp"]
    assert again.may_be_parents is not None and again.may_be_parents.tolist() == [False, False]


def test_a_model_that_fails_is_nobodys_parent() -> None:
    loop = Loop(RAISING)
    verdicts = loop.said(Symptom.CRASH, row_of("sin"))
    assert verdicts.may_be_parents is not None and not verdicts.may_be_parents[0]


def test_a_campaign_whose_only_model_shows_a_defect_goes_on_from_it_and_finds_the_defect_once() -> None:
    loop = Loop(WRONG, row_of("sin"))
    summary = loop.campaign(60).run()
    assert summary.executions == 60 and summary.findings == {"values": 1} and summary.corpus >= 1


def test_a_campaign_whose_only_model_fails_has_nothing_to_mutate() -> None:
    loop = Loop(RAISING, row_of("sin"))
    assert loop.campaign(60).run().executions == 1


def test_the_inconsistency_of_a_pair_is_the_same_whichever_backend_gets_a_sample() -> None:
    """A sample runs after all else, so what it gave stands last, wherever the user named its backend."""
    framework = Planted(wrong=(("sin", lambda call: f"torch.sin({call[0]}) * (1 + 1e-7)"),))
    runner = InProcess({"slow": framework, "torch": Planted()})
    measured = []
    for sampled in ({}, {"slow": 1}):
        store = GraphStore(lambda number: b"")
        seeds = Seeds(store.put_all([row_of("sin")]), torch.full((1,), NO_LABEL), ("0",))
        target = BackendComparison(store, runner, [PREDICT], Examiner(runner, []), sampled)
        measured.append(target.run(seeds.as_candidates()).metadata[INCONSISTENCY].tolist())
    assert measured[0] == measured[1] and max(measured[0][0]) > 0
