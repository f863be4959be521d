"""Coverage as a tool of its own: a model, some criteria, and any number of batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from jostle.config import Settings
from jostle.errors import PreflightFailed, UsageError
from jostle.foreign import Crash, attempt
from jostle.interfaces import Feedback
from jostle.options.choices import chosen
from jostle.profile import Profile, profiled
from jostle.records import NO_LABEL, Seeds, Trace
from jostle.session.instrument import Watched, contained, watch
from jostle.session.load import check_normalisation
from jostle.session.parts import NEURON_CRITERIA, RANGED, Guides, feedbacks_of
from jostle.session.profiles import sound_trace
from jostle.targets.layers import layers_of
from jostle.targets.loading import Model


class CoverageMeter:
    """Neuron coverage of a model, accumulated over batches.

    Criteria are those of `jostle coverage`; those that measure against ranges need a profile, given or taken. Settings
    are those of `jostle fuzz` under the same names: layers, units, mean, std, sections, buckets, top, active.
    """

    def __init__(
        self, model: nn.Module | Model, criteria: Sequence[str], profile: Profile | None = None, **settings: Any
    ):
        if not criteria:
            raise UsageError(f"--criteria names none: choose from {', '.join(NEURON_CRITERIA)}")
        if len(set(criteria)) < len(criteria):
            raise UsageError("--criteria names a criterion twice: name each once")
        for name in criteria:
            chosen("--criteria", name, NEURON_CRITERIA)
        self._model = model if isinstance(model, Model) else Model(model, lambda: model)
        self._settings = Settings("", "", recipe="deephunter", coverage=tuple(criteria), **settings)
        self.profile = profile
        self._watched: Watched | None = None
        self._feedbacks: list[Feedback] = []

    def take_profile(self, batches: Iterable[Tensor]) -> Profile:
        """The ranges of all neurons over data the model knows, which criteria measure against; before any `add`."""
        if self._feedbacks:
            raise UsageError("a profile is taken before the first batch is added: begin with a new CoverageMeter")
        self.profile = profiled(self._trace(batch) for batch in batches)
        return self.profile

    def add(self, inputs: Tensor) -> Tensor:
        """Counts a batch [batch, ...]; how many units each input is first to cover [batch, criteria]."""
        trace = self._trace(inputs)
        if not self._feedbacks:
            self._feedbacks = self._begun()
        return torch.stack([feedback.assess(trace) for feedback in self._feedbacks], 1)

    def coverage(self) -> Mapping[str, Mapping[str, float]]:
        """Figures so far, by criterion."""
        return {name: figures for feedback in self._feedbacks for name, figures in feedback.coverage().items()}

    def watched(self, sample: Tensor) -> Watched:
        """The model as a target; its layers are those that run on the sample [batch, ...]."""
        if self._watched is None:
            check_normalisation(self._settings, sample.shape[1])
            two = sample[:1].expand(self._model.batch or 2, *sample.shape[1:]).clone()
            layers = attempt(partial(layers_of, self._model.module.eval(), two))
            if isinstance(layers, Crash):
                raise PreflightFailed(
                    f"the model fails on inputs of shape {list(sample.shape[1:])} ({layers.error} in {layers.where}: "
                    f"{layers.message}): check their shape, channels first; for image files --channels and --size"
                )
            if not layers:
                raise UsageError("this model shows no layers, so it has no neurons to count")
            self._watched = contained(watch(self._settings, self._model, None, layers))
        return self._watched

    @property
    def belongs_to(self) -> Mapping[str, Any]:
        """What a profile of this model says it is of, once a batch was seen."""
        return {} if self._watched is None else self._watched.belongs_to

    def _trace(self, inputs: Tensor) -> Trace:
        seeds = Seeds(inputs, torch.full((len(inputs),), NO_LABEL), ("",) * len(inputs))
        return sound_trace(self.watched(inputs), seeds)

    def _begun(self) -> list[Feedback]:
        unranged = [name for name in self._settings.coverage if name in RANGED and self.profile is None]
        if unranged:
            raise UsageError(f"measuring {' and '.join(unranged)} needs neuron ranges: give training data as --profile")
        return feedbacks_of(self._settings, Guides((), self.profile))
