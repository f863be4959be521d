"""Models taken apart: every node alone, on what the reference computes for its inputs, and the model as a whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from jostle.frameworks.graph import Array, Graph
from jostle.frameworks.importing.imported import Imported
from jostle.frameworks.reduction.subgraphs import subgraph

WHOLE = "whole model"


@dataclass(frozen=True)
class ModelPart:
    """One node of ours, or a whole model."""

    name: str
    model: str
    node: str  # the user's, or that it is the whole
    operator: str
    graph: Graph


def parts_of(models: Mapping[str, Imported], evaluate: Callable[[Graph], Mapping[str, Array]]) -> list[ModelPart]:
    return [part for name, model in models.items() for part in _parts(name, model, evaluate)]


def _parts(name: str, model: Imported, evaluate: Callable[[Graph], Mapping[str, Array]]) -> list[ModelPart]:
    graph = model.graph
    tensors = evaluate(graph.without_training())
    alone = [
        ModelPart(
            f"{name}: {node.name}", name, model.origins[node.name], node.operator, subgraph(graph, {node.name}, tensors)
        )
        for node in graph.nodes
    ]
    return [*alone, ModelPart(name, name, WHOLE, WHOLE, graph)]
