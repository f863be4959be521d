"""From settings to seeds, model and target, checked against each other."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace

import torch

from jostle.config import Settings
from jostle.errors import PreflightFailed, UsageError
from jostle.inputs.distances import as_image_file
from jostle.inputs.seeds import ImageForm, load_seeds
from jostle.isolation.client import Service
from jostle.records import Seeds
from jostle.session.defaults import RECIPES, settled
from jostle.session.instrument import Models, Watched, contained
from jostle.session.isolate import isolated, limits_of
from jostle.session.preflight import TRIED, Flight, preflight
from jostle.storage.entries import digest_of


@dataclass(frozen=True)
class Loaded:
    """Model and seeds, checked; `settings` have nothing left open."""

    settings: Settings
    watched: Watched
    flight: Flight
    digest: str  # of seeds and weights
    service: Service | None  # the worker that runs the model, None if it runs in this process

    def close(self) -> None:
        """Ends the worker."""
        if self.service is not None:
            self.service.close()


def load(settings: Settings) -> Loaded:
    """Everything that settings name, cleared by pre-flight."""
    seeds = load_seeds(settings.seeds, image_form(settings))
    _check_seeds(settings, seeds)
    sample, limits = seeds.inputs[:TRIED], limits_of(settings)
    if limits is None:
        return _cleared(settings, seeds, contained(Models(settings).watched(sample)), None)
    with ExitStack() as undone:
        watched, service = isolated(settings, sample, limits)
        undone.callback(service.close)
        loaded = _cleared(settings, seeds, watched, service)
        undone.pop_all()
    return loaded


def _cleared(settings: Settings, seeds: Seeds, watched: Watched, service: Service | None) -> Loaded:
    """Model and seeds checked against each other, and what was left open in the settings settled."""
    flight = preflight(
        watched.target, seeds, *settings.range, settings.batch, settings.force, training=watched.training
    )
    if settings.layers and not watched.layers:
        raise UsageError("--layers: this model has no layers to watch, only its output; leave it out")
    if "flip" in RECIPES[settings.recipe].hunts and not settings.oracle and not flight.classes:
        warning = "the model gives no class scores, so no labels are compared: only NaNs and crashes are sought"
        flight = replace(flight, warnings=(*flight.warnings, warning))
    images = _are_images(seeds, *settings.range)
    settings = settled(settings, bool(flight.classes), images)
    if images and settings.as_images:  # exactly as files give them back, whatever arithmetic made them
        exact = as_image_file(flight.seeds.inputs, *settings.range)
        flight = replace(flight, seeds=replace(flight.seeds, inputs=exact))
    if "metamorphic" in settings.mutator:
        check_images(seeds)
    if settings.as_images and not images:
        raise PreflightFailed(
            f"--as-images: seeds of shape {list(seeds.inputs.shape[1:])} are not what 8-bit image files hold between "
            f"{settings.range[0]:g} and {settings.range[1]:g}: leave it out"
        )
    if settings.models:
        _check_panel(settings, watched, flight)
    return Loaded(settings, watched, flight, digest_of_all(seeds, watched.weights), service)


def digest_of_all(seeds: Seeds, weights: str) -> str:
    """Equal for the same seeds and weights."""
    return digest_of(seeds.inputs, seeds.labels) + weights


def image_form(settings: Settings) -> ImageForm:
    return ImageForm(*settings.range, settings.channels, settings.size)


def _check_panel(settings: Settings, watched: Watched, flight: Flight) -> None:
    """All models must tell the same classes apart."""
    trace = watched.target.run(flight.seeds.as_candidates().select(torch.arange(1)))
    for spec, outputs in zip((settings.model, *settings.models), trace.outputs.values(), strict=True):
        if outputs.shape[1:] != (flight.classes,):
            raise UsageError(
                f"--models {spec} gives outputs of shape {list(outputs.shape[1:])}, the model scores of "
                f"{flight.classes} classes: give models of the same task"
            )


def _are_images(seeds: Seeds, low: float, high: float) -> bool:
    """Whether 8-bit image files could hold the seeds just as they are."""
    inputs = seeds.inputs
    if inputs.ndim != 4 or inputs.shape[1] not in (1, 3):
        return False
    return torch.allclose(as_image_file(inputs, low, high).float(), inputs.float(), rtol=0, atol=1e-6 * (high - low))


def check_images(seeds: Seeds) -> None:
    """Image transformations need [channels, height, width]."""
    shape = list(seeds.inputs.shape[1:])
    if len(shape) != 3:
        raise PreflightFailed(
            f"seeds of shape {shape} are no images [channels, height, width]: use --mutator noise for them"
        )
    if shape[2] in (1, 3, 4) and shape[0] > 4:
        raise PreflightFailed(
            f"seeds of shape {shape} have their channels last: move them first, x.transpose(0, 3, 1, 2), and let the "
            f"model take them so"
        )


def check_normalisation(settings: Settings, channels: int) -> None:
    if len(settings.mean) != len(settings.std) or len(settings.mean) not in (0, 1, channels):
        raise UsageError(
            f"--mean has {len(settings.mean)} numbers, --std has {len(settings.std)}: give both, with one number each "
            f"or one for each of the inputs' {channels} channels"
        )


def _check_seeds(settings: Settings, seeds: Seeds) -> None:
    check_normalisation(settings, seeds.inputs.shape[1])
    if settings.executions is not None and settings.executions < len(seeds):
        raise UsageError(
            f"--executions {settings.executions}: the {len(seeds)} seeds run first, so give at least as many"
        )
