"""What a model takes and gives, which layers it has, and how to begin to fuzz it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from jostle.errors import PreflightFailed, UsageError
from jostle.foreign import Crash, NotOneRowPerInput, attempt
from jostle.inputs.seeds import load_seeds
from jostle.inputs.several import layout_of
from jostle.layout import DTYPES, Field, Layout
from jostle.named_objects import names_object
from jostle.options.campaign import CHANNELS_LAST, InputOptions, ModelOptions
from jostle.options.schema import Given
from jostle.records import NO_LABEL, Seeds
from jostle.session.load import seed_form
from jostle.subjects.image_shape import COLOURS, ImageShape
from jostle.subjects.instrument import as_batch, fitted, layers_on_one
from jostle.subjects.layers import Layer
from jostle.subjects.models import load_seeded, loading_of
from jostle.subjects.registry import kind_of
from jostle.subjects.subject import Description, Subject, TakenInput, Watch

IN_PYTHON = "Python"
TOKENIZER = "tokenizer.json"  # what a folder may hold beside the model


@dataclass(frozen=True)
class LayerFacts:
    """A layer that can be watched."""

    name: str
    shape: tuple[int, ...]  # of what it gives for one input
    neurons: int | None  # None where the model gives no row per input


@dataclass(frozen=True)
class Inspection:
    """What is known of a model."""

    model: str
    kind: str
    engine: str
    weights: int | None  # how many numbers in it were learnt
    batch: int | None  # the only batch size that it takes, None if any
    inputs: tuple[TakenInput, ...]
    outputs: Mapping[str, list[int]] | None  # by name their shapes for one input; None where it could not be run
    layers: tuple[LayerFacts, ...] | None  # None where it could not be run
    twins: tuple[str, ...]  # that can be made of such a model
    command: str  # to begin with
    note: str = ""  # what is missing to know more


@dataclass(frozen=True)
class _Seen:
    """What was seen of a model that ran."""

    outputs: Mapping[str, list[int]]
    layers: tuple[LayerFacts, ...]
    batch: int | None
    note: str = ""


def inspected(given: Given) -> Inspection:
    """What is known of the model that options name; it runs on a seed if there are any, else on zeros."""
    options = given.of(ModelOptions)
    subject = load_seeded(given, options.model, options.weights)
    described = _with_shapes(subject.described(), loading_of(given, options.model).shapes)
    ready, note = _ready(given, subject, described)
    seen = None if ready is None else _seen(given, *ready)
    kind = IN_PYTHON if names_object(options.model) else kind_of(options.model, options.engine).name
    return Inspection(
        model=options.model,
        kind=kind,
        engine=described.engine,
        weights=described.weights,
        batch=subject.batch if seen is None else seen.batch,
        inputs=described.inputs,
        outputs=None if seen is None else seen.outputs,
        layers=None if seen is None else seen.layers,
        twins=described.twins,
        command=_command(given, described),
        note=note if seen is None else seen.note,
    )


def _with_shapes(described: Description, shapes: Mapping[str, tuple[int, ...]]) -> Description:
    """The same, with what the user says of inputs that tell less themselves."""
    only = len(described.inputs) == 1
    names = [one.name for one in described.inputs]
    for name in shapes:
        if name not in names and (name or not only):
            raise UsageError(f"--shape {name or 'without a name'}: the model takes {', '.join(names) or 'anything'}")
    taken = [
        TakenInput(one.name, one.dtype, shapes.get(one.name, shapes.get("", one.shape) if only else one.shape))
        for one in described.inputs
    ]
    return replace(described, inputs=tuple(taken))


def _ready(given: Given, subject: Subject, described: Description) -> tuple[tuple[Subject, Tensor] | None, str]:
    """The model with an input [1, ...] that it can run on, or what is missing for one."""
    inputs = given.of(InputOptions)
    if "seeds" in given:
        seeds = load_seeds(inputs.seeds, seed_form(inputs))
        return (subject.taking(layout_of(seeds)), seeds.inputs[:1]), ""
    if inputs.tokenizer is not None:
        return None, "layers and outputs: give some texts as --seeds"
    open_ones = [one for one in described.inputs if one.shape is None or None in one.shape]
    if open_ones or not described.inputs:
        wanted = " ".join(f"--shape {shlex.quote(f'{one.name}={_example(one)}')}" for one in open_ones)
        return None, f"layers and outputs: give {f'{wanted} or ' if wanted else ''}some --seeds"
    fields = [_field(one) for one in described.inputs]
    if len(fields) > 1:
        layout = Layout(tuple(fields))
        return (subject.taking(layout), torch.zeros(1, sum(field.size for field in fields))), ""
    (field,) = fields
    zeros = torch.zeros(1, *field.shape, dtype=torch.int64 if field.whole else torch.float32)
    return (subject.taking(None), zeros.movedim(-1, 1) if inputs.layout == CHANNELS_LAST else zeros), ""


def _example(one: TakenInput) -> str:
    """Sizes as --shape takes them, with SIZE where a user has to fill one in."""
    return "SIZES" if one.shape is None else "x".join("SIZE" if size is None else str(size) for size in one.shape)


def _field(one: TakenInput) -> Field:
    sizes = tuple(size for size in one.shape or () if size is not None)
    return Field(one.name, sizes, DTYPES.get(one.dtype or "", torch.float32))


def _seen(given: Given, subject: Subject, sample: Tensor) -> _Seen:
    """What the model does with the sample [1, ...]."""
    inputs = given.of(InputOptions)
    single = fitted(subject, inputs, sample)
    found = attempt(partial(_ran, single, sample, Watch(mean=inputs.mean, std=inputs.std)))
    if isinstance(found, Crash):
        data = "these seeds" if "seeds" in given else f"zeros of shape {list(sample.shape[1:])}"
        raise PreflightFailed(
            f"the model fails on {data} ({found.error} in {found.where}: {found.message}): give --seeds that it takes"
        )
    return found


def _ran(subject: Subject, sample: Tensor, watch: Watch) -> _Seen:
    layers, batch = layers_on_one(subject, sample), as_batch(subject, sample)
    outputs = {name: shape[1:] for name, shape in subject.outputs(batch).items()}
    named = Watch([layer.name for layer in layers], mean=watch.mean, std=watch.std)
    seeds = Seeds(batch, torch.full((len(batch),), NO_LABEL), ("",) * len(batch))
    try:
        activations = subject.target(named).run(seeds.as_candidates()).activations
    except NotOneRowPerInput as error:
        facts = tuple(LayerFacts(layer.name, layer.shape, None) for layer in layers)
        return _Seen(
            subject.outputs(batch),
            facts,
            subject.batch,
            f"how to judge it: {error}; give FILE.py:function that turns it round",
        )
    return _Seen(outputs, tuple(_facts(layer, activations) for layer in layers), subject.batch)


def _facts(layer: Layer, activations: Mapping[str, Tensor]) -> LayerFacts:
    return LayerFacts(layer.name, layer.shape, activations[layer.name].shape[1])


def _command(given: Given, described: Description) -> str:
    """How a user may begin; words in capitals are theirs to replace."""
    options, inputs = given.of(ModelOptions), given.of(InputOptions)
    words = ["jostle", "fuzz", options.model, "--seeds", inputs.seeds if "seeds" in given else _seeds(given, described)]
    if "seeds" not in given:
        words += [word for pair in image_options(described.inputs).items() for word in pair]
    words += [part for name in ("weights", "engine") if name in given for part in (f"--{name}", given.get(name))]
    words += [part for shape in options.shape for part in ("--shape", shape) if _is_array_file(given)]
    words += ["--layout", CHANNELS_LAST] if inputs.layout == CHANNELS_LAST and "--layout" not in words else []
    words += ["--tokenizer", tokenizer] if (tokenizer := tokenizer_of(given)) else []
    words += ["--trust-model"] if options.trust_model else []
    return shlex.join(words)


def _is_array_file(given: Given) -> bool:
    """Whether the model is a file that tells of its inputs, and takes sizes that it leaves open."""
    options = given.of(ModelOptions)
    return not names_object(options.model) and bool(kind_of(options.model, options.engine).engines)


def tokenizer_of(given: Given) -> str | None:
    """The tokenizer that the user names, or that lies in the model's folder."""
    beside = Path(given.of(ModelOptions).model) / TOKENIZER
    return given.of(InputOptions).tokenizer or (str(beside) if beside.is_file() else None)


def _seeds(given: Given, described: Description) -> str:
    if tokenizer_of(given) is not None:
        return "TEXTS.txt"
    if len(described.inputs) > 1:
        return "ARRAYS.npz"
    return "IMAGES/" if image_options(described.inputs) else "ARRAYS.npy"


def image_options(taken: Sequence[TakenInput]) -> dict[str, str]:
    """By flag, how image files become what the only input takes, if that looks like an image."""
    image = ImageShape.of_row(taken[0].shape or ()) if len(taken) == 1 else None
    return {} if image is None or image.channels not in COLOURS else image.options
