"""Coverage as a tool of its own: a model, some criteria, and any number of batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from jostle.composition.compose import watching
from jostle.composition.contradictions import refuse_contradictions
from jostle.composition.settle import FUZZ, settled
from jostle.errors import PreflightFailed, UsageError
from jostle.feedback.neuron_parts import NEURON_CRITERIA, RANGED, ProfileOptions
from jostle.foreign import Crash, attempt
from jostle.inputs.preflight import check_normalisation
from jostle.interfaces import Feedback
from jostle.isolation.process import Limits
from jostle.options.campaign import InputOptions, ModelOptions
from jostle.options.choices import chosen
from jostle.options.kinds import NAMES
from jostle.options.schema import Given
from jostle.part import TRIED, PartContext
from jostle.profile import Layers, Profile, layers_in, profiled
from jostle.progress import Progress
from jostle.recipes.deephunter import DEEPHUNTER
from jostle.records import NO_LABEL, Seeds, Trace
from jostle.session.isolate import isolated, limits_of
from jostle.session.profiles import data_parts, profile_named, sound_trace
from jostle.subjects.instrument import Instrumented, fitted, instrument, layers_on_one
from jostle.subjects.models import load_seeded
from jostle.subjects.registry import subject_of
from jostle.subjects.subject import Subject
from jostle.task import Task

EVERY = "all"  # criteria


@dataclass(frozen=True)
class IsolatedModel:
    """A model that runs in a process of its own, which ends with the stack."""

    given: Given
    limits: Limits
    undone: ExitStack

    def opened(self, sample: Tensor) -> Instrumented:
        """The model as a target; its layers are those that run on the sample [batch, ...]."""
        model, service = isolated(self.given, sample[:TRIED], self.limits)
        self.undone.callback(service.close)
        return model


class CoverageMeter:
    """Neuron coverage of a model, accumulated over batches.

    Criteria are those of `jostle coverage`; those that measure against ranges need a profile, given or taken. The
    model is a torch module, a function of a batch or a subject. Options are those of `jostle fuzz` under the same
    names: layers, units, counted, mean, std, sections, buckets, top, active.
    """

    def __init__(self, model: object, criteria: Sequence[str], profile: Profile | None = None, **options: Any):
        if not criteria:
            raise UsageError(f"--criteria names none: choose from {', '.join(NEURON_CRITERIA)}")
        if len(set(criteria)) < len(criteria):
            raise UsageError("--criteria names a criterion twice: name each once")
        for name in criteria:
            chosen("--criteria", name, NEURON_CRITERIA)
        self._given = FUZZ.parsed({**options, "coverage": tuple(criteria)})
        refuse_contradictions(self._given)
        self._opened: Callable[[Tensor], Instrumented] = (
            model.opened if isinstance(model, IsolatedModel) else partial(_opened, _as_subject(model), self._given)
        )
        self.profile = profile
        self._model: Instrumented | None = None
        self.layers: Layers = ()  # whose neurons are counted, once a batch was seen
        self._feedbacks: list[Feedback] = []

    def take_profile(self, batches: Iterable[Tensor]) -> Profile:
        """The ranges of all neurons over data the model knows, which criteria measure against; before any `add`."""
        if self._feedbacks:
            raise UsageError("a profile is taken before the first batch is added: begin with a new CoverageMeter")
        self.profile = profiled(self._trace(batch) for batch in batches)
        return self.profile

    def add(self, inputs: Tensor) -> Tensor:
        """Counts a batch [batch, ...]; how many units each input is first to cover [batch, criteria]."""
        trace, seeds = self._trace(inputs), _unlabelled(inputs)
        if not self._feedbacks:
            self._feedbacks = self._begun(seeds)
        return torch.stack([feedback.assess(seeds.as_candidates(), trace) for feedback in self._feedbacks], 1)

    def coverage(self) -> Mapping[str, Mapping[str, float]]:
        """Figures so far, by criterion."""
        return {name: figures for feedback in self._feedbacks for name, figures in feedback.coverage().items()}

    def instrumented(self, sample: Tensor) -> Instrumented:
        """The model as a target; its layers are those that run on the sample [batch, ...]."""
        if self._model is None:
            inputs = self._given.of(InputOptions)
            check_normalisation(inputs.mean, inputs.std, sample.shape[1])
            self._model = self._opened(sample)
            if not self._model.layers:
                sound_trace(self._model, _unlabelled(sample[:1]))  # which tells why, if it fails on such inputs
                raise UsageError("this model shows no layers, so it has no neurons to count")
        return self._model

    @property
    def belongs_to(self) -> Mapping[str, Any]:
        """What a profile of this model says it is of, once a batch was seen."""
        return {} if self._model is None else self._model.belongs_to

    def _trace(self, inputs: Tensor) -> Trace:
        trace = sound_trace(self.instrumented(inputs), _unlabelled(inputs))
        self.layers = self.layers or layers_in(trace)
        return trace

    def _begun(self, inputs: Seeds) -> list[Feedback]:
        names = self._given.get("coverage")
        unranged = [name for name in names if name in RANGED and self.profile is None]
        if unranged:
            raise UsageError(f"measuring {' and '.join(unranged)} needs neuron ranges: give training data as --profile")
        settings, context = settled(DEEPHUNTER, self._given, Task.UNKNOWN), PartContext(inputs, profile=self.profile)
        return [NEURON_CRITERIA[name].make(settings, context) for name in names]


def _opened(subject: Subject, given: Given, sample: Tensor) -> Instrumented:
    """A model in this process as a target; its layers are those that run on the sample [batch, ...]."""
    subject = fitted(subject, given.of(InputOptions), sample[:1])
    layers = attempt(partial(layers_on_one, subject, sample[:1]))
    if isinstance(layers, Crash):
        raise PreflightFailed(
            f"the model fails on inputs of shape {list(sample.shape[1:])} ({layers.error} in {layers.where}: "
            f"{layers.message}): check their shape, channels first; for image files --channels and --size"
        )
    return instrument(watching(DEEPHUNTER, given), subject, sample[:1]).contained()


def _unlabelled(inputs: Tensor) -> Seeds:
    return Seeds(inputs, torch.full((len(inputs),), NO_LABEL), ("",) * len(inputs))


def _as_subject(model: object) -> Subject:
    if isinstance(model, Subject):
        return model
    subject = subject_of(model)
    if subject is None:
        raise UsageError(f"a {type(model).__name__} is no model: give a torch module or a function of a batch")
    return subject


def criteria_named(criteria: str, profiled: bool) -> list[str]:
    """The criteria to measure; of all, those that need no profile where there is none."""
    if criteria == EVERY:
        return [name for name in NEURON_CRITERIA if profiled or name not in RANGED]
    try:
        return list(NAMES.check(criteria))
    except ValueError as error:
        raise UsageError(f"--criteria {criteria}: {error}") from error


def measured(
    given: Given, criteria: Sequence[str], progress: Callable[[str], Progress], undone: ExitStack | None = None
) -> CoverageMeter:
    """The coverage of the model by the data that options name; a bar is shown for each thing done.

    A model from a file runs in a process of its own that ends with the stack; without one, this is such a process.
    """
    meter, profile = meter_of(given, criteria, undone), given.of(ProfileOptions).profile
    for part in data_parts(given, given.of(InputOptions).seeds, progress("measuring")):
        if meter.profile is None and profile is not None and set(criteria) & set(RANGED):
            model = meter.instrumented(part.inputs)
            meter.profile = profile_named(given, profile, model, progress("profiling"))
        meter.add(part.inputs)
    return meter


def profile_of_data(given: Given, progress: Progress) -> tuple[Profile, Mapping[str, Any]]:
    """The ranges of all neurons of the model over the data that options name, and what they belong to."""
    meter = meter_of(given, RANGED)
    parts = data_parts(given, given.of(InputOptions).seeds, progress)
    return meter.take_profile(part.inputs for part in parts), meter.belongs_to


def meter_of(given: Given, criteria: Sequence[str], undone: ExitStack | None = None) -> CoverageMeter:
    """A meter for the model that options name."""
    options, limits = given.of(ModelOptions), limits_of(given)
    named = {name: value for name, value in given.values.items() if name not in ("model", "profile")}
    if undone is None or limits is None:
        return CoverageMeter(load_seeded(given, options.model, options.weights), criteria, **named)
    watched = given.over(coverage=tuple(criteria), recipe="deephunter")
    return CoverageMeter(IsolatedModel(watched, limits, undone), criteria, **named)
