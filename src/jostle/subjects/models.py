"""The models that options name: the one that is fuzzed, and its twin or others of the same task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from torch import Tensor

from jostle.layout import Layout
from jostle.named_objects import names_object
from jostle.options.campaign import InputOptions, ModelOptions, PanelOptions, RunOptions
from jostle.options.choices import chosen
from jostle.options.schema import Given
from jostle.randomness import seeded
from jostle.subjects.instrument import Instrumentation, Instrumented, check_takes, instrument
from jostle.subjects.registry import TWINS, load
from jostle.subjects.subject import Subject
from jostle.subjects.tokenizer import load_tokenizer

TEXT_LENGTH = 128  # tokens of each text, unless the user says how many


@dataclass(frozen=True)
class Models:
    """A model, and what it is compared with."""

    own: Subject
    twin: Subject | None
    others: Mapping[str, Subject]  # of the same task, by the names that chose them

    @property
    def digest(self) -> str:
        """Equal for the same models."""
        return "".join(one.digest for one in (self.own, self.twin, *self.others.values()) if one is not None)

    def taking(self, layout: Layout | None) -> Models:
        """All of them, given several inputs in one row if there is a layout, else one."""
        others = {spec: other.taking(layout) for spec, other in self.others.items()}
        twin = None if self.twin is None else self.twin.taking(layout)
        return Models(self.own.taking(layout), twin, others)

    def instrumented(self, watching: Instrumentation, sample: Tensor) -> Instrumented:
        """All of them as one target; their layers are those that run on inputs of the sample [some, ...]."""
        for spec, other in self.others.items():
            check_takes(f"--models {spec}", other, watching.inputs, sample)
        return instrument(watching, self.own, sample, self.twin, list(self.others.values()))


def load_models(given: Given) -> Models:
    """All models that options name."""
    options = given.of(ModelOptions)
    return with_companions(given, load_seeded(given, options.model, options.weights))


def with_companions(given: Given, own: Subject, loaded: Mapping[str, Subject] = MappingProxyType({})) -> Models:
    """A model with the twin or the others that options name, of which some may be loaded already."""
    twin = given.of(ModelOptions).twin
    return Models(
        own,
        None if twin is None else loaded.get(twin) or twin_or_model(given, "--twin", twin, own),
        {spec: loaded.get(spec) or load_seeded(given, spec) for spec in given.of(PanelOptions).models},
    )


def load_seeded(given: Given, spec: str, weights: str | None = None) -> Subject:
    """The model behind a name; one that draws its weights draws the same each time."""
    trusted, inputs = given.of(ModelOptions).trust_model, given.of(InputOptions)
    subject = seeded(given.of(RunOptions).seed, lambda: load(spec, trusted, weights))
    if inputs.tokenizer is None:
        return subject
    return subject.reading(load_tokenizer(inputs.tokenizer, inputs.length or TEXT_LENGTH, inputs.pad))


def twin_or_model(given: Given, option: str, name: str, own: Subject, draw: int = 0) -> Subject:
    """The model's twin of that name, or else the model behind it; the draw chooses among twins with random weights."""
    twin = own.twin(name, given.of(RunOptions).seed + draw)
    if twin is not None:
        return twin
    if not names_object(name) and "." not in name:
        chosen(option, name, [*TWINS, "weights16:50%", "FILE.py:function", "FILE.pt2"])
    return load_seeded(given, name)
