"""The models that a campaign begins from: our own, files, and modules of torch."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from torch import Tensor, nn

from jostle.errors import ModelRefused, UsageError
from jostle.foreign import Crash, attempt
from jostle.frameworks.drawing import single
from jostle.frameworks.edits.parameters import drawn_training
from jostle.frameworks.graph import Graph, Invalid, decode
from jostle.frameworks.importing.imported import Imported, as_it_is
from jostle.frameworks.importing.onnx_inputs import NOTHING_GIVEN, GivenInputs
from jostle.frameworks.models import MODELS
from jostle.frameworks.operators.all_operators import require_known, types_of
from jostle.frameworks.size_limit import refuse_beyond_memory
from jostle.frameworks.training import check_training
from jostle.named_objects import find_object, names_object
from jostle.randomness import seeded
from jostle.untrusted.files import check_regular, read_bounded

SUFFIXES = (".onnx", ".json")
LARGEST_DESCRIPTION = 256 * 2**20  # bytes
EACH_OPERATOR = "operators"  # a model of its own for every operator


@dataclass(frozen=True)
class ModelForm:
    """How models are read."""

    operators: Sequence[str] = ()  # of which there is a model each, where those are asked for
    seed: int = 0
    given: GivenInputs = NOTHING_GIVEN  # of .onnx files
    partly: bool = False  # .onnx files are taken also if something in them has no counterpart


def seed_graphs(specs: Sequence[str], operators: Sequence[str], seed: int) -> dict[str, Graph]:
    return {name: model.graph for name, model in read_models(specs, ModelForm(operators, seed)).items()}


def read_models(specs: Sequence[str], form: ModelForm) -> dict[str, Imported]:
    """Models by name, each with a training if it has parameters and an output that a loss can be taken of."""
    rng = np.random.default_rng(form.seed)
    models = {}
    for spec in specs:
        for name, imported in _models(spec, form, rng):
            _refuse_large(name, imported.graph)
            models[name] = replace(imported, graph=with_training(imported.graph, rng))
    _refuse_unknown_names(form.given, models.values())
    return models


def _refuse_large(name: str, graph: Graph) -> None:
    """A seed is also computed in the campaign's own process."""
    try:
        refuse_beyond_memory(types_of(graph).values())
    except ModelRefused as error:
        raise ModelRefused(f"{name}: {error}") from error


def _refuse_unknown_names(given: GivenInputs, models: Collection[Imported]) -> None:
    """Each size and each array must be of some model."""
    symbols = sorted(frozenset().union(*(model.symbols for model in models)))
    inputs = sorted(frozenset().union(*(model.inputs for model in models)))
    for option, names, known in (("shape", given.sizes, symbols), ("inputs", given.arrays, inputs)):
        unknown = [name for name in names if name not in known]
        if unknown:
            what = "leaves a size of this name open" if option == "shape" else "has an input of this name"
            fix = f"; there are {', '.join(known)}" if known else ", which is of .onnx files"
            raise UsageError(f"--{option} {unknown[0]}: no model {what}{fix}")


def _models(spec: str, form: ModelForm, rng: np.random.Generator) -> Iterator[tuple[str, Imported]]:
    path = Path(spec)
    if spec in MODELS:
        yield spec, as_it_is(MODELS[spec](rng))
    elif spec == EACH_OPERATOR:
        yield from ((name, as_it_is(single(name, rng))) for name in form.operators)
    elif names_object(spec):
        yield spec, as_it_is(_of_function(spec, form.seed))
    elif path.is_dir():
        yield from _of_folder(path, form, rng)
    elif path.is_file():
        yield spec, _of_file(path, form, rng)
    else:
        known = ", ".join([*MODELS, EACH_OPERATOR])
        raise ModelRefused(
            f"there is no model {spec!r}: give a file ({', '.join(SUFFIXES)}), FILE.py:function or {known}"
        )


def _of_folder(folder: Path, form: ModelForm, rng: np.random.Generator) -> Iterator[tuple[str, Imported]]:
    try:
        files = sorted(path for path in folder.iterdir() if path.suffix in SUFFIXES)
    except OSError as error:
        raise ModelRefused(f"{folder} cannot be read: {error}") from error
    if not files:
        raise ModelRefused(f"{folder} holds no models: put {' or '.join(SUFFIXES)} files there")
    for path in files:
        yield path.name, _of_file(path, form, rng)


def _of_file(path: Path, form: ModelForm, rng: np.random.Generator) -> Imported:
    if path.suffix == ".onnx":
        return _of_onnx(path, form, rng)
    if path.suffix != ".json":
        raise ModelRefused(f"{path} is no model that can be imported: give {' or '.join(SUFFIXES)}")
    try:
        graph = decode(_content(path))
        require_known(node.operator for node in graph.nodes)
        check_training(graph, types_of(graph))
    except (OSError, ValueError, Invalid) as error:
        raise ModelRefused(f"{path} describes no graph that can run: {error}") from error
    return as_it_is(graph)


def _content(path: Path) -> bytes:
    check_regular(path)
    if path.stat().st_size > LARGEST_DESCRIPTION:
        raise ValueError(f"it is larger than {LARGEST_DESCRIPTION // 2**20} MiB")
    return read_bounded(path, LARGEST_DESCRIPTION)


def _of_onnx(path: Path, form: ModelForm, rng: np.random.Generator) -> Imported:
    try:
        import onnx  # noqa: F401
    except ImportError as error:
        raise ModelRefused(f"{path} needs onnx to be read: pip install 'jostle[onnx]'") from error
    from jostle.frameworks.importing.onnx_files import partial_onnx, whole_onnx

    imported = (partial_onnx if form.partly else whole_onnx)(path, rng, form.given)
    return replace(imported, graph=_as_written(imported.graph))


def _of_function(spec: str, seed: int) -> Graph:
    """Of a function that returns a module and an example of its input."""
    made = attempt(lambda: seeded(seed, lambda: _called(find_object(spec))))
    if isinstance(made, Crash):
        raise ModelRefused(f"{spec} fails with {made.error} in {made.where}: {made.message}; fix it")
    match made:
        case (nn.Module() as module, Tensor() as example):
            return _of_module(spec, module, example)
    raise ModelRefused(f"{spec} must return (module, example input): a torch module and a tensor")


def _of_module(spec: str, module: nn.Module, example: Tensor) -> Graph:
    from jostle.frameworks.importing.torch_modules import graph_from_module

    try:
        return _as_written(graph_from_module(module.eval(), example))
    except ModelRefused as error:
        raise ModelRefused(f"{spec}: {error}") from error


def _as_written(graph: Graph) -> Graph:
    """The same graph as a file gives it back, with arrays in C order, whatever a library made of them."""
    return decode(graph.encoded)


def _called(function: object) -> object:
    return function() if callable(function) else function


def with_training(graph: Graph, rng: np.random.Generator) -> Graph:
    """The same with a training, if it has parameters and an output that a loss can be taken of."""
    if graph.training is not None or not graph.named("parameter"):
        return graph
    output = types_of(graph)[graph.outputs[0]]
    if not output.is_float or output.size == 0:
        return graph
    return Graph(graph.leaves, graph.nodes, graph.outputs, drawn_training(output, rng))
