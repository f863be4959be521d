"""The tests of a campaign on other models (DeepHunter's RQ2) and on quantised ones (RQ4).

Unless all seeds are wanted, only those count that every model gets right, and tests made of them: a model that is wrong
on a seed is wrong on what is made of it without the tests being to blame ("all correctly predicted by all instances",
DeepHunter §4.4).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import mean

import torch
from torch import Tensor

from jostle.commands.failing_inputs import failures_in
from jostle.errors import ModelRefused, OutputRefused, UsageError
from jostle.foreign import Crash, attempt
from jostle.inputs.domains import domain_of
from jostle.inputs.preflight import preflight
from jostle.inputs.seeds import load_seeds
from jostle.inputs.several import layout_of
from jostle.options.campaign import InputOptions, ModelOptions
from jostle.options.choices import chosen
from jostle.options.resources import BatchOptions
from jostle.options.schema import NOTHING_ELSE, Given
from jostle.part import TRIED
from jostle.records import NO_PARENT, Seeds
from jostle.session.load import digest_of_all, seed_form
from jostle.session.made_twins import twins_folder
from jostle.session.reopen import recorded_campaign, reopen
from jostle.storage.history import read_kept
from jostle.subjects.instrument import fitted, plain_target
from jostle.subjects.models import load_models, making_of, twin_or_model
from jostle.subjects.subject import Subject
from jostle.subjects.twin_making import CALIBRATED, is_drawn

# Which tests are run. DeepHunter's RQ2 runs those that the campaign's model gets right (§4.4), which are those kept.
KEPT, FAILING, ALL = TESTS = ("kept", "failing", "all")
NO_TESTS = {
    KEPT: "kept no tests besides its seeds",
    FAILING: "has no failing tests",
    ALL: "kept no tests besides its seeds, and none failed",
}
EVALUATED = ("model", "models", "tokenizer", "seeds")  # what is loaded of all that a campaign names
CRASH = "crash"  # the kind of a test that the model does not answer


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
    seeds_left_out: int  # because some model gets them wrong
    tests_left_out: int  # because they are made of those
    tests_from: str  # which of the campaign's tests: kept, failing or all
    repeats: int  # of twins whose weights are drawn
    scores: tuple[Score, ...]


@dataclass(frozen=True)
class Posed:
    """Inputs [n, ...] that models are asked about, what is right [n], and the seeds they are made of [n]."""

    inputs: Tensor
    labels: Tensor
    roots: Tensor

    def __len__(self) -> int:
        return len(self.roots)

    @staticmethod
    def joined(parts: Sequence[Posed]) -> Posed:
        some = [part for part in parts if len(part)] or parts[:1]
        columns = zip(*((part.inputs, part.labels, part.roots) for part in some), strict=True)
        return Posed(*map(torch.cat, columns))


@dataclass(frozen=True)
class Answered:
    """What one model says of seeds and of tests, once for each time that it was drawn."""

    model: str
    seeds: tuple[Tensor, ...]  # each [seeds] classes
    tests: tuple[Tensor, ...]  # each [tests]


def evaluate(
    folder: Path,
    models: Sequence[str],
    repeats: int = 5,
    changes: Given = NOTHING_ELSE,
    all_seeds: bool = False,
    tests_from: str = KEPT,
) -> Evaluation:
    """Runs the tests of the campaign in the folder on its own model and on each of these."""
    chosen("--tests", tests_from, TESTS)
    given, campaign = reopen(folder, changes, *EVALUATED), recorded_campaign(folder)
    inputs, batch = given.of(InputOptions), given.of(BatchOptions).rows
    seeds = load_seeds(inputs.seeds, seed_form(inputs))
    layout = layout_of(seeds)
    own = load_models(given).taking(layout).own
    if not campaign.record.digest.startswith(digest_of_all(seeds, own.digest)):
        raise UsageError(f"the seeds or weights of the campaign in {folder} have changed: bring them back")
    own_target = plain_target(fitted(own, inputs, seeds.inputs[:TRIED]), inputs)
    flight = preflight(own_target, seeds, domain_of(seeds, inputs), batch, force=True)
    if not flight.classes:
        raise UsageError("evaluation compares labels, and this campaign's model gives no class scores")
    planted, tests = _posed(folder, flight.seeds, tests_from)
    ask = _Examiner(given, planted, tests, flight.classes)
    answers = [ask.answers(given.of(ModelOptions).model, [own])]
    with twins_folder(folder) as twins:
        making = making_of(given, seeds.inputs[:CALIBRATED], twins)
        for name in models:
            draws = [replace(making, seed=making.seed + draw) for draw in range(repeats if is_drawn(name) else 1)]
            others = (twin_or_model(given, "MODEL", name, own, draw).taking(layout) for draw in draws)
            answers.append(ask.answers(name, others))
    counted = torch.ones(len(planted), dtype=torch.bool) if all_seeds else _right_for_all(planted, answers)
    made_of = torch.isin(tests.roots, planted.roots[counted])
    if not made_of.any():
        raise UsageError(f"no test is made of a seed that all models get right: {_way_on(planted, answers)}")
    return Evaluation(
        seeds=int(counted.sum()),
        tests=int(made_of.sum()),
        seeds_left_out=int((~counted).sum()),
        tests_left_out=int((~made_of).sum()),
        tests_from=tests_from,
        repeats=repeats,
        scores=tuple(_score(answered, answers[0], (planted, tests), (counted, made_of)) for answered in answers),
    )


def _posed(folder: Path, seeds: Seeds, source: str) -> tuple[Posed, Posed]:
    """The seeds that the campaign began from, and its tests."""
    kept = read_kept(folder, seeds)
    entries = Posed(kept.inputs, kept.labels, kept.roots)
    seed = kept.parents == NO_PARENT
    passed = [_select(entries, ~seed)] if source in (KEPT, ALL) else []
    failed = [_failing(folder, seeds)] if source in (FAILING, ALL) else []
    tests = Posed.joined([*passed, *failed])
    if not len(tests):
        raise UsageError(f"the campaign in {folder} {NO_TESTS[source]}: let it run longer")
    return _select(entries, seed), tests


def _failing(folder: Path, seeds: Seeds) -> Posed:
    """Tests that failed otherwise than by a crash, which no model can be asked about."""
    tests = failures_in(folder).confirmed_mutants().once_each()
    if bool(((tests.roots < 0) | (tests.roots >= len(seeds))).any()):
        raise OutputRefused(f"a failing test in {folder} is made of a seed that is none: get the folder again")
    asked = tests.select(torch.tensor([kind != CRASH for kind in tests.kinds], dtype=torch.bool).nonzero().squeeze(1))
    return Posed(asked.inputs, seeds.labels[asked.roots], asked.roots)


def _select(posed: Posed, rows: Tensor) -> Posed:
    return Posed(posed.inputs[rows], posed.labels[rows], posed.roots[rows])


def _right_for_all(seeds: Posed, answers: Sequence[Answered]) -> Tensor:
    """[seeds] bool: which every model gets right, however often it was drawn."""
    return torch.stack([said == seeds.labels for answered in answers for said in answered.seeds]).all(0)


def _way_on(seeds: Posed, answers: Sequence[Answered]) -> str:
    """What to do where models agree on too few seeds: the worst is named."""
    right = {one.model: min(int((said == seeds.labels).sum()) for said in one.seeds) for one in answers}
    worst = min(right, key=lambda name: right[name])
    return f"leave out {worst}, which gets {right[worst]:,} of {len(seeds):,} seeds right, or give --all-seeds"


def _score(answered: Answered, own: Answered, posed: tuple[Posed, Posed], counted: tuple[Tensor, Tensor]) -> Score:
    """Answers to what counts, compared with labels and with the campaign's own model."""
    said, theirs = (answered.seeds, answered.tests), (own.seeds[0], own.tests[0])
    right = [mean(_share(one == posed[i].labels, counted[i]) for one in said[i]) for i in (0, 1)]
    unlike = [mean(int((one != theirs[i])[counted[i]].sum()) for one in said[i]) for i in (0, 1)]
    return Score(answered.model, *right, *unlike)


def _share(true: Tensor, counted: Tensor) -> float:
    return float(true[counted].float().mean())


class _Examiner:
    """Asks models about the seeds and tests of a campaign."""

    def __init__(self, given: Given, seeds: Posed, tests: Posed, classes: int):
        self._inputs, self._batch, self._classes = given.of(InputOptions), given.of(BatchOptions).rows, classes
        self._seeds, self._tests = seeds.inputs, tests.inputs

    def answers(self, name: str, models: Iterable[Subject]) -> Answered:
        said = [(self._labels(name, model, self._seeds), self._labels(name, model, self._tests)) for model in models]
        return Answered(name, tuple(seeds for seeds, _ in said), tuple(tests for _, tests in said))

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
