"""Modules of torch as graphs, through what torch.export makes of them."""

from __future__ import annotations

import logging
import operator
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind, TensorArgument
from torch.fx import Node as ExportedNode

from jostle.errors import ModelRefused
from jostle.foreign import Crash, attempt
from jostle.frameworks.graph import CONSTANT, DTYPES, INPUT, PARAMETER, Array, Graph, Invalid
from jostle.frameworks.importing.aten import Untranslated, dtype_of
from jostle.frameworks.importing.aten_convolutions import CONVOLUTIONS
from jostle.frameworks.importing.aten_elementwise import ELEMENTWISE, SAME
from jostle.frameworks.importing.aten_indexing import INDEXING
from jostle.frameworks.importing.aten_layers import LAYERS
from jostle.frameworks.importing.aten_normalisation import NORMALISATION
from jostle.frameworks.importing.aten_pooling import POOLING
from jostle.frameworks.importing.aten_reductions import REDUCTIONS
from jostle.frameworks.importing.aten_sampling import SAMPLING
from jostle.frameworks.importing.aten_shaping import SHAPING
from jostle.frameworks.importing.building import GraphBuilder

TRANSLATIONS = {
    **ELEMENTWISE,
    **REDUCTIONS,
    **SHAPING,
    **INDEXING,
    **CONVOLUTIONS,
    **POOLING,
    **NORMALISATION,
    **SAMPLING,
    **LAYERS,
}
# What reading a module raises that is unlike any we know.
UNREADABLE = (LookupError, ValueError, TypeError, ArithmeticError, AttributeError, RuntimeError)
Values = dict[str, Any]  # by the exporter's name: the name in the graph, or several


def graph_from_module(module: nn.Module, example: Tensor) -> Graph:
    """The module on an example as a graph that computes the same; its buffers become constants."""
    exported = _exported(module, example)
    builder = GraphBuilder()
    try:
        values = _leaves(exported, example, builder)
        _nodes(exported, values, builder)
        return builder.graph(_outputs(exported, values))
    except (Invalid, *UNREADABLE) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ModelRefused(f"{type(module).__name__} cannot be described as a graph: {reason}") from error


def _exported(module: nn.Module, example: Tensor) -> ExportedProgram:
    """What torch makes of the module, whose own code it runs."""
    exported = attempt(lambda: _export(module, example))
    if isinstance(exported, Crash):
        raise ModelRefused(f"torch.export refuses {type(module).__name__}: {exported.message or exported.error}")
    return exported


@contextmanager
def _silence() -> Iterator[None]:
    """Nothing from torch's loggers, which write pages where one line says what is wrong."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


def _export(module: nn.Module, example: Tensor) -> ExportedProgram:
    with warnings.catch_warnings(), _silence():
        warnings.simplefilter("ignore")
        # without decompositions, but with changes in place written as new tensors
        exported: ExportedProgram = torch.export.export(module, (example,)).run_decompositions({})
        return exported


def _leaves(exported: ExportedProgram, example: Tensor, builder: GraphBuilder) -> Values:
    stored: Mapping[str, Tensor] = {**exported.state_dict, **exported.constants}
    values: Values = {}
    for spec in exported.graph_signature.input_specs:
        if spec.kind == InputKind.USER_INPUT:
            role, tensor = INPUT, example
        else:
            role, tensor = PARAMETER if spec.kind == InputKind.PARAMETER else CONSTANT, stored[str(spec.target)]
        if spec.arg.name is not None:
            values[spec.arg.name] = builder.leaf(spec.arg.name, role, _array(spec.arg.name, tensor))
    return values


def _array(name: str, tensor: Tensor) -> Array:
    if dtype_of(tensor) not in DTYPES:
        raise Invalid(f"{name} is of {dtype_of(tensor)}, not of {', '.join(DTYPES)}")
    return tensor.detach().cpu().numpy().copy()


def _nodes(exported: ExportedProgram, values: Values, builder: GraphBuilder) -> None:
    """All that is computed; ModelRefused with a list of all that has no counterpart."""
    untranslated: dict[str, None] = {}
    for node in exported.graph.nodes:
        if node.op != "call_function" or (node.target is operator.getitem and not node.users):
            continue
        try:
            _require_translation(node)
            if all(one.op != "call_function" or one.name in values for one in node.all_input_nodes):
                values[node.name] = _translated(node, values, builder)
        except Untranslated as error:
            untranslated[str(error)] = None
    if untranslated:
        raise ModelRefused(f"the model has operators without a counterpart: {', '.join(untranslated)}")


def _aten_name(node: ExportedNode) -> str:
    schema = getattr(node.target, "_schema", None)
    return str(node.target) if schema is None else str(schema.name).removeprefix("aten::")


def _is_constant(node: ExportedNode) -> bool:
    """Whether it gives the same tensor every time."""
    return not node.all_input_nodes and torch.Tag.nondeterministic_seeded not in getattr(node.target, "tags", ())


def _require_translation(node: ExportedNode) -> None:
    known = node.target is operator.getitem or _aten_name(node) in TRANSLATIONS or _aten_name(node) in SAME
    if not known and not _is_constant(node):
        raise Untranslated(_aten_name(node))


def _translated(node: ExportedNode, values: Values, builder: GraphBuilder) -> Any:
    if node.target is operator.getitem:
        return _picked(node, values)
    name, target = _aten_name(node), node.target
    if _is_constant(node) and callable(target):
        return builder.leaf(name, CONSTANT, target(*node.args, **node.kwargs).numpy())
    arguments = _arguments(node, values)
    if name in SAME:
        return arguments[SAME[name]]
    return TRANSLATIONS[name](builder, arguments, node.meta.get("val"))


def _picked(node: ExportedNode, values: Values) -> Any:
    """One of several results; of some operators we have only the first."""
    source, place = node.all_input_nodes[0], node.args[1]
    results = values[source.name]
    if not isinstance(place, int) or place >= len(results):
        raise Untranslated(f"result {place} of {source.name}")
    return results[place]


def _arguments(node: ExportedNode, values: Values) -> dict[str, Any]:
    """What the operator is given, by the names that torch declares; tensors by their names in the graph."""
    declared = getattr(node.target, "_schema", None)
    if declared is None:
        return {}
    given = {argument.name: argument.default_value for argument in declared.arguments if argument.has_default_value()}
    given |= dict(zip((argument.name for argument in declared.arguments), node.args, strict=False))
    given |= node.kwargs
    return {name: _named(value, values) for name, value in given.items()}


def _named(value: Any, values: Values) -> Any:
    if isinstance(value, ExportedNode):
        return values[value.name]
    return [_named(one, values) for one in value] if isinstance(value, list | tuple) else value


def _outputs(exported: ExportedProgram, values: Values) -> list[str]:
    given = [spec.arg for spec in exported.graph_signature.output_specs if spec.kind == OutputKind.USER_OUTPUT]
    if not given or not all(isinstance(one, TensorArgument) for one in given):
        raise Invalid("it returns something that is no tensor")
    return [values[one.name] for one in given]
