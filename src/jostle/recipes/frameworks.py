"""Fuzzing of frameworks: models as inputs, edited, run on every backend, and judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from jostle.campaign import Budget, Campaign
from jostle.composition.compose import budget_of
from jostle.frameworks.campaign.feedback import DefectsOfParents, LibraryCoverage, RaisedInconsistency
from jostle.frameworks.campaign.graph_store import GraphStore
from jostle.frameworks.campaign.mutator import Edits, Plan
from jostle.frameworks.campaign.options import FrameworkOptions
from jostle.frameworks.campaign.oracle import BackendAgrees
from jostle.frameworks.campaign.scheduler import SeedScores
from jostle.frameworks.campaign.sweep import Sweep, share_of
from jostle.frameworks.campaign.target import BackendComparison, Examine
from jostle.frameworks.edits.all_edits import edits_with
from jostle.frameworks.graph import Graph
from jostle.frameworks.judging.disagreement import Symptom
from jostle.frameworks.observations import REFERENCE
from jostle.frameworks.operators.all_operators import OPERATORS
from jostle.frameworks.strategies.all_strategies import EDIT_STRATEGIES
from jostle.frameworks.workers.backend_pool import BackendPool
from jostle.interfaces import Crew
from jostle.options.campaign import RunOptions
from jostle.options.schema import Settings
from jostle.records import NO_LABEL, Seeds, Share


@dataclass(frozen=True)
class FrameworkCampaign:
    """A campaign over frameworks, its seeds, and its target, which keeps results until told to forget them."""

    campaign: Campaign
    target: BackendComparison
    seeds: Seeds


def frameworks(
    backends: BackendPool,
    examine: Examine,
    store: GraphStore,
    graphs: dict[str, Graph],
    settings: Settings,
    crew: Callable[[Seeds], Crew | None] = lambda seeds: None,
    share: Share | None = None,
) -> FrameworkCampaign:
    """Edits of models, and new models of one operator, guided by what worked in the libraries and by inconsistency.

    With `--no-mutation` it ends when all models have run. A `crew` does the campaign's steps; with a `share`, it is
    itself what one worker of a crew runs.
    """
    options, seeds = settings[FrameworkOptions], graph_seeds(store, graphs)
    target = BackendComparison(store, backends, options.phases, examine, options.sampled)
    operators = options.operators or tuple(OPERATORS)
    plan, edits = Plan(), edits_with([OPERATORS[name] for name in operators])
    strategy = EDIT_STRATEGIES[options.strategy](list(edits))
    worker = share.worker if share else 0
    sweep = Sweep(operators, share_of(options.sweep, operators), lambda number: len(store.get(number).nodes), worker)
    defects = DefectsOfParents()
    campaign = Campaign(
        target=target,
        mutator=Edits(edits, store, plan),
        feedbacks=[LibraryCoverage(), RaisedInconsistency(), defects],
        oracles=_oracles(target, backends, defects),
        scheduler=SeedScores(strategy, plan, options.weights, options.order, sweep),
        seeds=seeds,
        budget=frameworks_budget(settings, len(graphs)),
        seed=settings[RunOptions].seed,
        batch=options.batch,
        share=share,
        crew=crew(seeds),
        interruptible_beginning=True,  # one model may end the processes of several frameworks, which takes minutes
    )
    return FrameworkCampaign(campaign, target, seeds)


def frameworks_budget(settings: Settings, graphs: int) -> Budget:
    """What the user gave; without mutation, all graphs run once."""
    return Budget(executions=graphs) if settings[FrameworkOptions].no_mutation else budget_of(settings)


def graph_seeds(store: GraphStore, graphs: dict[str, Graph]) -> Seeds:
    """Models to begin from, as the loop knows them."""
    return Seeds(store.put_all(list(graphs.values())), torch.full((len(graphs),), NO_LABEL), tuple(graphs))


def _oracles(target: BackendComparison, backends: BackendPool, defects: DefectsOfParents) -> list[BackendAgrees]:
    """One for every backend and symptom, so that a frequent defect of one hides none of another."""
    names = [name for name in backends.names if name != REFERENCE]
    return [
        BackendAgrees(backend, symptom, lambda: target.faults, defects.knows)
        for backend in names
        for symptom in Symptom
    ]
