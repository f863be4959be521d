"""From settings to a campaign over frameworks, ready to run."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil
import torch

from jostle.campaign import Budget, Campaign
from jostle.frameworks.campaign.examiner import Examiner
from jostle.frameworks.campaign.feedback import LibraryCoverage, RaisedInconsistency
from jostle.frameworks.campaign.graph_store import GraphStore, graph_number
from jostle.frameworks.campaign.mutator import Edits, Plan
from jostle.frameworks.campaign.options import FrameworkSettings
from jostle.frameworks.campaign.oracle import BackendAgrees
from jostle.frameworks.campaign.scheduler import SeedScores
from jostle.frameworks.campaign.seed_graphs import seed_graphs
from jostle.frameworks.campaign.target import BackendComparison
from jostle.frameworks.edits.all_edits import edits_with
from jostle.frameworks.judging.disagreement import Symptom
from jostle.frameworks.judging.known_issues import known_in
from jostle.frameworks.observations import REFERENCE
from jostle.frameworks.operators.all_operators import OPERATORS
from jostle.frameworks.strategies.catalogue import STRATEGIES
from jostle.frameworks.workers.backend_pool import BackendPool
from jostle.interfaces import Listener
from jostle.isolation.process import Limits
from jostle.records import NO_LABEL, History, Seeds, StepRecord
from jostle.storage.archive import Archive, open_archive
from jostle.storage.graph_files import GraphFiles
from jostle.storage.history import read_history
from jostle.storage.ownership import check_folder

GRAPHS = "graphs"  # where models stand in a campaign's folder
MEMORY_SHARE = 0.75  # of the machine's, for one backend


@dataclass(frozen=True)
class Assembled:
    """A campaign with all that a front end shows about it, and what finishes its findings."""

    settings: FrameworkSettings
    campaign: Campaign
    archive: Archive
    history: History | None
    seeds: Seeds
    panel: BackendPool
    examiner: Examiner
    graph_files: GraphFiles

    def release(self) -> None:
        """Ends all workers, and lets another process go on with the campaign."""
        self.panel.close()
        self.archive.release()


def assemble(
    settings: FrameworkSettings, listeners: Sequence[Listener] = (), starting: Callable[[], None] = lambda: None
) -> Assembled:
    """Loads, checks and wires everything; the output folder is touched only after all checks passed.

    `starting` is told when the models are read and backends start, which takes seconds.
    """
    known = known_in(Path(settings.known)) if settings.known else []
    operators = settings.operators or tuple(OPERATORS)
    graphs = seed_graphs(settings.models, operators, settings.seed)
    with ExitStack() as undone:
        panel = BackendPool(settings.places, limits_of(settings), line_coverage=settings.line_coverage)
        undone.callback(panel.close)
        starting()
        panel.open()
        drawn = hashlib.sha256(b"".join(graph.encoded for graph in graphs.values())).hexdigest()[:16]
        made = {"files": settings.contents(), "versions": panel.versions(), "models to begin from": drawn}
        identity = {**settings.bound(), **made}
        folder = settings.folder(identity)
        check_folder(folder, identity, settings.unbound())
        archive = open_archive(folder, identity, settings.unbound())
        undone.callback(archive.release)
        graph_files = GraphFiles(folder / GRAPHS, graph_number)
        store = GraphStore(graph_files.read)
        seeds = Seeds(store.put_all(list(graphs.values())), torch.full((len(graphs),), NO_LABEL), tuple(graphs))
        examiner = Examiner(panel, known)
        target = BackendComparison(store, panel, settings.phases, examiner, settings.sampled)
        plan, edits = Plan(), edits_with([OPERATORS[name] for name in operators])
        campaign = Campaign(
            target=target,
            mutator=Edits(edits, store, plan),
            feedbacks=[LibraryCoverage(), RaisedInconsistency()],
            oracles=_oracles(target, panel),
            scheduler=SeedScores(STRATEGIES[settings.strategy](list(edits)), plan, settings.weights, settings.order),
            seeds=seeds,
            budget=Budget(settings.budget, settings.executions, settings.findings),
            seed=settings.seed,
            batch=settings.batch,
            listeners=[partial(keep_graphs, store, graph_files), archive, *listeners, lambda record: target.forget()],
            full=lambda: settings.max_disk is not None and archive.used >= settings.max_disk,
        )
        history = read_history(archive.folder, seeds, archive.quarantine)
        undone.pop_all()
    return Assembled(settings, campaign, archive, history, seeds, panel, examiner, graph_files)


def limits_of(settings: FrameworkSettings) -> Limits:
    memory = settings.rss_limit or int(MEMORY_SHARE * psutil.virtual_memory().total)
    return Limits(settings.timeout, memory)


def _oracles(target: BackendComparison, panel: BackendPool) -> list[BackendAgrees]:
    """One for every backend and symptom, so that a frequent defect of one hides none of another."""
    backends = [name for name in panel.names if name != REFERENCE]
    return [BackendAgrees(backend, symptom, lambda: target.faults) for backend in backends for symptom in Symptom]


def keep_graphs(store: GraphStore, graph_files: GraphFiles, record: StepRecord) -> None:
    """Writes the graphs that a step kept or found, before its line is in the journal; the others are forgotten."""
    for number in record.kept.inputs.flatten().tolist():
        graph_files.write(number, store.get(number).encoded)
    for finding in (*record.findings, *record.flaky):
        number = int(finding.row.inputs.flatten()[0])
        graph_files.write(number, store.get(number).encoded, synced=True)
    store.forget()
