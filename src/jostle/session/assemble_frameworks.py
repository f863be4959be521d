"""From options to a session of `jostle frameworks`, ready to run."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from jostle.composition.compose import budget_of
from jostle.frameworks.campaign.examiner import Examiner
from jostle.frameworks.campaign.graph_store import GraphStore, graph_number
from jostle.frameworks.campaign.options import FrameworkOptions
from jostle.frameworks.campaign.parts import parts_of
from jostle.frameworks.campaign.seed_graphs import ModelForm, read_models
from jostle.frameworks.graph import Graph
from jostle.frameworks.importing.onnx_inputs import GivenInputs
from jostle.frameworks.judging.known_issues import known_in, shipped
from jostle.frameworks.operators.all_operators import OPERATORS
from jostle.frameworks.reference.run import evaluate_anyhow
from jostle.frameworks.workers.backend_pool import BackendPool
from jostle.inputs.array_files import arrays_in
from jostle.interfaces import Crew, Listener
from jostle.isolation.process import Limits, most_memory
from jostle.options.campaign import RunOptions
from jostle.options.resources import BudgetOptions, ScaleOptions
from jostle.options.schema import Settings
from jostle.recipes.frameworks import FrameworkCampaign, frameworks, frameworks_budget
from jostle.records import Seeds, Share
from jostle.scale.crew import Work
from jostle.session.finish_frameworks import GraphFinisher
from jostle.session.hiring import FRAMEWORKS_COMMAND, hire, refuse_missing_ray, worker_setup
from jostle.session.identity import folder_of, record_of
from jostle.session.node_comparison import NodeComparison, read_table
from jostle.session.scripts_as_found import ScriptsAsFound
from jostle.session.session import SPENT_BEFORE, Session
from jostle.step_records import StepRecord
from jostle.storage.archive import Archive, open_campaign
from jostle.storage.finding_record import InputType
from jostle.storage.graph_files import GraphFiles
from jostle.storage.history import read_history
from jostle.storage.own_folders import GRAPHS
from jostle.storage.ownership import check_folder

ALL_COMPARED = "all nodes were compared before, so {}: give another --out to compare them again"
SEEDS_FAIL = "every model to begin from shows a defect, so there was nothing to mutate"
PARTS_FAIL = "every node shows a defect"


@dataclass(frozen=True)
class Opened:
    """What `jostle frameworks` begins from: models or their parts, and backends that are running."""

    settings: Settings
    graphs: dict[str, Graph]
    backends: BackendPool
    examiner: Examiner
    comparison: NodeComparison | None = None  # without mutation

    @property
    def introduction(self) -> str:
        if self.comparison is None:
            return f"models to begin from: {len(self.graphs)}"
        return f"nodes and whole models to compare: {len(self.graphs)}"

    @property
    def digest(self) -> str:
        """Of the models."""
        return hashlib.sha256(b"".join(graph.encoded for graph in self.graphs.values())).hexdigest()[:16]

    def composed(
        self, store: GraphStore, crew: Callable[[Seeds], Crew | None] = lambda seeds: None, share: Share | None = None
    ) -> FrameworkCampaign:
        return frameworks(
            self.backends, self.comparison or self.examiner, store, self.graphs, self.settings, crew, share
        )


def open_backends(settings: Settings, say: Callable[[str], None] = lambda line: None) -> Opened:
    """Reads the models and starts the backends, which takes seconds and is said."""
    options = settings[FrameworkOptions]
    known = [*(known_in(Path(options.known)) if options.known else []), *shipped()]
    models = read_models(options.begin_from, _form(settings))
    parts = parts_of(models, evaluate_anyhow) if options.no_mutation else []
    backends = BackendPool(options.places, limits_of(options), line_coverage=options.line_coverage)
    # Of a model of the user's own, a defect that is known is news.
    examiner = Examiner(backends, known, options.unspecified, options.report_known or options.no_mutation)
    with ExitStack() as undone:
        undone.callback(backends.close)
        say(f"starting {', '.join(options.backends)}: frameworks take seconds to import")
        backends.open()
        undone.pop_all()
    if not options.no_mutation:
        return Opened(settings, {name: model.graph for name, model in models.items()}, backends, examiner)
    graphs = {part.name: part.graph for part in parts}
    return Opened(settings, graphs, backends, examiner, NodeComparison(models, parts, examiner, say))


def _form(settings: Settings) -> ModelForm:
    options = settings[FrameworkOptions]
    arrays = arrays_in(Path(options.inputs)) if options.inputs else {}
    return ModelForm(
        options.operators or tuple(OPERATORS),
        settings[RunOptions].seed,
        GivenInputs(options.sizes, arrays),
        partly=options.no_mutation,
    )


def assemble(settings: Settings, say: Callable[[str], None] = lambda line: None) -> Session:
    """Loads, checks and composes everything; the output folder is touched only after all checks passed.

    `say` is told when the models are read and backends start, which takes seconds.
    """
    options, run = settings[FrameworkOptions], settings[RunOptions]
    refuse_missing_ray(settings[ScaleOptions])
    with ExitStack() as undone:
        opened = open_backends(settings, say)
        backends, examiner = opened.backends, opened.examiner
        undone.callback(backends.close)
        record = record_of(settings, opened.digest, backends.versions(), InputType.GRAPH)
        folder = folder_of(run.out, ["frameworks"], record)
        check_folder(folder, record)
        hiring = hire(settings[ScaleOptions])
        undone.callback(hiring.close)
        archive = open_campaign(folder, record)
        undone.callback(archive.release)
        files = GraphFiles(folder / GRAPHS, graph_number)
        store = GraphStore(files.read)
        work = Work(
            setup=worker_setup(FRAMEWORKS_COMMAND, settings.given, opened.digest),
            executions=budget_of(settings).executions,
            batch=options.batch,
            folder=archive.folder,
            files=(),
            written=archive.wait,
        )
        composed = opened.composed(store, partial(hiring.crew, work=work))
        history = read_history(archive.folder, composed.seeds, archive.quarantine)
        undone.pop_all()

    steps = StepsOfFrameworks(opened, composed, archive, store, files)
    # An examiner of its own: that of the campaign is left where the campaign is stopped, in the middle of a step.
    finisher = GraphFinisher(archive.folder, backends, Examiner(backends, examiner.known), files, options.timeout)
    return Session(
        campaign=composed.campaign,
        archive=archive,
        history=history,
        budget=frameworks_budget(settings, len(opened.graphs)),
        finisher=finisher,
        close=backends.close,
        dismiss=hiring.close,
        max_disk=settings[BudgetOptions].max_disk,
        report=settings[RunOptions].report,
        introduction=(
            *_versions(backends.versions()),
            opened.introduction,
            *hiring.introduction,
        ),
        warnings=hiring.warnings,
        nothing_to_mutate=SEEDS_FAIL if opened.comparison is None else PARTS_FAIL,
        spent_before=SPENT_BEFORE if opened.comparison is None else ALL_COMPARED,
        first=steps.keep,
        last=steps.reporting_to(finisher) if hiring.cluster is None else steps.forget,  # workers would wait for it
        figures=steps.figures,
        remarks=lambda: _remarks(**steps.seen(), reported=options.unspecified),
    )


@dataclass(frozen=True)
class StepsOfFrameworks:
    """What is done with each step of a campaign over frameworks besides the archive, and what is told of all."""

    opened: Opened
    composed: FrameworkCampaign
    archive: Archive
    store: GraphStore
    files: GraphFiles

    def keep(self, record: StepRecord) -> None:
        """What a step kept is on disk before its line is in the journal."""
        keep_graphs(self.store, self.files, record)
        if self.opened.comparison is not None:
            self.opened.comparison.write(self.archive.folder)

    def reporting_to(self, finisher: GraphFinisher) -> Listener:
        """Has reports written of a step's findings before the step is forgotten."""
        campaign, target = self.composed.campaign, self.composed.target
        scripts = ScriptsAsFound(
            finisher, lambda: target.faults, self.archive.wait, lambda more: campaign.stopping or campaign.spent(more)
        )

        def report_and_forget(record: StepRecord) -> None:
            scripts(record)
            self.forget(record)

        return report_and_forget

    def forget(self, record: StepRecord) -> None:
        self.composed.target.forget()

    def seen(self) -> dict[str, int]:
        """What was met and is no finding, here and by workers."""
        elsewhere = self.composed.campaign.counted_by_workers()
        return {name: count + elsewhere[name] for name, count in self.opened.examiner.counts().items()}

    def figures(self) -> dict[str, object]:
        if self.opened.comparison is None:
            return {**self.seen()}
        return {**self.seen(), "nodes": read_table(self.archive.folder).as_json()}


def limits_of(options: FrameworkOptions) -> Limits:
    memory = options.rss_limit or most_memory()
    return Limits(options.timeout, memory, answer=memory)


def keep_graphs(store: GraphStore, files: GraphFiles, record: StepRecord) -> None:
    """Writes the graphs that a step kept or found, before its line is in the journal; the others are forgotten."""
    for number in record.kept.inputs.flatten().tolist():
        files.write(number, store.get(number).encoded)
    for finding in (*record.findings, *record.flaky):
        number = int(finding.row.inputs.flatten()[0])
        files.write(number, store.get(number).encoded, synced=True)
    store.forget()


def _versions(backends: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    for backend, versions in backends.items():
        yield f"{backend}: {', '.join(f'{package} {number}' for package, number in versions.items())}"


def _remarks(known: int, doubted: int, unspecified: int, *, reported: bool) -> Iterator[str]:
    if known:
        yield f"{known} times a finding was met that is known: --all reports it"
    if doubted:
        yield f"{doubted} times most backends agreed against the float64 reference: not reported"
    if unspecified and not reported:
        yield f"{unspecified} times NaN or infinity made what documentation leaves open: --unspecified reports it"
