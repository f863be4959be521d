"""The models that a campaign begins from: our own, files, and modules of torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from torch import Tensor, nn

from jostle.errors import ModelRefused
from jostle.foreign import Crash, attempt
from jostle.frameworks.drawing import single
from jostle.frameworks.edits.parameters import drawn_training
from jostle.frameworks.graph import Graph, Invalid, decode
from jostle.frameworks.models import MODELS
from jostle.frameworks.operators.all_operators import require_known, types_of
from jostle.frameworks.training import check_training
from jostle.named_objects import find_object, names_object
from jostle.randomness import seeded
from jostle.untrusted.files import check_regular, read_bounded

SUFFIXES = (".onnx", ".json")
MOST_ELEMENTS = 2**20  # of any tensor of a seed
LARGEST_DESCRIPTION = 256 * 2**20  # bytes
EACH_OPERATOR = "operators"  # a model of its own for every operator


def seed_graphs(specs: Sequence[str], operators: Sequence[str], seed: int) -> dict[str, Graph]:
    """Graphs by name, each with a training if it has parameters and an output that a loss can be taken of."""
    rng = np.random.default_rng(seed)
    graphs = {}
    for spec in specs:
        for name, graph in _graphs(spec, operators, seed, rng):
            _refuse_large(name, graph)
            graphs[name] = _trained(graph, rng)
    return graphs


def _refuse_large(name: str, graph: Graph) -> None:
    """A seed is also computed in the campaign's own process."""
    for tensor, type_ in types_of(graph).items():
        if type_.size > MOST_ELEMENTS:
            raise ModelRefused(
                f"{name}: the tensor {tensor} has {type_.size:,} elements, and {MOST_ELEMENTS:,} is the limit; "
                "give a smaller model or batch"
            )


def _graphs(spec: str, operators: Sequence[str], seed: int, rng: np.random.Generator) -> Iterator[tuple[str, Graph]]:
    path = Path(spec)
    if spec in MODELS:
        yield spec, MODELS[spec](rng)
    elif spec == EACH_OPERATOR:
        yield from ((name, single(name, rng)) for name in operators)
    elif names_object(spec):
        yield spec, _of_function(spec, seed)
    elif path.is_dir():
        yield from _of_folder(path, rng)
    elif path.is_file():
        yield spec, _of_file(path, rng)
    else:
        known = ", ".join([*MODELS, EACH_OPERATOR])
        raise ModelRefused(
            f"there is no model {spec!r}: give a file ({', '.join(SUFFIXES)}), FILE.py:function or {known}"
        )


def _of_folder(folder: Path, rng: np.random.Generator) -> Iterator[tuple[str, Graph]]:
    try:
        files = sorted(path for path in folder.iterdir() if path.suffix in SUFFIXES)
    except OSError as error:
        raise ModelRefused(f"{folder} cannot be read: {error}") from error
    if not files:
        raise ModelRefused(f"{folder} holds no models: put {' or '.join(SUFFIXES)} files there")
    for path in files:
        yield path.name, _of_file(path, rng)


def _of_file(path: Path, rng: np.random.Generator) -> Graph:
    if path.suffix == ".onnx":
        return _of_onnx(path, rng)
    if path.suffix != ".json":
        raise ModelRefused(f"{path} is no model that can be imported: give {' or '.join(SUFFIXES)}")
    try:
        graph = decode(_content(path))
        require_known(node.operator for node in graph.nodes)
        check_training(graph, types_of(graph))
    except (OSError, ValueError, Invalid) as error:
        raise ModelRefused(f"{path} describes no graph that can run: {error}") from error
    return graph


def _content(path: Path) -> bytes:
    check_regular(path)
    if path.stat().st_size > LARGEST_DESCRIPTION:
        raise ValueError(f"it is larger than {LARGEST_DESCRIPTION // 2**20} MiB")
    return read_bounded(path, LARGEST_DESCRIPTION)


def _of_onnx(path: Path, rng: np.random.Generator) -> Graph:
    try:
        import onnx  # noqa: F401
    except ImportError as error:
        raise ModelRefused(f"{path} needs onnx to be read: pip install 'jostle[onnx]'") from error
    from jostle.frameworks.importing.onnx_files import graph_from_onnx

    return _as_written(graph_from_onnx(path, rng))


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


def _trained(graph: Graph, rng: np.random.Generator) -> Graph:
    if graph.training is not None or not graph.named("parameter"):
        return graph
    output = types_of(graph)[graph.outputs[0]]
    if not output.is_float or output.size == 0:
        return graph
    return Graph(graph.leaves, graph.nodes, graph.outputs, drawn_training(output, rng))
