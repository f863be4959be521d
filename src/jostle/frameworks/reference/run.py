"""Computes a whole graph, its gradient or its training in float64."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor

from jostle.frameworks.backends.program import (
    GRADIENT,
    PREDICT,
    Call,
    calls,
    cotangents_of,
    differentiated,
    float_outputs,
)
from jostle.frameworks.graph import Array, Graph, Training
from jostle.frameworks.reference.formulas import FORMULAS
from jostle.frameworks.reference.indexing import CHECKS
from jostle.frameworks.reference.numbers import held, wrapped
from jostle.frameworks.reference.selection import SELECTION_CHECKS
from jostle.frameworks.reference.training import STEPS, Memory, loss
from jostle.frameworks.reference.undefined import Undefined

Tensors = dict[str, Tensor]
Compute = Callable[[Call, list[Tensor]], Tensor]  # one node of its inputs


def computed(call: Call, inputs: list[Tensor]) -> Tensor:
    """By its formula; what is empty needs none. Undefined if it has no meaning."""
    check = CHECKS.get(call.node.operator) or SELECTION_CHECKS.get(call.node.operator)
    if check is not None:
        check(call, *inputs)
    if call.type.size == 0:
        return held(np.zeros(call.type.shape, call.type.dtype))
    try:
        return wrapped(FORMULAS[call.node.operator](call, *inputs), call.type.dtype)
    except torch.linalg.LinAlgError as error:  # type: ignore[attr-defined]  # documented, but not re-exported
        raise Undefined(f"{call.node.operator} of a matrix that LAPACK cannot factor") from error


def evaluate(graph: Graph, compute: Compute = computed) -> dict[str, Array]:
    """All tensors of the graph; floats are rounded to float32 nowhere. Undefined if one has no meaning."""
    with torch.no_grad():
        return as_arrays(forward(graph, leaves_of(graph), compute))


def evaluate_anyhow(graph: Graph) -> dict[str, Array]:
    """The same, with ones where a result has no meaning: good enough to run what follows."""
    return evaluate(graph, _computed_anyhow)


def _computed_anyhow(call: Call, inputs: list[Tensor]) -> Tensor:
    try:
        return computed(call, inputs)
    except Undefined:
        return held(np.ones(call.type.shape, call.type.dtype))


def result(graph: Graph, phase: str, seed: int = 0) -> dict[str, Array]:
    """What a program of this phase leaves, in float64, int64 and bool."""
    if phase == PREDICT:
        tensors = evaluate(graph)
        return {name: tensors[name] for name in graph.outputs}
    if phase == GRADIENT:
        return as_arrays(_gradients(graph, seed))
    return as_arrays(_trained(graph))


def leaves_of(graph: Graph) -> Tensors:
    return {name: held(leaf.array) for name, leaf in graph.leaves.items()}


def as_arrays(tensors: Mapping[str, Tensor]) -> dict[str, Array]:
    return {name: values.detach().numpy() for name, values in tensors.items()}


def forward(graph: Graph, leaves: Mapping[str, Tensor], compute: Compute = computed) -> Tensors:
    """All tensors of the graph on these leaves."""
    tensors = dict(leaves)
    for call in calls(graph):
        tensors[call.node.name] = compute(call, [tensors[name] for name in call.node.inputs])
    return tensors


def _gradients(graph: Graph, seed: int) -> Tensors:
    wanted, leaves = differentiated(graph), leaves_of(graph)
    for name in wanted:
        leaves[name].requires_grad_()
    tensors = forward(graph, leaves)
    cotangents = cotangents_of(graph, seed)
    weighed = sum(
        ((tensors[name] * held(cotangents[f"cotangent_{name}"])).sum() for name in float_outputs(graph)),
        torch.zeros((), dtype=torch.float64),
    )
    outputs = {name: tensors[name] for name in graph.outputs}
    gradients = gradients_of(weighed, [leaves[name] for name in wanted])
    return outputs | {f"d_{name}": gradient for name, gradient in zip(wanted, gradients, strict=True)}


def gradients_of(amount: Tensor, leaves: list[Tensor]) -> list[Tensor]:
    """The gradient by each, 0 where nothing depends on it."""
    if not amount.requires_grad or not leaves:
        return [torch.zeros_like(leaf) for leaf in leaves]
    gradients = torch.autograd.grad(amount, leaves, allow_unused=True)
    return [torch.zeros_like(leaf) if one is None else one for leaf, one in zip(leaves, gradients, strict=True)]


def _trained(graph: Graph) -> Tensors:
    training = graph.training
    assert training is not None, "there is nothing to train"
    leaves = leaves_of(graph)
    names = [name for name in graph.named("parameter") if leaves[name].is_floating_point()]
    memories: dict[str, Memory] = {name: {} for name in names}
    losses = []
    for step in range(1, training.steps + 1):
        leaves = leaves | {name: leaves[name].detach().requires_grad_() for name in names}
        amount, gradients = _loss_and_gradients(graph, training, leaves, names)
        losses.append(amount)
        with torch.no_grad():
            for name, gradient in zip(names, gradients, strict=True):
                step_of = STEPS[training.optimiser]
                leaves[name] = step_of(leaves[name], gradient, memories[name], training.settings, step)
    return {"loss": torch.stack(losses), **{name: leaves[name] for name in graph.named("parameter")}}


def _loss_and_gradients(
    graph: Graph, training: Training, leaves: Tensors, names: list[str]
) -> tuple[Tensor, list[Tensor]]:
    parameters = [leaves[name] for name in names]
    amount = loss(training, forward(graph, leaves)[graph.outputs[0]], parameters)
    return amount.detach(), gradients_of(amount, parameters)
