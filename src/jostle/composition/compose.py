"""From a recipe, a model and seeds to a campaign: the one place where parts are wired together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from jostle.campaign import Budget, Campaign
from jostle.catalogue import feedbacks_of, mutator_of, oracles_of, parts_named, scheduler_of
from jostle.composition.contradictions import refuse_contradictions
from jostle.composition.counted_coverage import counter_of
from jostle.composition.disagreement import DISAGREE, toward_disagreement
from jostle.composition.recipe import Recipe
from jostle.composition.settle import FUZZ, chosen_parts, refuse_unread, settled, settled_by_seeds
from jostle.composition.suited import suited
from jostle.composition.unbounded import refuse_without_bounds
from jostle.coverage_counter import CoverageCounter
from jostle.domain import Domain
from jostle.errors import PreflightFailed, UsageError
from jostle.inputs.audio import Audio
from jostle.inputs.distances import are_image_files, as_image_file
from jostle.inputs.domains import domain_of, with_declared_range
from jostle.inputs.preflight import Flight, ModelFacts, check_images, check_normalisation, preflight
from jostle.inputs.several import layout_of
from jostle.inputs.tokens import Tokens
from jostle.interfaces import Crew, Feedback, JudgesSeeds, Mutator, Oracle, Scheduler
from jostle.options.campaign import (
    CHANNELS_LAST,
    CountedLayerOptions,
    DoubtOptions,
    FailingOptions,
    FindingOptions,
    InputOptions,
    ModelOptions,
    PanelOptions,
    RunOptions,
    WatchOptions,
)
from jostle.options.resources import BatchOptions, BudgetOptions, CorpusOptions
from jostle.options.schema import Given, Settings
from jostle.part import TRIED, PartContext
from jostle.profile import Profile, profiled
from jostle.records import ALL_OF_IT, Seeds, Share, all_rows
from jostle.subjects.instrument import Instrumentation, Instrumented
from jostle.subjects.models import making_of, with_others
from jostle.subjects.subject import Subject
from jostle.subjects.twin_making import CALIBRATED
from jostle.targets.contained import ContainedGradients
from jostle.task import Task, TaskOptions

ONE_CLASS = (Task.CLASSES, Task.BINARY)  # tasks whose answer to an input is one class
# Options of the command around a campaign.
FRONT_END = {
    *("model", "seeds", "weights", "recipe", "minimise", "confirm", "finishing", "channels", "size"),
    *("tokenizer", "length", "out", "max_disk", "isolate", "sandbox", "timeout", "rss_limit", "threads"),
    *("workers", "ray_address"),
}


@dataclass(frozen=True)
class Prepared:
    """A model and seeds that were checked against each other, and settings with nothing left open."""

    settings: Settings
    model: Instrumented
    flight: Flight

    @property
    def seeds(self) -> Seeds:
        return self.flight.seeds

    def context(self, profile: Profile | None = None) -> PartContext:
        """What parts may be made from."""
        gradients = self.model.gradients
        passes = self.model.passes or gradients
        return PartContext(
            seeds=self.seeds,
            classes=self.flight.classes,
            reading=self.flight.reading,
            novelty_layers=self.model.novelty_layers,
            profile=profile,
            incoming=self.model.incoming,
            embedding=self.model.embedding,
            gradients=gradients,
            contained=lambda sample: ContainedGradients(passes, sample),
            twins=self.model.twins,
        )


@dataclass(frozen=True)
class Composition:
    """The parts of a fuzzer for a model and seeds."""

    prepared: Prepared
    mutator: Mutator
    scheduler: Scheduler
    feedbacks: Sequence[Feedback]
    oracles: Mapping[str, Oracle]  # by the names that chose them
    profile: Profile | None  # what criteria measure against, where one needs it
    counter: CoverageCounter | None = None  # of coverage that is told instead of that of the corpus
    share: Share | None = None  # of the work, where these are the parts of a worker

    def campaign(self, scratch_folder: Path | None = None, crew: Crew | None = None) -> Campaign:
        """All of them in one loop; the folder is for what memory has no room for. A `crew` does its steps."""
        settings = self.prepared.settings
        low, high = settings[InputOptions].bounds
        return Campaign(
            target=self.prepared.model.target,
            mutator=self.mutator,
            feedbacks=self.feedbacks,
            oracles=list(self.oracles.values()),
            scheduler=self.scheduler,
            seeds=self.prepared.seeds,
            budget=budget_of(settings),
            seed=settings[RunOptions].seed,
            batch=settings[BatchOptions].rows,
            largest_step=_largest_step(self.prepared),
            plans_ahead=_plans_ahead(settings),
            saved=partial(as_image_file, low=low, high=high) if settings[FindingOptions].as_images else None,
            seeds_count=settings[FindingOptions].seeds_count,
            classes=self.prepared.flight.reading.labels if self.prepared.flight.task in ONE_CLASS else None,
            keep_failing=settings[FailingOptions].most,
            counter=self.counter,
            corpus_memory=settings[CorpusOptions].corpus_memory,
            scratch_folder=scratch_folder,
            independent=_rows_independent(self.prepared),
            share=self.share,
            crew=crew,
        )


def _rows_independent(prepared: Prepared) -> bool:
    """Whether answers are known not to depend on the rest of their batch; pre-flight compared those of one model."""
    beside = prepared.model.twins or prepared.settings[PanelOptions].models or prepared.settings[WatchOptions].metadata
    return prepared.flight.independent and not beside


def _largest_step(prepared: Prepared) -> int:
    """How many inputs a step may run."""
    options, seeds = prepared.settings[BatchOptions], prepared.seeds
    answers = (seeds.answers, *seeds.other_answers.values(), *seeds.twin_answers.values())
    return options.largest_step(max(one[0].nbytes for one in (seeds.inputs, *answers) if one is not None))


def _plans_ahead(settings: Settings) -> bool:
    """Whether steps are planned ahead: none of the parts that plan asks the model, or lives by the newest entries."""
    planning = [part for kind in ("mutator", "scheduler") for part in parts_named(kind, settings.values[kind])]
    return all(part.plans_ahead for part in planning)


def campaign_of(recipe: Recipe, subject: Subject, seeds: Seeds, options: Mapping[str, Any]) -> Campaign:
    """The campaign that a recipe makes of a model and seeds, for scripts.

    Options are those of `jostle fuzz`, by their names, but for those of its front end; `profile` is a Profile, and
    `twin` and `models` may be subjects.
    """
    profile = options.get("profile")
    if profile is not None and not isinstance(profile, Profile):
        raise UsageError("profile: give a Profile, such as CoverageMeter(model, ['kmnc']).take_profile(batches)")
    for name in FRONT_END & options.keys():
        raise UsageError(f"{name} is of jostle fuzz, and a campaign of a script has none: leave it out")
    named, subjects = _named_companions(options)
    given = FUZZ.parsed({**options, **named, "profile": None, "recipe": recipe.name})
    refuse_contradictions(given)
    given = with_declared_range(given)
    own = subject.channels_last() if given.of(InputOptions).layout == CHANNELS_LAST else subject
    models = with_others(given, own, subjects).taking(layout_of(seeds))
    with TemporaryDirectory(prefix="jostle-twins-") as folder:
        models = models.with_twins(given, making_of(given, seeds.inputs[:CALIBRATED], Path(folder)), subjects)
        model = models.instrumented(watching(recipe, given), seeds.inputs[:TRIED])
        model = model.contained(given.of(BatchOptions).rows)
    prepared = prepare(recipe, given, model, seeds)
    return compose(prepared, lambda: profile_of_seeds(prepared) if profile is None else profile).campaign()


def _named_companions(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Subject]]:
    """`twin` and `models` by name, where subjects get made-up names, and the subjects by those."""
    chosen = {option: _each(options.get(option)) for option in ("twin", "models")}
    given = [one for some in chosen.values() for one in some if isinstance(one, Subject)]
    names = {id(one): f"subject {number}" for number, one in enumerate(given, 1)}
    named = {option: [names.get(id(one), one) for one in some] for option, some in chosen.items()}
    return named, {names[id(one)]: one for one in given}


def _each(value: Any) -> list[Any]:
    """One or several, as an option takes them: a text with commas, a list, or a single subject."""
    if isinstance(value, str):
        return value.split(",")
    return list(value or ()) if not isinstance(value, Subject) else [value]


def watching(recipe: Recipe, given: Given) -> Instrumentation:
    """What the parts that were chosen look at while a model runs."""
    parts = [part for kind, names in chosen_parts(recipe, given).items() for part in parts_named(kind, names)]
    return Instrumentation(
        given.of(WatchOptions),
        given.of(InputOptions),
        counted=given.of(CountedLayerOptions).counted if any(part.neurons for part in parts) else None,
        extremes=any(part.extremes for part in parts),
        twin_gradients=given.get("goal") == DISAGREE,
    )


def prepare(recipe: Recipe, given: Given, model: Instrumented, seeds: Seeds) -> Prepared:
    """Clears model and seeds, and settles what was left open."""
    given = _agreeing(given, model)
    _check_seeds(given, seeds)
    domain = domain_of(seeds, given.of(InputOptions))
    if isinstance(domain, Tokens):
        domain = _read_by(model, given, domain)
    flight = _cleared(given, model, seeds, domain)
    recipe = toward_disagreement(suited(recipe, domain, flight.task))
    if isinstance(domain, Audio) and "range" not in given:
        given = given.over(range=(-1.0, 1.0))
    refuse_unread(recipe, given, flight.task)
    images = are_image_files(seeds.inputs, *given.of(InputOptions).bounds)
    settings = settled_by_seeds(settled(recipe, given, flight.task, images), flight.seeds)
    refuse_without_bounds(settings)
    if "metamorphic" in chosen_parts(recipe, given)["mutator"]:
        check_images(seeds)
    if settings[FindingOptions].as_images:
        flight = _as_image_files(flight, settings, images)
    prepared = Prepared(settings, model, flight)
    _check_panel(prepared)
    _check_twins(prepared)
    return prepared


def _check_seeds(given: Given, seeds: Seeds) -> None:
    """What options say of inputs and of executions goes with the seeds."""
    inputs, executions = given.of(InputOptions), given.of(BudgetOptions).executions
    if inputs.mean and layout_of(seeds) is not None:
        raise UsageError("--mean and --std are of one input, and there are several: normalise them inside the model")
    check_normalisation(inputs.mean, inputs.std, seeds.inputs.shape[1])
    if executions is not None and executions < len(seeds):
        raise UsageError(f"--executions {executions}: the {len(seeds)} seeds run first, so give at least as many")


def _cleared(given: Given, model: Instrumented, seeds: Seeds, domain: Domain) -> Flight:
    """Model and seeds, cleared by pre-flight."""
    batch, force = given.of(BatchOptions).rows, given.of(DoubtOptions).force
    in_company = bool(model.twins or given.of(PanelOptions).models or given.of(WatchOptions).metadata)
    known = ModelFacts(model.outputs, model.traits, bool(model.sandbox), in_company)
    flight = preflight(model.target, seeds, domain, batch, force, known, given.of(TaskOptions).named)
    if "layers" in given and not model.layers:
        raise UsageError("--layers: this model has no layers to watch, only its output; leave it out")
    return flight


def _as_image_files(flight: Flight, settings: Settings, images: bool) -> Flight:
    """The same with seeds exactly as image files give them back, whatever arithmetic made them."""
    (low, high), seeds = settings[InputOptions].bounds, flight.seeds
    if not images:
        raise PreflightFailed(
            f"--as-images: seeds of shape {list(seeds.inputs.shape[1:])} are not what 8-bit image files hold between "
            f"{low:g} and {high:g}: leave it out"
        )
    return replace(flight, seeds=replace(seeds, inputs=as_image_file(seeds.inputs, low, high)))


def _read_by(model: Instrumented, given: Given, domain: Tokens) -> Tokens:
    """Tokens with the vocabulary of the model's embedding, unless the user gave another."""
    inputs = given.of(InputOptions)
    for name in ("range", "mean", "std"):
        if getattr(inputs, name) != getattr(InputOptions, name):
            raise UsageError(f"--{name} is for values, and the seeds are {domain.kind}: leave it out")
    if given.of(WatchOptions).gradients:
        raise UsageError(f"--gradients needs inputs of values, and the seeds are {domain.kind}: leave it out")
    return domain if model.embedding is None else domain.of_model(len(model.embedding))


def _check_panel(prepared: Prepared) -> None:
    """All models must tell the same classes apart."""
    others, classes = prepared.settings[PanelOptions].models, prepared.flight.classes
    if not others:
        return
    trace = prepared.model.target.run(prepared.seeds.as_candidates().select(all_rows(1)))
    for spec, outputs in zip(("the model", *others), trace.outputs.values(), strict=True):
        if outputs.shape[1:] != (classes,):
            raise UsageError(
                f"--models {spec} gives outputs of shape {list(outputs.shape[1:])}, the model scores of "
                f"{classes} classes: give models of the same task"
            )


def _agreeing(given: Given, model: Instrumented) -> Given:
    """The same with what agreeing means for the twins that are left, where it was said of each."""
    each, names = given.get("agree", "").split(","), given.of(ModelOptions).twin
    if len(each) == 1 or len(each) != len(names):
        return given
    left = model.twins.values()
    return given.over(agree=",".join(how for how, name in zip(each, names, strict=True) if name in left))


def _check_twins(prepared: Prepared) -> None:
    """Twins must answer in the same shape."""
    ours = list(prepared.context().answer_shape)
    for variant, name in prepared.model.twins.items():
        theirs = list(prepared.seeds.twin_answers[variant].shape[1:])
        if ours != theirs:
            raise UsageError(
                f"--twin {name} gives outputs of shape {theirs}, the model {ours}: give a twin of the same task, or "
                f"name the output that both have with --output"
            )


def needs_profile(settings: Settings) -> bool:
    """Whether a criterion measures against the ranges that neurons have on known data."""
    return any(part.ranges for part in parts_named("coverage", settings.values["coverage"]))


def counts_neurons(settings: Settings) -> bool:
    """Whether a part looks at the neurons of layers."""
    named = [part for kind in ("coverage", "mutator") for part in parts_named(kind, settings.values[kind])]
    return any(part.neurons for part in named)


def profile_of_seeds(prepared: Prepared) -> Profile:
    """The ranges over the seeds; a seed that the model fails on has none."""
    batch, seeds = prepared.settings[BatchOptions].rows, prepared.seeds.as_candidates()
    rows = all_rows(len(seeds)).split(batch)
    return profiled((prepared.model.target.run(seeds.select(some)) for some in rows), prepared.model.novelty_layers)


def compose(prepared: Prepared, take_profile: Callable[[], Profile], share: Share | None = None) -> Composition:
    """All parts that settings choose; a profile is taken only if a criterion needs one.

    With a `share`, they are those of one worker of several.
    """
    settings, context = prepared.settings, replace(prepared.context(), share=share or ALL_OF_IT)
    mutator, scheduler = mutator_of(settings, context), scheduler_of(settings, context)
    oracles = oracles_of(settings, context)
    prepared = _judged_on_seeds(prepared, oracles.values())
    profile = take_profile() if needs_profile(settings) else None  # last, because it may take long
    context = prepared.context(profile)
    feedbacks, counter = feedbacks_of(settings, context), counter_of(settings, context)
    return Composition(prepared, mutator, scheduler, feedbacks, oracles, profile, counter, share)


def _judged_on_seeds(prepared: Prepared, oracles: Collection[Oracle]) -> Prepared:
    """The same with what labels say of the model's answers for the seeds, where an oracle can compare them."""
    for oracle in oracles:
        on_seeds = oracle.on_seeds(prepared.seeds) if isinstance(oracle, JudgesSeeds) else None
        if on_seeds is not None:
            prepared = replace(prepared, flight=prepared.flight.judged(on_seeds))
    compared = any(oracle.compares_with_truth for oracle in oracles)
    if compared and prepared.flight.wrong.all() and not prepared.settings[DoubtOptions].force:
        raise PreflightFailed(
            f"the model gets all {len(prepared.seeds)} seeds wrong, so nothing is left to change: check the labels and "
            f"--task, or leave the labels out, or --force to fuzz anyway"
        )
    return prepared


def budget_of(settings: Settings) -> Budget:
    options = settings[BudgetOptions]
    return Budget(options.budget, options.executions, options.findings)
