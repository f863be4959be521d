"""The sweep in the loop: how many children are swept, which operators have their turn, and who is credited."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import pytest
import torch

from jostle.frameworks.campaign.feedback import INCONSISTENCY, numbers_of
from jostle.frameworks.campaign.graph_store import GraphStore
from jostle.frameworks.campaign.mutator import Edits, Plan
from jostle.frameworks.campaign.scheduler import SeedScores, Weights
from jostle.frameworks.campaign.seed_graphs import seed_graphs
from jostle.frameworks.campaign.sweep import AUTO, SWEEP, Sweep, SweptModel, share_of
from jostle.frameworks.edits.all_edits import edits_with
from jostle.frameworks.operators.all_operators import OPERATORS
from jostle.frameworks.strategies.strategy import Moves, Random
from jostle.frameworks.strategies.sweep_share import FINDING, EarnedShare, FixedShare, SweepShare, Worth
from jostle.lineage import Mutation
from jostle.mutations import Mutations
from jostle.records import LIBRARY, NO_LABEL, NO_PARENT, NO_TRACE, Candidates, Lesson, Outcome, Seeds, Trace

NAMES = ("conv", "relu", "softmax", "sum", "linear", "sort", "cast")
EDITED = ("negate weights",)


class Recorded:
    """A strategy that chooses one edit, and keeps what it learns."""

    def __init__(self) -> None:
        self.worth: Counter[Moves] = Counter()

    def choose(self, children: int, rng: Random) -> list[Moves]:
        return [EDITED] * children

    def learn(self, worth: Mapping[Moves, float]) -> None:
        for moves, value in worth.items():
            self.worth[moves] += value  # type: ignore[assignment]


class KeptShare:
    """A share that keeps what it is told."""

    def __init__(self, count: int):
        self._count = count
        self.told: list[object] = []

    def choose(self, children: int, rng: Random) -> int:
        return self._count

    def ran(self, swept: int, edited: object) -> None:
        self.told.append((swept, edited))

    def learn(self, worth: Worth) -> None:
        self.told.append(worth)


def seeds_in(store: GraphStore, *models: str) -> Seeds:
    graphs = seed_graphs(models, NAMES, 0)
    return Seeds(store.put_all(list(graphs.values())), torch.full((len(graphs),), NO_LABEL), tuple(graphs))


def lesson_of(kept: Candidates, gains: float, found: tuple[Mutation, ...] = ()) -> Lesson:
    count = len(kept)
    if not count:
        return Lesson(kept, torch.zeros(0, 2), NO_TRACE, found)
    metadata = {LIBRARY: numbers_of([["a"]] * count), INCONSISTENCY: torch.zeros(count, 1)}
    trace = Trace(torch.full((count,), Outcome.OK), {}, metadata=metadata)
    return Lesson(kept, torch.full((count, 2), gains), trace, found)


def made_by(rows: Candidates, mutations: list[Mutation]) -> Candidates:
    return Candidates(rows.inputs, rows.seeds, rows.parents, rows.roots, Mutations.of(mutations), rows.lineage)


def loop_of(share: SweepShare) -> tuple[SeedScores, Plan, Recorded, Seeds]:
    """A scheduler that has learned the models to begin from."""
    store, plan, strategy = GraphStore(lambda number: b""), Plan(), Recorded()
    seeds = seeds_in(store, "mlp", "attention")
    sweep = Sweep(NAMES, share, lambda number: len(store.get(number).nodes))
    scheduler = SeedScores(strategy, plan, Weights(), sweep=sweep)
    scheduler.learn(lesson_of(seeds.as_candidates(), 1.0))
    return scheduler, plan, strategy, seeds


def planned(scheduler: SeedScores, plan: Plan, seeds: Seeds, step: int, children: int = 8) -> list[Moves | SweptModel]:
    ids = scheduler.plan(len(seeds), children, torch.Generator().manual_seed(step))
    assert len(ids) == len(plan.children) == children
    return plan.children


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("children", [1, 3, 8])
def test_the_first_round_goes_through_all_operators_once(children: int, seed: int) -> None:
    scheduler, plan, _, seeds = loop_of(share_of(AUTO, NAMES))
    met: list[str] = []
    for step in range(-(-len(NAMES) // children)):
        made = planned(scheduler, plan, seeds, 100 * seed + step, children)
        met += [child.operator for child in made if isinstance(child, SweptModel)]
    assert sorted(met) == sorted(NAMES)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.35, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("children", [1, 3, 8])
def test_a_fixed_share_is_that_of_all_children_so_far(share: float, children: int) -> None:
    scheduler, plan, _, seeds = loop_of(FixedShare(share))
    swept: list[str] = []
    for step in range(50):
        made = planned(scheduler, plan, seeds, step, children)
        swept += [child.operator for child in made if isinstance(child, SweptModel)]
        assert abs(len(swept) - share * children * (step + 1)) < 0.51
    times = Counter(swept)
    assert not swept or max(times.values()) - min(times[name] for name in NAMES) <= 1


def played(seed: int, sweep_pays: float, edits_pay: float, steps: int = 150, nodes: int = 10) -> list[int]:
    """How many of 8 children were swept in each step after the first round, if so much comes of each kind."""
    share, rng, counts = EarnedShare(16), np.random.default_rng(seed), []
    for _ in range(steps):
        swept = share.choose(8, rng)
        share.ran(swept, [nodes] * (8 - swept))
        share.learn(Worth(float(rng.binomial(swept, sweep_pays)), float(rng.binomial(8 - swept, edits_pay))))
        counts.append(swept)
    assert counts[:2] == [8, 8]
    return counts[2:]


@pytest.mark.parametrize("seed", range(5))
def test_more_children_are_made_in_the_way_that_pays(seed: int) -> None:
    assert np.mean(played(seed, 0.4, 0.1)[50:]) > 6
    assert np.mean(played(seed, 0.1, 0.4)[50:]) < 2


@pytest.mark.parametrize("seed", range(5))
def test_the_way_that_pays_less_is_still_tried(seed: int) -> None:
    assert sum(played(seed, 0.4, 0.05)[50:]) < 8 * 98
    assert sum(played(seed, 0.05, 0.4)[50:]) > 0


@pytest.mark.parametrize("seed", range(5))
def test_what_pays_as_much_and_costs_more_nodes_is_chosen_less(seed: int) -> None:
    assert np.mean(played(seed, 0.3, 0.3, nodes=200)[50:]) > np.mean(played(seed, 0.3, 0.3, nodes=1)[50:]) + 1


@pytest.mark.parametrize("seed", range(3))
def test_choosing_and_learning_anew_leads_to_the_same_choices(seed: int) -> None:
    assert played(seed, 0.2, 0.2) == played(seed, 0.2, 0.2)
    assert played(seed, 0.2, 0.2) != played(seed + 10, 0.2, 0.2)


def test_a_child_costs_the_nodes_of_its_parent() -> None:
    share = KeptShare(3)
    scheduler, _, _, seeds = loop_of(share)
    scheduler.plan(len(seeds), 5, torch.Generator().manual_seed(0))
    graphs = [len(graph.nodes) for graph in seed_graphs(("mlp", "attention"), NAMES, 0).values()]
    swept, edited = share.told[-1]  # type: ignore[misc]
    assert swept == 3 and len(edited) == 2 and set(edited) <= set(graphs)


def test_what_a_swept_model_was_worth_is_credited_to_the_sweep_alone() -> None:
    share = KeptShare(1)
    scheduler, _, strategy, seeds = loop_of(share)
    assert share.told == [Worth(0.0, 0.0)]  # models to begin from are of neither
    strategy.worth.clear()
    rows = made_by(seeds.as_candidates(), [Mutation((SWEEP,)), Mutation(EDITED)])
    scheduler.learn(lesson_of(rows, 1.0, (Mutation((SWEEP,)), Mutation((SWEEP,)), Mutation(EDITED))))
    assert share.told[-1] == Worth(2 + 2 * FINDING, 2 + FINDING)
    assert strategy.worth == {EDITED: 3}


def test_a_swept_model_is_no_child_of_any_and_has_the_model_of_its_operator_as_root() -> None:
    store = GraphStore(lambda number: b"")
    seeds = seeds_in(store, "mlp", "operators")
    plan = Plan([SweptModel("softmax"), EDITED, SweptModel("conv")])
    parents = seeds.as_candidates().select(torch.zeros(3, dtype=torch.int64))
    parents = Candidates(parents.inputs, seeds, torch.zeros(3), parents.roots, parents.mutations, parents.lineage)
    edits = edits_with([OPERATORS[name] for name in NAMES])
    children = Edits(edits, store, plan).mutate(parents, torch.Generator().manual_seed(0))
    assert [str(one) for one in children.mutations] == [SWEEP, "negate weights", SWEEP]
    assert children.parents.tolist() == [NO_PARENT, 0, NO_PARENT]
    assert [seeds.names[root] for root in children.roots.tolist()] == ["softmax", "mlp", "conv"]
    assert [store.get(int(children.inputs[row, 0])).nodes[0].operator for row in (0, 2)] == ["softmax", "conv"]


def children_planned(times: int = 40) -> list[list[Moves | SweptModel]]:
    """Of a scheduler that learns of a defect after some steps."""
    scheduler, plan, _, seeds = loop_of(share_of(AUTO, NAMES))
    nothing = seeds.as_candidates().select(torch.empty(0, dtype=torch.int64))
    made = []
    for step in range(times):
        made.append(list(planned(scheduler, plan, seeds, step)))
        scheduler.learn(lesson_of(nothing, 0.0, (Mutation((SWEEP,)),) if step % 3 else ()))
    return made


def test_the_scheduler_plans_the_same_steps_from_the_same_lessons() -> None:
    made = children_planned()
    assert made == children_planned()
    assert {type(child) for step in made for child in step} == {SweptModel, tuple}
