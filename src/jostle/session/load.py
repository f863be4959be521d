"""From options to seeds and model, in this process or in one of its own, checked against each other."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

import torch

from jostle.digests import digest_of
from jostle.errors import UsageError
from jostle.inputs.preflight import Flight
from jostle.inputs.seeds import ImageForm, load_seeds
from jostle.isolation.client import WorkerClient
from jostle.options.campaign import BudgetOptions, InputOptions, ModelOptions, PanelOptions
from jostle.options.schema import Given, Settings
from jostle.part import TRIED
from jostle.recipes.all_recipes import recipe_of
from jostle.recipes.compose import Prepared, prepare, watching
from jostle.records import Seeds
from jostle.session.isolate import isolated, limits_of
from jostle.subjects.instrument import Instrumented
from jostle.subjects.models import load_models


@dataclass(frozen=True)
class Loaded:
    """A model and seeds, ready to be composed to a campaign."""

    prepared: Prepared
    digest: str  # of seeds and weights
    service: WorkerClient | None  # the worker that runs the model, None if it runs in this process

    @property
    def settings(self) -> Settings:
        return self.prepared.settings

    @property
    def model(self) -> Instrumented:
        return self.prepared.model

    @property
    def flight(self) -> Flight:
        return self.prepared.flight

    def close(self) -> None:
        """Ends the worker."""
        if self.service is not None:
            self.service.close()


def load(given: Given) -> Loaded:
    """Everything that options name, cleared by pre-flight."""
    inputs, recipe = given.of(InputOptions), recipe_of(given)
    seeds = load_seeds(inputs.seeds, image_form(inputs))
    _check_seeds(given, seeds)
    sample, limits = seeds.inputs[:TRIED], limits_of(given)
    with ExitStack() as undone:
        service = None
        if limits is None:
            model = load_models(given).instrumented(watching(recipe, given), sample).contained()
        else:
            model, service = isolated(given, sample, limits)
            undone.callback(service.close)
        prepared = prepare(recipe, given, model, seeds)
        _check_panel(given, prepared)
        undone.pop_all()
    return Loaded(prepared, digest_of_all(seeds, model.digest), service)


def digest_of_all(seeds: Seeds, models: str) -> str:
    """Equal for the same seeds and models."""
    return digest_of(seeds.inputs, seeds.labels) + models


def image_form(inputs: InputOptions) -> ImageForm:
    return ImageForm(*inputs.range, inputs.channels, inputs.size)


def check_normalisation(inputs: InputOptions, channels: int) -> None:
    if len(inputs.mean) != len(inputs.std) or len(inputs.mean) not in (0, 1, channels):
        raise UsageError(
            f"--mean has {len(inputs.mean)} numbers, --std has {len(inputs.std)}: give both, with one number each "
            f"or one for each of the inputs' {channels} channels"
        )


def _check_panel(given: Given, prepared: Prepared) -> None:
    """All models must tell the same classes apart."""
    others, classes = given.of(PanelOptions).models, prepared.flight.classes
    if not others:
        return
    trace = prepared.model.target.run(prepared.seeds.as_candidates().select(torch.arange(1)))
    for spec, outputs in zip((given.of(ModelOptions).model, *others), trace.outputs.values(), strict=True):
        if outputs.shape[1:] != (classes,):
            raise UsageError(
                f"--models {spec} gives outputs of shape {list(outputs.shape[1:])}, the model scores of "
                f"{classes} classes: give models of the same task"
            )


def _check_seeds(given: Given, seeds: Seeds) -> None:
    check_normalisation(given.of(InputOptions), seeds.inputs.shape[1])
    executions = given.of(BudgetOptions).executions
    if executions is not None and executions < len(seeds):
        raise UsageError(f"--executions {executions}: the {len(seeds)} seeds run first, so give at least as many")
