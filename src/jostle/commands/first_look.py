"""What can be told of a model and seeds that nobody has fuzzed yet: options under which they go together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from torch import Tensor

from jostle.commands.inspect_model import Inspection, image_options, inspected, tokenizer_of
from jostle.composition.settle import FUZZ
from jostle.errors import UsageError
from jostle.inputs.domains import domain_of
from jostle.inputs.seeds import load_seeds, names_image_files
from jostle.inputs.value_range import IMAGE, ValueRange
from jostle.options.campaign import InputOptions, ModelOptions
from jostle.options.schema import Given
from jostle.records import NO_LABEL, Seeds
from jostle.session.assemble import assemble
from jostle.session.load import seed_form
from jostle.subjects.models import load_seeded
from jostle.subjects.registry import is_file
from jostle.task import OF_LABELS, Task

OF_FILES = ("size", "channels")  # options that only image files take
USUAL_RANGES = ((0.0, 1.0), (0.0, 255.0), (-1.0, 1.0))  # of values of images
# By channels, what many models of images have their inputs normalised by: that of MNIST, that of ImageNet.
NORMALISED: Mapping[int, Mapping[str, tuple[float, ...]]] = {
    1: {"mean": (0.1307,), "std": (0.3081,)},
    3: {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)},
}
IMAGE_DIMENSIONS = 4  # of images [seeds, channels, height, width]
CLEARLY = 0.05  # of accuracy, by which another way must be better than the usual one
SUITED_TWINS = ("int8", "int8-static", "float16")  # the first that can be made is compared with
OF_IMAGES = "deephunter"  # the recipe for classifiers of images


@dataclass(frozen=True)
class Trial:
    """A campaign that was put together and not run: what came of it, or why it cannot be."""

    options: Mapping[str, Any]  # that were tried
    figures: Mapping[str, Any]
    refused: UsageError | None = None

    @property
    def accuracy(self) -> float | None:
        found: float | None = self.figures.get("accuracy_on_seeds")
        return found


@dataclass(frozen=True)
class FirstLook:
    """A model, seeds, and options that were tried on both."""

    given: Given  # model, seeds, and how one takes the other
    inspection: Inspection
    seeds: Seeds
    ways: tuple[Trial, ...]  # in which values of the seeds may be meant, that were tried
    way: Trial  # that was chosen
    twin: str | None  # that was made and answers
    twins_refused: Mapping[str, str]  # by name, why they cannot be compared with
    recipe: str | None  # that suits better than the usual one

    @property
    def labelled(self) -> int:
        """How many seeds have a label."""
        return int((self.seeds.labels != NO_LABEL).reshape(len(self.seeds), -1).all(1).sum())

    @property
    def certain(self) -> bool:
        """Whether the labels tell one way from the others."""
        best = self.way.accuracy or 0.0
        return sum(way.refused is None and best - (way.accuracy or 0.0) < CLEARLY for way in self.ways) == 1


def first_look(given: Given) -> FirstLook:
    """Looks at the model and the seeds that options name, and tries how they go together."""
    given = _as_the_model_takes(given)
    if is_file(given.of(ModelOptions).model):
        given = given.over(isolate=False)  # whoever looks at a file does so in a process that may die
    seeds = _seeds(given)
    ways = tuple(_tried(given, options) for options in _ways(given, seeds))
    way = _best(ways)
    given = given.over(**way.options)
    inspection = inspected(given)
    twin, twins_refused = _first_twin(given, inspection)
    return FirstLook(
        given=given.over(isolate=None),
        inspection=inspection,
        seeds=_seeds(given),
        ways=ways,
        way=way,
        twin=twin,
        twins_refused=twins_refused,
        recipe=_recipe(given.over(twin=None if twin is None else (twin,)), seeds, way),
    )


def _first_twin(given: Given, inspection: Inspection) -> tuple[str | None, dict[str, str]]:
    """The first suited twin that can be made and answers, and why those before it cannot be compared with."""
    refused: dict[str, str] = {}
    for name in SUITED_TWINS:
        if name in inspection.twins:
            trial = _tried(given, {"twin": (name,)})
            if trial.refused is None:
                return name, refused
            refused[name] = str(trial.refused)
    return None, refused


def _seeds(given: Given) -> Seeds:
    inputs = given.of(InputOptions)
    return load_seeds(inputs.seeds, seed_form(inputs))


def _as_the_model_takes(given: Given) -> Given:
    """The same options, with what the model says of the images or texts that it takes."""
    options, spec = given.of(ModelOptions), given.of(InputOptions).seeds
    described = load_seeded(given, options.model, options.weights).described()
    flags = {flag.removeprefix("--"): text for flag, text in image_options(described.inputs).items()}
    if not names_image_files(spec):
        flags = {name: text for name, text in flags.items() if name not in OF_FILES}
    if Path(spec).suffix == ".txt":
        flags |= {"tokenizer": found} if (found := tokenizer_of(given)) else {}
    return FUZZ.parsed({**FUZZ.read(flags), **given.values})


def _ways(given: Given, seeds: Seeds) -> Iterator[dict[str, Any]]:
    """How values may be meant, the usual way first; which of several is right, only labels tell."""
    inputs = given.of(InputOptions)
    if not isinstance(domain_of(seeds, inputs), ValueRange) or inputs.domain is not None:
        yield {}  # tables, tokens, texts and waves tell what they hold, and so does a file
        return
    usual, *others = (inputs.range,) if inputs.range else _ranges(inputs.seeds, seeds.inputs)
    yield {"range": usual}
    if seeds.labels.ndim == 1 and (seeds.labels != NO_LABEL).any():
        yield from ({"range": other} for other in others)
        normalised = NORMALISED.get(seeds.inputs.shape[1]) if seeds.inputs.ndim == IMAGE_DIMENSIONS else None
        if normalised is not None and usual == USUAL_RANGES[0] and not inputs.mean and not inputs.std:
            yield {"range": usual, **normalised}


def _ranges(spec: str, inputs: Tensor) -> Sequence[tuple[float, float]]:
    """Ranges that values of seeds [seeds, ...] may have; those of image files are scaled into any."""
    if names_image_files(spec):
        return USUAL_RANGES
    least, most = float(inputs.min()), float(inputs.max())
    around = [(low, high) for low, high in USUAL_RANGES if low <= least and most <= high]
    return around[:1] or [(float(math.floor(least)), float(math.ceil(most)))]


def _tried(given: Given, options: Mapping[str, Any]) -> Trial:
    """Puts a campaign together as it would run, and takes it apart again."""
    with TemporaryDirectory(prefix="jostle-init-") as folder:
        try:
            session = assemble(given.over(**options, out=str(Path(folder) / "trial"), confirm=False))
        except UsageError as refusal:
            return Trial(options, {}, refusal)
        try:
            return Trial(options, session.figures())
        finally:
            session.release()


def _best(ways: Sequence[Trial]) -> Trial:
    """The first that can be, unless the model answers clearly better in another."""
    able = [way for way in ways if way.refused is None]
    if not able:
        assert ways[0].refused is not None
        raise ways[0].refused
    best = max(able, key=lambda way: way.accuracy or 0.0)
    return best if (best.accuracy or 0.0) - (able[0].accuracy or 0.0) >= CLEARLY else able[0]


def _recipe(given: Given, seeds: Seeds, way: Trial) -> str | None:
    """The recipe for classifiers of images, where model and seeds are such."""
    images = domain_of(seeds, given.of(InputOptions)).kind == IMAGE
    if not images or Task(way.figures["task"]) not in OF_LABELS:
        return None
    return OF_IMAGES if _tried(given, {"recipe": OF_IMAGES}).refused is None else None
