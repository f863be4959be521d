"""The models that options name: the one that is fuzzed, and its twins or others of the same task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from torch import Tensor

from jostle.digests import bug_number
from jostle.errors import ModelRefused, UsageError
from jostle.layout import Layout
from jostle.named_objects import names_object
from jostle.options.campaign import CHANNELS_LAST, InputOptions, ModelOptions, PanelOptions, RunOptions
from jostle.options.choices import chosen
from jostle.options.schema import Given
from jostle.randomness import seeded
from jostle.subjects.instrument import Instrumentation, Instrumented, check_takes, instrument
from jostle.subjects.registry import TWINS, load
from jostle.subjects.subject import TORCH, Loading, Subject
from jostle.subjects.tokenizer import load_tokenizer
from jostle.subjects.twin_layers import TwinLayers
from jostle.subjects.twin_making import COMPILED, WORDS, TwinMaking, is_drawn
from jostle.targets.twins import variants

TEXT_LENGTH = 128  # tokens of each text, unless the user says how many
NONE_LOADED: Mapping[str, Subject] = MappingProxyType({})


@dataclass(frozen=True)
class Models:
    """A model, and what it is compared with."""

    own: Subject
    others: Mapping[str, Subject]  # of the same task, by the names that chose them
    twins: Mapping[str, Subject] = field(default_factory=dict)  # by the names that chose them
    made: frozenset[str] = frozenset()  # twins that were written to files, or found there
    refused: Mapping[str, str] = field(default_factory=dict)  # by twin that could not be made, why
    layout: Layout | None = None  # where in a row each of several inputs lies

    def taking(self, layout: Layout | None) -> Models:
        """All of them, given several inputs in one row if there is a layout, else one."""
        others = {spec: other.taking(layout) for spec, other in self.others.items()}
        return replace(self, own=self.own.taking(layout), others=others, layout=layout)

    def with_twins(self, given: Given, making: TwinMaking, loaded: Mapping[str, Subject] = NONE_LOADED) -> Models:
        """The same beside the twins that options name; one that cannot be made is left out, if others are left."""
        twins: dict[str, Subject] = {}
        refused: dict[str, str] = {}
        names = given.of(ModelOptions).twin
        for name in names:
            try:
                found = loaded.get(name) or twin_or_model(given, "--twin", name, self.own, making)
                twins[name] = found.taking(self.layout)
            except (UsageError, ModelRefused) as refusal:
                if len(names) == 1:
                    raise
                refused[name] = str(refusal)
        if refused and not twins:
            raise ModelRefused(f"none of the twins can be made: {next(iter(refused.values()))}")
        return replace(self, twins=twins, refused=refused, made=frozenset(filter(making.holds, twins)))

    def instrumented(self, watching: Instrumentation, sample: Tensor) -> Instrumented:
        """All of them as one target; their layers are those that run on inputs of the sample [some, ...]."""
        for spec, other in self.others.items():
            check_takes(f"--models {spec}", other, watching.inputs, sample)
        model = instrument(watching, self.own, sample, self.twins, list(self.others.values()))
        twins = "".join(self._digest(name, twin) for name, twin in self.twins.items())
        return replace(
            model,
            notes=tuple(f"left out: {why}" for why in self.refused.values()),
            digest=model.digest + twins,
            twin_layers=self._layers(watching, sample),
            threads_vary=self._threads_vary(),
        )

    def _threads_vary(self) -> bool:
        """Whether torch runs all of them; other runtimes, and programs that torch compiled, keep their threads."""
        subjects = (self.own, *self.others.values(), *self.twins.values())
        return COMPILED not in self.twins and all(one.described().engine == TORCH for one in subjects)

    def _layers(self, watching: Instrumentation, sample: Tensor) -> TwinLayers | None:
        if not self.twins:
            return None
        named = {variant: self.twins[name] for variant, name in variants(list(self.twins)).items()}
        return TwinLayers(self.own, named, sample, watching)

    def _digest(self, name: str, twin: Subject) -> str:
        """Of a twin that we made, the name, because another run may write the same model in other bytes."""
        return f"{bug_number(name):016x}" if name in self.made else twin.digest


def load_models(given: Given, loaded: Mapping[str, Subject] = NONE_LOADED) -> Models:
    """The model that options name and others of the same task, without twins, which are made once seeds are known."""
    options = given.of(ModelOptions)
    own = load_seeded(given, options.model, options.weights)
    _check_shapes(own, loading_of(given, options.model).shapes)
    return with_others(given, own, loaded)


def _check_shapes(subject: Subject, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuses sizes of inputs that there are not."""
    names = [one.name for one in subject.described().inputs]
    for name in shapes:
        if name and name not in names:
            raise ModelRefused(f"--shape {name}: the model takes {', '.join(names) or 'inputs without names'}")


def with_others(given: Given, own: Subject, loaded: Mapping[str, Subject] = NONE_LOADED) -> Models:
    """A model with the others of the same task that options name, of which some may be loaded already."""
    return Models(own, {spec: loaded.get(spec) or load_seeded(given, spec) for spec in given.of(PanelOptions).models})


def load_seeded(given: Given, spec: str, weights: str | None = None) -> Subject:
    """The model behind a name; one that draws its weights draws the same each time."""
    inputs, how = given.of(InputOptions), loading_of(given, spec)
    subject = seeded(given.of(RunOptions).seed, lambda: load(spec, weights=weights, how=how))
    if inputs.layout == CHANNELS_LAST:
        return subject.channels_last()
    if inputs.tokenizer is None:
        return subject
    return subject.reading(load_tokenizer(inputs.tokenizer, inputs.length or TEXT_LENGTH, inputs.pad))


def loading_of(given: Given, spec: str) -> Loading:
    """How options want the file of this name loaded; engine and shapes are of the model that is fuzzed."""
    options = given.of(ModelOptions)
    if spec != options.model:
        return Loading(options.trust_model)
    pairs = (text.rpartition("=")[::2] for text in options.shape)
    shapes = {name: tuple(map(int, sizes.split("x"))) for name, sizes in pairs}
    return Loading(options.trust_model, options.engine, shapes)


def making_of(given: Given, sample: Tensor, folder: Path) -> TwinMaking:
    """What twins are made from, given seeds [some, ...] and where those are kept that are files."""
    inputs = given.of(InputOptions)
    return TwinMaking(sample, folder, given.of(RunOptions).seed, inputs.mean, inputs.std)


def twin_or_model(given: Given, option: str, name: str, own: Subject, making: TwinMaking) -> Subject:
    """The model's twin of that name, or else the model behind it."""
    twin = own.twin(name, making)
    if isinstance(twin, Path):
        return _load_made(given, option, name, twin)
    if twin is not None:
        return twin
    if name in WORDS or is_drawn(name):
        raise ModelRefused(f"{option} {name} cannot be made of this kind of model: jostle inspect MODEL says which can")
    if not names_object(name) and "." not in name and not Path(name).exists():
        chosen(option, name, [*TWINS, "weights16:50%", "FILE.py:function", "FILE.onnx"])
    return load_seeded(given, name)


def _load_made(given: Given, option: str, name: str, path: Path) -> Subject:
    try:
        return load_seeded(given, str(path))
    except ModelRefused as refusal:
        raise ModelRefused(f"{option} {name} was made, and then: {refusal}") from refusal
