"""Kernels of dropout that are wrong do not get away with it, whatever they draw."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from jostle.frameworks.backends.program import GRADIENT, PREDICT, arrays_of
from jostle.frameworks.backends.torch.programs import EAGER
from jostle.frameworks.graph import INPUT, Graph, Leaf, Node, TensorType
from jostle.frameworks.operators.dropout import DRAWS, FALSE_ALARM, share_of_zeros
from jostle.frameworks.reference.run import result

Dropout = Callable[[Tensor, float], Tensor]


def dropped(operator: str, **attributes: Any) -> Graph:
    attributes = {"rate": 0.5, "seed": 7, "layer": False, **attributes}
    x = Leaf(INPUT, np.random.default_rng(0).uniform(1, 2, (6, 5)))
    return Graph({"x": x}, (Node("y", operator, ("x",), attributes),), ("y",))


def is_right(graph: Graph, phase: str, dropout: Dropout) -> bool:
    """Whether the program gives what it should where this takes the place of torch's dropout."""
    names: dict[str, Any] = {**arrays_of(graph, phase), "dropout": lambda x, rate, training: dropout(x, rate)}
    exec(EAGER.program(graph, phase).replace("F.dropout(", "dropout("), names)
    return all(np.allclose(names["result"][name], array) for name, array in result(graph, phase).items())


def kept(x: Tensor, rate: float) -> Tensor:
    return torch.rand(x.shape) >= rate


def right(x: Tensor, rate: float) -> Tensor:
    return x * kept(x, rate) / (1 - rate)


def same_mask_in_every_call(x: Tensor, rate: float) -> Tensor:
    torch.manual_seed(0)
    return right(x, rate)


def neighbours_alike(x: Tensor, rate: float) -> Tensor:
    mask = kept(x.flatten()[::2], rate).repeat_interleave(2).reshape(x.shape)
    return x * mask / (1 - rate)


def with_another_gradient(x: Tensor, rate: float) -> Tensor:
    """The mask of the backward pass is drawn anew."""
    mask, other = kept(x, rate) / (1 - rate), kept(x, rate) / (1 - rate)
    return x * other + (x * (mask - other)).detach()


WRONG: Mapping[str, tuple[Graph, str, Dropout]] = {
    "too few zeros": (dropped("dropout_share", of="elements"), PREDICT, lambda x, rate: right(x, rate - 0.03)),
    "too many zeros": (dropped("dropout_share", of="elements"), PREDICT, lambda x, rate: right(x, rate + 0.03)),
    "neighbours alike": (dropped("dropout_share", of="neighbours"), PREDICT, neighbours_alike),
    "calls alike": (dropped("dropout_share", of="calls"), PREDICT, same_mask_in_every_call),
    "no scale": (dropped("dropout_distance"), PREDICT, lambda x, rate: x * kept(x, rate)),
    "parts of x": (dropped("dropout_distance"), PREDICT, lambda x, rate: x * torch.rand(x.shape)),
    "another mask backward": (dropped("dropout_distance"), GRADIENT, with_another_gradient),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_kernel_is_seen_and_a_right_one_passes(case: str) -> None:
    graph, phase, wrong = WRONG[case]
    torch.manual_seed(1)
    assert not is_right(graph, phase, wrong)
    assert is_right(graph, phase, right)


@pytest.mark.parametrize("rate", [0.1, 0.25, 0.5, 0.9])
@pytest.mark.parametrize("of", ["elements", "neighbours", "calls"])
def test_a_share_is_drawn_often_enough_for_a_bound_that_a_right_kernel_keeps(of: str, rate: float) -> None:
    for shape in ((), (7,), (4, 5, 3), (64, 64)):
        share = share_of_zeros(TensorType(shape, "float32"), {"rate": rate, "of": of})
        trials = np.prod(share.shape) / (2 if of == "neighbours" else 1)
        assert np.prod(share.shape) >= DRAWS and np.prod(share.shape) % 2 == 0
        assert 2 * np.exp(-2 * trials * share.bound**2) <= 1.01 * FALSE_ALARM
        assert share.bound < 0.022
        assert share.expected == (rate if of == "elements" else rate**2)
