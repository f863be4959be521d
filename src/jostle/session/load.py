"""From options to seeds and model, in this process or in one of its own, checked against each other."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from jostle.composition.compose import Prepared, prepare
from jostle.digests import digest_of
from jostle.inputs.domains import with_declared_range
from jostle.inputs.preflight import Flight
from jostle.inputs.seeds import SeedForm, load_seeds
from jostle.inputs.several import layout_of
from jostle.inputs.tokens import UNSAID, TokenForm
from jostle.inputs.wave_files import AS_THEY_ARE, WaveForm
from jostle.isolation.client import WorkerClient
from jostle.options.campaign import CHANNELS_LAST, InputOptions, RunOptions
from jostle.options.resources import ThreadOptions
from jostle.options.schema import Given, Settings
from jostle.recipes.all_recipes import recipe_of
from jostle.records import Seeds
from jostle.session.made_twins import twins_folder
from jostle.session.open_models import open_models
from jostle.session.threads import on_threads, settle_threads
from jostle.subjects.instrument import Instrumented
from jostle.subjects.twin_making import CALIBRATED


@dataclass(frozen=True)
class Loaded:
    """A model and seeds, ready to be composed to a campaign."""

    prepared: Prepared
    digest: str  # of seeds and weights
    twins: Path  # the folder of twins that are files
    undone: ExitStack  # ends the worker, removes that folder and gives torch its threads back
    service: WorkerClient | None = None  # the worker that runs the model, None if it runs in this process

    @property
    def settings(self) -> Settings:
        return self.prepared.settings

    @property
    def model(self) -> Instrumented:
        return self.prepared.model

    @property
    def flight(self) -> Flight:
        return self.prepared.flight

    @property
    def threads(self) -> int:
        """On how many the models run."""
        number = self.settings[ThreadOptions].number
        assert number is not None, "settled"
        return number

    def close(self) -> None:
        """Ends the worker, and gives torch the threads that it had before."""
        self.undone.close()


def load(given: Given) -> Loaded:
    """Everything that options name, cleared by pre-flight."""
    given = with_declared_range(given)
    inputs, recipe = given.of(InputOptions), recipe_of(given)
    seeds = load_seeds(inputs.seeds, seed_form(inputs))
    sample, out = seeds.inputs[:CALIBRATED], given.of(RunOptions).out
    with ExitStack() as undone:
        undone.enter_context(on_threads(given))
        twins = undone.enter_context(twins_folder(None if out is None else Path(out)))
        model, service = open_models(given, sample, layout_of(seeds), twins)
        if service is not None:
            undone.callback(service.close)
        threads = settle_threads(given, model, service, seeds)
        prepared = prepare(recipe, given.over(threads=threads), model, seeds)
        return Loaded(prepared, digest_of_all(seeds, model.digest), twins, undone.pop_all(), service)


def digest_of_all(seeds: Seeds, models: str) -> str:
    """Equal for the same seeds and models."""
    return digest_of(seeds.inputs, seeds.labels) + models


def seed_form(inputs: InputOptions) -> SeedForm:
    texts, (low, high) = inputs.tokenizer is not None, inputs.bounds
    return SeedForm(
        low=low,
        high=high,
        channels=inputs.channels,
        size=inputs.size,
        label=inputs.label,
        domain=inputs.domain,
        inputs=inputs.input,
        waves=AS_THEY_ARE if texts else WaveForm(inputs.rate, inputs.length),
        tokens=UNSAID if texts else TokenForm(inputs.vocabulary, inputs.pad, inputs.special),
        texts=texts,
        channels_last=inputs.layout == CHANNELS_LAST,
    )
