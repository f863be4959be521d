"""The models that options name, ready to run: in this process, or in one of their own."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor

from jostle.composition.compose import watching
from jostle.errors import ModelRefused
from jostle.foreign import Crash, attempt
from jostle.isolation.client import WorkerClient
from jostle.layout import Layout
from jostle.options.campaign import ModelOptions
from jostle.options.resources import BatchOptions
from jostle.options.schema import Given
from jostle.part import TRIED
from jostle.recipes.all_recipes import recipe_of
from jostle.session.isolate import isolated, limits_of, raised_while_opened
from jostle.subjects.instrument import Instrumented
from jostle.subjects.models import load_models, making_of


def open_models(
    given: Given, sample: Tensor, layout: Layout | None, twins: Path
) -> tuple[Instrumented, WorkerClient | None]:
    """All models as one target, and the worker that runs them, None if they run in this process.

    Layers are those that run on inputs of the sample [some, ...]; a layout tells where in a row each of several inputs
    lies. Twins that are files are made in a folder, or taken from it.
    """
    limits = limits_of(given)
    if limits is not None:
        return isolated(given, sample, limits, layout, twins)

    def opened() -> Instrumented:
        models = load_models(given).taking(layout).with_twins(given, making_of(given, sample, twins))
        model = models.instrumented(watching(recipe_of(given), given), sample[:TRIED])
        return model.contained(given.of(BatchOptions).rows)

    model = attempt(opened)
    if isinstance(model, Crash):
        raise ModelRefused(raised_while_opened(given.of(ModelOptions).model, model))
    return model, None
