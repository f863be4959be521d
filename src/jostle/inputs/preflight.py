"""Checks before fuzzing: a setting that would make every result meaningless is refused, with the fix named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import torch
from torch import Tensor

from jostle.domain import Domain
from jostle.errors import PreflightFailed, UsageError
from jostle.foreign import Crash, NotOneRowPerInput, UnfitOutput, attempt
from jostle.inputs.behaviour import examined_rows, remarks_on_traits
from jostle.inputs.tokens import TEXT
from jostle.inputs.value_range import ValueRange
from jostle.interfaces import ModelTarget
from jostle.part import TRIED
from jostle.records import MODEL, NO_LABEL, OnSeeds, Seeds, Trace
from jostle.task import OF_LABELS, LabelReading, Question, Task, known_masks
from jostle.traits import NO_TRAITS, Traits

MOST_DEATHS_OF_SEEDS = 16  # in all, because a process takes seconds to start
MOST_DEATHS = 4  # of processes that seeds end, before the same is taken to be so
ROWS_OF_NUMBERS = 2  # dimensions of seeds
SMALLEST_LABELLED_SET = 20  # below this, low accuracy may be chance
SUSPICIOUS_SPAN = 0.02  # of the declared range: 0..1 data declared as 0..255 spans 0.004


@dataclass(frozen=True)
class ModelFacts:
    """What is known of a model before it runs on the seeds."""

    outputs: Mapping[str, bool] = field(default_factory=dict)  # all by name, and whether they have one row per input
    traits: Traits = NO_TRAITS
    sandboxed: bool = False
    in_company: bool = False  # twins, other models or a metadata function run with it


NOTHING_KNOWN = ModelFacts()


@dataclass(frozen=True)
class Flight:
    """Seeds cleared for fuzzing, labelled wherever the model's answer is a class, and what the user should know."""

    seeds: Seeds
    task: Task
    wrong: Tensor  # [seeds] bool: seeds whose label the model does not give
    accuracy: float | None  # on labelled seeds
    warnings: tuple[str, ...]
    on_seeds: OnSeeds | None = None  # of tasks without classes: how good the answers for labelled seeds are
    independent: bool = (
        False  # the model's answers are known not to depend on the rest of their batch, but for rounding
    )

    @property
    def quality(self) -> str:
        """How good the answers for labelled seeds are, in words; empty where nothing is known."""
        if self.accuracy is not None:
            return f"accuracy {self.accuracy:.1%}"
        return "" if self.on_seeds is None else f"{self.on_seeds.measure} {self.on_seeds.figure:.3g}"

    def judged(self, on_seeds: OnSeeds) -> Flight:
        """The same with the seeds that an oracle finds wrong."""
        return replace(self, wrong=self.wrong | on_seeds.wrong, on_seeds=on_seeds)

    @property
    def classes(self) -> int:
        """How many class scores the model gives, 0 if it gives none."""
        return self._answers.shape[1] if self.task is Task.CLASSES else 0

    @property
    def reading(self) -> LabelReading:
        """How labels are read from outputs."""
        return LabelReading.of(self.task, self._answers)

    @property
    def _answers(self) -> Tensor:
        assert self.seeds.answers is not None, "asked for by pre-flight"
        return self.seeds.answers


def preflight(
    target: ModelTarget,
    seeds: Seeds,
    domain: Domain,
    batch: int,
    force: bool,
    model: ModelFacts = NOTHING_KNOWN,
    task: Task | None = None,
) -> Flight:
    """Clears seeds and model, or raises; with force, doubts become warnings. Without a task, it is told from both."""
    check_inside(seeds, domain)
    known = list(remarks_on_traits(model.traits))
    _refuse([remark.text for remark in known if remark.misleads], force)  # it may fail on seeds for this very reason
    accepted, output = _first_accepted(target, seeds, model.sandboxed)
    outputs = _outputs(target, seeds.inputs, batch, like=output)
    task = _task(task, Question(outputs, model.outputs, seeds.labels))
    reading = LabelReading.of(task, outputs)
    answered = _with_labels(replace(seeds, domain=domain, answers=outputs), task, reading)
    wrong = _wrong(task, reading, seeds.labels, outputs)
    accuracy = _accuracy(task, wrong, seeds.labels, outputs)
    first = _check_runs(target, answered, accepted, model)
    if first.others or len(first.outputs) > 1:
        answered = _all_answers(target, answered, batch)
    examined = examined_rows(target, seeds.inputs[_finite(outputs)], model.traits, batch)
    doubts = [
        *_doubts_about_span(seeds, domain),
        *(remark.text for remark in examined.remarks if remark.misleads),
        *_doubts_about_sameness(seeds, outputs),
        *_doubts_about_accuracy(task, accuracy, seeds.labels, outputs),
    ]
    _refuse(doubts, force)
    doubts += [remark.text for remark in (*known, *examined.remarks) if remark.text not in doubts]
    warnings = (*_notes(model, seeds, domain), *doubts)
    return Flight(answered, task, wrong, accuracy, warnings, independent=examined.independent)


def _refuse(doubts: Sequence[str], force: bool) -> None:
    if doubts and not force:
        raise PreflightFailed(f"{doubts[0]}, or --force to fuzz anyway")


def _task(wanted: Task | None, question: Question) -> Task:
    """The task that the user names, or what outputs and labels tell."""
    if wanted is None:
        return question.task()
    question.check(wanted)
    return wanted


def _notes(model: ModelFacts, seeds: Seeds, domain: Domain) -> Iterator[str]:
    if isinstance(domain, ValueRange) and _channels_last(seeds.inputs.shape[1:]):
        yield (
            f"seeds of shape {list(seeds.inputs.shape[1:])} are changed as plain arrays: if they are images with their "
            f"channels last, add --layout nhwc"
        )
    for name, by_row in model.outputs.items():
        if name and not by_row:
            yield f"output.{name} has no row per input, so nothing is sought in it"


def check_inside(seeds: Seeds, domain: Domain) -> None:
    """Seeds must lie in their domain, because mutants will."""
    if not seeds.inputs.isfinite().all():
        worst = int((~seeds.inputs.flatten(1).isfinite().all(1)).nonzero()[0])
        raise PreflightFailed(f"seed {seeds.names[worst]} holds NaN or infinity: remove it")
    outside = domain.outside(seeds.inputs)
    if outside is not None and isinstance(domain, ValueRange):
        _refuse_range(seeds, domain.low, domain.high)
    if outside is not None:
        raise PreflightFailed(
            f"seed {seeds.names[outside.row]} is outside its domain ({outside.problem}): mend the seed or --domain"
        )


def _refuse_range(seeds: Seeds, low: float, high: float) -> None:
    least, most = float(seeds.inputs.min()), float(seeds.inputs.max())
    if least < low or most > high:
        raise PreflightFailed(
            f"seeds hold values from {least:.9g} to {most:.9g}, outside the declared range {low:g} to {high:g}: "
            f"give --range {min(least, 0):.9g},{_likely_end(least, most):.9g} or rescale them"
        )


def check_images(seeds: Seeds) -> None:
    """Image transformations need [channels, height, width] or [channels, depth, height, width]."""
    shape, others = list(seeds.inputs.shape[1:]), "noise" if seeds.domain is None else seeds.domain.mutator
    if len(shape) not in (3, 4):
        raise PreflightFailed(
            f"seeds of shape {shape} are no images [channels, height, width] or volumes [channels, depth, height, "
            f"width]: use --mutator {others} for them"
        )
    if _channels_last(shape):
        if len(shape) == 3:
            fix = "add --layout nhwc if the model takes them so, else move them first, x.transpose(0, 3, 1, 2)"
        else:
            fix = "move them first, x.transpose(0, 4, 1, 2, 3), and let the model take them so"
        raise PreflightFailed(f"seeds of shape {shape} have their channels last: {fix}")


def _channels_last(shape: Sequence[int]) -> bool:
    """Whether an input looks like an image or a volume with its channels last."""
    return len(shape) in (3, 4) and shape[-1] in (1, 3, 4) and shape[0] > 4


def check_normalisation(mean: Sequence[float], std: Sequence[float], channels: int) -> None:
    """There is a mean and a standard deviation for each channel, one of each for all, or none."""
    if len(mean) != len(std) or len(mean) not in (0, 1, channels):
        raise UsageError(
            f"--mean has {len(mean)} numbers, --std has {len(std)}: give both, with one number each "
            f"or one for each of the inputs' {channels} channels"
        )


def _likely_end(least: float, most: float) -> float:
    """The end of the range that such values probably have: of bytes, 255."""
    return 255 if least >= 0 and 1 < most <= 255 else max(most, 1)


def _first_accepted(target: ModelTarget, seeds: Seeds, sandboxed: bool) -> tuple[int, Tensor]:
    """The first seed that the model does not fail on, and its output; a model that fails on many does not fit them."""
    crashes = []
    for position, seed in enumerate(seeds.inputs[:TRIED].split(1)):
        output = attempt(partial(target.predict, seed))
        if not isinstance(output, Crash):
            return position, output
        crashes.append(output)
        if sum(crash.fatal for crash in crashes) == MOST_DEATHS:
            break
    first = crashes[0]
    if first.error == NotOneRowPerInput.__name__:
        raise PreflightFailed(
            f"{first.message}: let the model return one row per input, with squeeze(1) or flatten(1) in place of "
            f"squeeze() or flatten()"
        )
    if first.error == UnfitOutput.__name__:
        raise PreflightFailed(first.message)
    if first.denied and sandboxed:
        raise PreflightFailed(first.by_sandbox())
    raise PreflightFailed(
        f"the model fails on seeds of shape {list(seeds.inputs.shape[1:])} ({first.error} in {first.where}: "
        f"{first.message}): {_shape_hint(seeds)}"
    )


def _shape_hint(seeds: Seeds) -> str:
    if seeds.inputs.is_floating_point() and seeds.inputs.ndim > ROWS_OF_NUMBERS:
        return "check the seeds' shape, channels first; for image files --channels and --size"
    if seeds.inputs.is_floating_point():
        return "check how many numbers it takes for an input; tokens are whole numbers, so save them as int64"
    if seeds.domain is not None and seeds.domain.kind == TEXT:
        return "check that --tokenizer is the model's, and --length"
    return "they are whole numbers, which it is given as tokens: check their length, or save values as floats"


def _finite(outputs: Tensor) -> Tensor:
    """[seeds] bool: whose answer is finite."""
    return outputs.reshape(len(outputs), -1).isfinite().all(1)


def _outputs(target: ModelTarget, inputs: Tensor, batch: int, like: Tensor) -> Tensor:
    """Outputs [seeds, ...], NaN for a seed that the model fails on alone, or answers in another shape: a finding."""
    deaths: list[Crash] = []
    return torch.cat([_some_outputs(target, some, like, deaths) for some in inputs.split(batch)])


def _some_outputs(target: ModelTarget, inputs: Tensor, like: Tensor, deaths: list[Crash]) -> Tensor:
    outputs = attempt(partial(target.predict, inputs))
    if isinstance(outputs, Tensor) and outputs.shape[1:] == like.shape[1:]:
        return outputs
    fatal = isinstance(outputs, Crash) and outputs.fatal
    if isinstance(outputs, Crash) and outputs.fatal:
        deaths.append(outputs)
        if len(deaths) > MOST_DEATHS_OF_SEEDS:
            raise PreflightFailed(
                f"the model ends its process on many of the seeds ({outputs.error} in {outputs.where}): mend it, or "
                f"remove those seeds"
            )
    if len(inputs) == 1:
        return torch.full_like(like, torch.nan)
    parts = len(inputs) if fatal else 2  # a process takes long to start, rows are quick to run
    return torch.cat([_some_outputs(target, part, like, deaths) for part in inputs.tensor_split(parts)])


def _check_runs(target: ModelTarget, seeds: Seeds, accepted: int, model: ModelFacts) -> Trace:
    """One seed through everything that is watched, so that a broken metadata function shows here."""
    trace = target.run(seeds.as_candidates().select(torch.tensor([accepted])))
    for crash in trace.crashes.values():
        if crash.denied and model.sandboxed:
            raise PreflightFailed(crash.by_sandbox())
        whose, accepted_by, fix = "the model", "it accepted before", "have it answer every time as the first time"
        if model.in_company:
            whose, accepted_by, fix = "the twin, another model or --metadata", "the model accepts", "fix that function"
        if crash.twin:
            whose, fix = f"--twin {crash.twin}", "give a twin that accepts what the model accepts"
        what = f"{crash.error} in {crash.where}: {crash.message}"
        raise PreflightFailed(f"{whose} fails on a seed that {accepted_by} ({what}): {fix}")
    return trace


def _all_answers(target: ModelTarget, seeds: Seeds, batch: int) -> Seeds:
    """The same with all that the model returns for them beside the answer, and what its twins say."""
    ran = Trace.joined([target.run(some, watched=False) for some in seeds.as_candidates().split(batch)])
    twins = {variant: answers for variant, answers in ran.outputs.items() if variant != MODEL}
    return replace(seeds, other_answers=ran.others, twin_answers=twins)


def _doubts_about_span(seeds: Seeds, domain: Domain) -> Iterator[str]:
    if not isinstance(domain, ValueRange):
        return
    least, most, low, high = float(seeds.inputs.min()), float(seeds.inputs.max()), domain.low, domain.high
    if low == 0 and len(seeds) > 1 and most - least < SUSPICIOUS_SPAN * high:
        yield f"seeds span only {least:g} to {most:g} of the declared {low:g} to {high:g}: give their real --range"


def _doubts_about_sameness(seeds: Seeds, outputs: Tensor) -> Iterator[str]:
    spread = (outputs - outputs[:1]).abs().max()  # NaN where a seed fails, which is no constant
    if len(seeds) > 1 and spread == 0 and not torch.equal(seeds.inputs[:1].expand_as(seeds.inputs), seeds.inputs):
        yield f"the output is the same for all {len(seeds)} seeds: check --range, --mean and --std, and the weights"


def _doubts_about_accuracy(task: Task, accuracy: float | None, labels: Tensor, outputs: Tensor) -> Iterator[str]:
    if accuracy is None or task is not Task.CLASSES or int((labels != NO_LABEL).sum()) < SMALLEST_LABELLED_SET:
        return
    if accuracy < _about_chance(outputs.shape[1]):
        yield f"accuracy on the seeds is {accuracy:.1%}, about chance: check --range, --mean, --std and the labels"


def _about_chance(classes: int) -> float:
    """Twice what guessing gets right, or a tenth of the way from there to all where that is less."""
    return min(2 / classes, 1 / classes + 0.1 * (1 - 1 / classes))


def _with_labels(seeds: Seeds, task: Task, reading: LabelReading) -> Seeds:
    """Seeds with what inputs are compared with: where no true label is given, the model's own answer."""
    assert seeds.answers is not None, "asked for before"
    if task is Task.SEGMENTATION:
        return replace(seeds, labels=known_masks(seeds.labels, seeds.answers))
    if task not in OF_LABELS:
        return seeds
    labels = reading.completed(seeds.labels, seeds.answers)
    return replace(seeds, labels=labels, completed=_differ(labels, seeds.labels))


def _differ(labels: Tensor, given: Tensor) -> Tensor:
    """[seeds] bool: which labels are not those that were given."""
    if labels.shape != given.shape:
        return torch.ones(len(labels), dtype=torch.bool)
    return (labels != given).reshape(len(labels), -1).any(1)


def _wrong(task: Task, reading: LabelReading, labels: Tensor, outputs: Tensor) -> Tensor:
    """[seeds] bool: which seeds the model gets wrong."""
    if task not in OF_LABELS:
        return torch.zeros(len(outputs), dtype=torch.bool)
    if task is Task.CLASSES and int(labels.max()) >= outputs.shape[1]:
        raise PreflightFailed(
            f"seeds have label {int(labels.max())} but the model has {outputs.shape[1]} outputs: check the labels"
        )
    return reading.wrong(labels, outputs)


def _accuracy(task: Task, wrong: Tensor, labels: Tensor, outputs: Tensor) -> float | None:
    """The share of labelled seeds that the model gets right; NaN is another finding than a wrong label."""
    if task not in OF_LABELS:
        return None
    known = (labels != NO_LABEL).reshape(len(labels), -1).all(1) & _finite(outputs)
    return float((~wrong)[known].float().mean()) if known.any() else None
