"""The tests that a campaign kept, on other models (DeepHunter's RQ2) and on quantised ones (RQ4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import mean

import torch
from torch import Tensor

from jostle.config import Settings
from jostle.errors import ModelRefused, UsageError
from jostle.foreign import Crash, attempt
from jostle.inputs.seeds import load_seeds
from jostle.records import NO_PARENT, Candidates
from jostle.session.instrument import Models, plain_target, twin_or_model
from jostle.session.load import digest_of_all, image_form
from jostle.session.preflight import TRIED, preflight
from jostle.session.reopen import settings_of
from jostle.storage.history import read_kept
from jostle.targets.loading import Model
from jostle.targets.twins import share_of_weights


@dataclass(frozen=True)
class Score:
    """How one model does on a campaign's seeds and on the tests made of them; averages if it was drawn repeatedly."""

    model: str
    seeds_accuracy: float
    tests_accuracy: float
    seeds_unlike: float  # seeds answered otherwise than by the campaign's model
    tests_unlike: float


@dataclass(frozen=True)
class Evaluation:
    """Scores on the same seeds and tests, the campaign's own model first."""

    seeds: int
    tests: int
    repeats: int  # of twins whose weights are drawn
    scores: tuple[Score, ...]


def evaluate(folder: Path, models: Sequence[str], repeats: int = 5, trust_model: bool = False) -> Evaluation:
    """Runs what the campaign in the folder kept on its own model and on each of these."""
    settings, digest = settings_of(folder)
    settings = replace(settings, trust_model=trust_model)  # consent is the user's to give, not the folder's
    seeds = load_seeds(settings.seeds, image_form(settings))
    own_models = Models(settings)
    own = own_models.own
    if digest_of_all(seeds, own_models.watched(seeds.inputs[:TRIED]).weights) != digest:
        raise UsageError(f"the seeds or weights of the campaign in {folder} have changed: bring them back")
    target = plain_target(settings, own)
    flight = preflight(target, seeds, *settings.range, settings.batch, force=True)
    if not flight.classes:
        raise UsageError("evaluation compares labels, and this campaign's model gives no class scores")
    kept = read_kept(folder, flight.seeds)
    seed = kept.parents == NO_PARENT
    planted, tests = (kept.select(rows.nonzero().squeeze(1)) for rows in (seed, ~seed))
    if not len(tests):
        raise UsageError(f"the campaign in {folder} kept no tests besides its seeds: let it run longer")
    judge = _Judge(settings, own, planted, tests, flight.classes)
    scores = [judge.score(settings.model, [own])]
    for name in models:
        draws = range(repeats if share_of_weights(name) is not None else 1)
        scores.append(judge.score(name, (twin_or_model(settings, "MODEL", name, own, draw) for draw in draws)))
    return Evaluation(len(planted), len(tests), repeats, tuple(scores))


class _Judge:
    """Compares answers on seeds and tests with their labels and with the campaign's own model."""

    def __init__(self, settings: Settings, own: Model, seeds: Candidates, tests: Candidates, classes: int):
        self._settings, self._classes = settings, classes
        self._sets = (seeds, tests)
        self._own = [self._labels(settings.model, own, inputs.inputs) for inputs in self._sets]

    def score(self, name: str, models: Iterable[Model]) -> Score:
        answers = [[self._labels(name, model, inputs.inputs) for inputs in self._sets] for model in models]
        right = [mean(float((some[i] == self._sets[i].labels).float().mean()) for some in answers) for i in (0, 1)]
        unlike = [mean(int((some[i] != self._own[i]).sum()) for some in answers) for i in (0, 1)]
        return Score(name, *right, *unlike)

    def _labels(self, name: str, model: Model, inputs: Tensor) -> Tensor:
        target = plain_target(self._settings, model)
        parts = [attempt(partial(target.predict, some)) for some in inputs.split(self._settings.batch)]
        for part in parts:
            if isinstance(part, Crash):
                raise ModelRefused(
                    f"{name} fails on the campaign's inputs of shape {list(inputs.shape[1:])} ({part.error}: "
                    f"{part.message}): give a model that takes the same inputs"
                )
        outputs = torch.cat([part for part in parts if isinstance(part, Tensor)])
        if outputs.ndim != 2 or outputs.shape[1] != self._classes:
            raise ModelRefused(
                f"{name} gives outputs of shape {list(outputs.shape[1:])}, the campaign's model scores of "
                f"{self._classes} classes: give a model of the same classes"
            )
        return outputs.argmax(1)
