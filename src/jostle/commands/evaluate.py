"""The tests that a campaign kept, on other models (DeepHunter's RQ2) and on quantised ones (RQ4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import mean

import torch
from torch import Tensor

from jostle.errors import ModelRefused, UsageError
from jostle.foreign import Crash, attempt
from jostle.inputs.domains import domain_of
from jostle.inputs.preflight import preflight
from jostle.inputs.seeds import load_seeds
from jostle.inputs.several import layout_of
from jostle.options.campaign import BatchOptions, InputOptions, ModelOptions
from jostle.options.schema import Given
from jostle.part import TRIED
from jostle.records import NO_PARENT, Candidates
from jostle.session.load import digest_of_all, seed_form
from jostle.session.made_twins import twins_folder
from jostle.session.reopen import reopen
from jostle.storage.history import read_kept
from jostle.subjects.instrument import fitted, plain_target
from jostle.subjects.models import load_models, making_of, twin_or_model
from jostle.subjects.subject import Subject
from jostle.subjects.twin_making import CALIBRATED, is_drawn


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
    campaign = reopen(folder)
    given = campaign.given.over(trust_model=trust_model)  # consent is the user's to give, not the folder's
    inputs, batch = given.of(InputOptions), given.of(BatchOptions).batch
    seeds = load_seeds(inputs.seeds, seed_form(inputs))
    layout = layout_of(seeds)
    own = load_models(given).taking(layout).own
    if not campaign.record.digest.startswith(digest_of_all(seeds, own.digest)):
        raise UsageError(f"the seeds or weights of the campaign in {folder} have changed: bring them back")
    own_target = plain_target(fitted(own, inputs, seeds.inputs[:TRIED]), inputs)
    flight = preflight(own_target, seeds, domain_of(seeds, inputs), batch, force=True)
    if not flight.classes:
        raise UsageError("evaluation compares labels, and this campaign's model gives no class scores")
    kept = read_kept(folder, flight.seeds)
    seed = kept.parents == NO_PARENT
    planted, tests = (kept.select(rows.nonzero().squeeze(1)) for rows in (seed, ~seed))
    if not len(tests):
        raise UsageError(f"the campaign in {folder} kept no tests besides its seeds: let it run longer")
    judge = _Judge(given, own, planted, tests, flight.classes)
    scores = [judge.score(given.of(ModelOptions).model, [own])]
    with twins_folder(folder) as twins:
        making = making_of(given, seeds.inputs[:CALIBRATED], twins)
        for name in models:
            draws = [replace(making, seed=making.seed + draw) for draw in range(repeats if is_drawn(name) else 1)]
            others = (twin_or_model(given, "MODEL", name, own, draw).taking(layout) for draw in draws)
            scores.append(judge.score(name, others))
    return Evaluation(len(planted), len(tests), repeats, tuple(scores))


class _Judge:
    """Compares answers on seeds and tests with their labels and with the campaign's own model."""

    def __init__(self, given: Given, own: Subject, seeds: Candidates, tests: Candidates, classes: int):
        self._inputs, self._batch, self._classes = given.of(InputOptions), given.of(BatchOptions).batch, classes
        self._sets = (seeds, tests)
        self._own = [self._labels(given.of(ModelOptions).model, own, inputs.inputs) for inputs in self._sets]

    def score(self, name: str, models: Iterable[Subject]) -> Score:
        answers = [[self._labels(name, model, inputs.inputs) for inputs in self._sets] for model in models]
        right = [mean(float((some[i] == self._sets[i].labels).float().mean()) for some in answers) for i in (0, 1)]
        unlike = [mean(int((some[i] != self._own[i]).sum()) for some in answers) for i in (0, 1)]
        return Score(name, *right, *unlike)

    def _labels(self, name: str, model: Subject, inputs: Tensor) -> Tensor:
        target = plain_target(fitted(model, self._inputs, inputs[:TRIED]), self._inputs)
        parts = [attempt(partial(target.predict, some)) for some in inputs.split(self._batch)]
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
