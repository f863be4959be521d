"""The reference on whole graphs: training, what is undefined, and what finite differences say of gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import torch

from frameworks_slopes import Settled, beyond, settle
from jostle.frameworks.backends.program import GRADIENT, TRAIN
from jostle.frameworks.drawing import single
from jostle.frameworks.graph import INPUT, PARAMETER, Graph, Leaf, Node, Training
from jostle.frameworks.operators.all_operators import OPERATORS
from jostle.frameworks.reference.differences import derivative
from jostle.frameworks.reference.run import evaluate, evaluate_anyhow, result
from jostle.frameworks.reference.undefined import Undefined
from jostle.frameworks.training import LOSSES, OPTIMISERS, PENALTIES


def one_node(operator: str, *arrays: Any, **attributes: Any) -> Graph:
    names = tuple("abcde"[: len(arrays)])
    leaves = {name: Leaf(INPUT, np.array(array)) for name, array in zip(names, arrays, strict=True)}
    return Graph(leaves, (Node("y", operator, names, attributes),), ("y",))


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def i32(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


UNDEFINED: Mapping[str, Graph] = {
    "NaN as a whole number": one_node("cast", f32(np.nan), to="int32"),
    "infinity as a whole number": one_node("cast", f32(np.inf), to="int64"),
    "too large for int8": one_node("cast", f32(128.0), to="int8"),
    "too large for int64": one_node("cast", f32(2.0**63), to="int64"),
    "negative as uint8": one_node("cast", i32(-1), to="uint8"),
    "division by 0": one_node("floor_divide", i32(1), i32(0)),
    "remainder by 0": one_node("remainder", i32(1), i32(0)),
    "remainder of floats by 0": one_node("fmod", f32(1), f32(0)),
    "the least by -1": one_node("floor_divide", i32(-(2**31)), i32(-1)),
    "its remainder": one_node("remainder", i32(-(2**31)), i32(-1)),
    "absolute value of the least": one_node("abs", i32(-(2**31))),
    "shift by all bits": one_node("left_shift", i32(1), i32(32)),
    "negative shift": one_node("right_shift", i32(1), i32(-1)),
    "argmax of NaN": one_node("argmax", f32(1, np.nan), axis=0, keepdims=False),
    "sort of NaN": one_node("sort", f32(1, np.nan), axis=0, descending=False),
    "top of NaN": one_node("topk_values", f32(1, np.nan), axis=0, k=1, largest=True),
    "cummax of NaN": one_node("cummax", f32(1, np.nan), axis=0),
    "positions of equals": one_node("topk_indices", f32(1, 2, 2), axis=0, k=1, largest=True),
    "index too large": one_node("take", f32(1, 2), np.array([2]), axis=0),
    "negative index": one_node("take", f32(1, 2), np.array([-1]), axis=0),
    "sign of NaN": one_node("sign", f32(np.nan)),
    "window of padding only": one_node(
        "max_pool", np.ones((1, 1, 1), np.float32), kernel=[2], strides=[1], padding=[1], dilations=[2], ceil=False
    ),
    "sample at NaN": one_node(
        "grid_sample",
        np.ones((1, 1, 2, 2), np.float32),
        np.full((1, 1, 1, 2), np.nan, np.float32),
        mode="bilinear",
        padding="zeros",
        align_corners=False,
    ),
}


@pytest.mark.parametrize("case", UNDEFINED)
def test_a_result_without_a_meaning_is_undefined(case: str) -> None:
    with pytest.raises(Undefined):
        evaluate(UNDEFINED[case])


def test_the_edges_of_what_fits_are_defined() -> None:
    assert evaluate(one_node("cast", f32(-128.9, 127.9), to="int8"))["y"].tolist() == [-128, 127]
    assert evaluate(one_node("cast", f32(-0.9, 255.5), to="uint8"))["y"].tolist() == [0, 255]
    assert evaluate(one_node("cast", f32(-(2.0**63)), to="int64"))["y"].tolist() == [-(2**63)]
    assert evaluate(one_node("topk_indices", f32(1, 1, 2), axis=0, k=1, largest=True))["y"].tolist() == [2]
    assert evaluate(one_node("argmax", f32(2, 3, 3), axis=0, keepdims=False))["y"].tolist() == 1


def test_whole_numbers_wrap_around_in_their_own_dtype_at_every_node() -> None:
    assert evaluate(one_node("add", i32(2**31 - 1), i32(1)))["y"].tolist() == [-(2**31)]
    assert evaluate(one_node("left_shift", np.array([100], np.int8), np.array([1], np.int8)))["y"].tolist() == [-56]
    assert evaluate(one_node("bitwise_not", np.array([1], np.uint8)))["y"].tolist() == [254]
    assert evaluate(one_node("sum", i32(2**31 - 1, 2), axes=[0], keepdims=False))["y"].tolist() == -(2**31) + 1


@pytest.mark.parametrize("name", OPERATORS)
def test_special_values_neither_break_a_formula_nor_its_gradient(name: str) -> None:
    for seed in range(4):
        graph = single(name, np.random.default_rng(seed), specials=1.0)
        try:
            result(graph, GRADIENT)
        except Undefined:
            continue


def dense(loss: str, optimiser: str, settings: Mapping[str, float], penalty: str = "none", steps: int = 4) -> Graph:
    rng = np.random.default_rng(0)
    targets = {
        "cross_entropy": rng.integers(0, 3, 5),
        "bce_with_logits": rng.random((5, 3)),
        "hinge": rng.choice([-1.0, 1.0], (5, 3)),
    }
    target = targets.get(loss, rng.standard_normal((5, 3)))
    leaves = {
        "x": Leaf(INPUT, rng.standard_normal((5, 4))),
        "w": Leaf(PARAMETER, rng.standard_normal((3, 4))),
        "b": Leaf(PARAMETER, rng.standard_normal(3)),
    }
    training = Training(loss, target, penalty, 0.01, optimiser, settings, steps)
    return Graph(leaves, (Node("y", "linear", ("x", "w", "b")),), ("y",), training)


OPTIMISERS_OF_TORCH = ("sgd", "adam", "adamw", "rmsprop", "adagrad", "adadelta", "adamax")


def torch_optimiser(name: str, by: Mapping[str, float], parameters: list[torch.Tensor]) -> torch.optim.Optimizer:
    betas = (by.get("beta1", 0.0), by.get("beta2", 0.0))
    made: Mapping[str, Callable[[], torch.optim.Optimizer]] = {
        "sgd": lambda: torch.optim.SGD(parameters, by["rate"], by["momentum"], nesterov=bool(by["nesterov"])),
        "adam": lambda: torch.optim.Adam(parameters, by["rate"], betas, by["epsilon"]),
        "adamw": lambda: torch.optim.AdamW(parameters, by["rate"], betas, by["epsilon"], by["decay"]),
        "rmsprop": lambda: torch.optim.RMSprop(parameters, by["rate"], by["rho"], by["epsilon"]),
        "adagrad": lambda: torch.optim.Adagrad(
            parameters, by["rate"], initial_accumulator_value=by["start"], eps=by["epsilon"]
        ),
        "adadelta": lambda: torch.optim.Adadelta(parameters, by["rate"], by["rho"], by["epsilon"]),
        "adamax": lambda: torch.optim.Adamax(parameters, by["rate"], betas, by["epsilon"]),
    }
    return made[name]()


def torch_loss(training: Training, y: torch.Tensor, parameters: list[torch.Tensor]) -> torch.Tensor:
    t = torch.from_numpy(training.target)
    losses: Mapping[str, Callable[[], torch.Tensor]] = {
        "mse": lambda: torch.nn.functional.mse_loss(y, t),
        "l1": lambda: torch.nn.functional.l1_loss(y, t),
        "huber": lambda: torch.nn.functional.huber_loss(y, t),
        "cross_entropy": lambda: torch.nn.functional.cross_entropy(y, t),
        "bce_with_logits": lambda: torch.nn.functional.binary_cross_entropy_with_logits(y, t),
        "hinge": lambda: torch.relu(1 - y * t).mean(),
    }
    absolute = sum(torch.linalg.vector_norm(one, 1) for one in parameters)
    squares = sum(torch.linalg.vector_norm(one) ** 2 for one in parameters)
    penalties = {"none": 0.0, "l1": absolute, "l2": squares, "elastic": absolute + squares}
    return losses[training.loss]() + training.strength * penalties[training.penalty]


def trained_by_torch(graph: Graph) -> dict[str, np.ndarray]:
    training = graph.training
    assert training is not None
    x, w, b = (torch.tensor(graph.leaves[name].array, requires_grad=name != "x") for name in ("x", "w", "b"))
    optimiser, losses = torch_optimiser(training.optimiser, training.settings, [w, b]), []
    for _ in range(training.steps):
        optimiser.zero_grad()
        loss = torch_loss(training, torch.nn.functional.linear(x, w, b), [w, b])
        loss.backward()
        losses.append(loss.item())
        optimiser.step()
    return {"loss": np.array(losses), "w": w.detach().numpy(), "b": b.detach().numpy()}


def agree(graph: Graph) -> None:
    ours, theirs = result(graph, TRAIN), trained_by_torch(graph)
    assert ours.keys() == theirs.keys()
    for name, values in theirs.items():
        np.testing.assert_allclose(ours[name], values, rtol=1e-11, err_msg=name)


@pytest.mark.parametrize("choice", [0, -1])
@pytest.mark.parametrize("optimiser", OPTIMISERS_OF_TORCH)
def test_an_optimiser_takes_the_steps_that_torch_takes(optimiser: str, choice: int) -> None:
    agree(dense("mse", optimiser, {name: usual[choice] for name, usual in OPTIMISERS[optimiser].settings.items()}))


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", LOSSES)
def test_a_loss_is_what_torch_computes(loss: str, penalty: str) -> None:
    agree(dense(loss, "sgd", {"rate": 0.1, "momentum": 0.0, "nesterov": 0.0}, penalty))


def test_a_wrong_gradient_is_found_and_a_right_one_confirmed() -> None:
    graph, rng = single("tanh", np.random.default_rng(2)), np.random.default_rng(0)
    right = result(graph, GRADIENT)["d_x"]
    assert settle(graph, "x", right.astype(np.float32), rng) is Settled.RIGHT
    assert settle(graph, "x", right * 1.05, rng) is Settled.WRONG
    wrong_in_one = right.copy()
    wrong_in_one.flat[0] += 1.0
    assert settle(graph, "x", wrong_in_one, rng) is Settled.WRONG


def test_a_kink_and_a_jump_are_not_differentiable_and_derivatives_tell_both_sides() -> None:
    rng = np.random.default_rng(0)
    kink = one_node("relu", f32(0.0, 1.0, -1.0))
    assert settle(kink, "a", f32(0, 1, 0), rng) is Settled.NOT_DIFFERENTIABLE
    weight = np.random.default_rng(0).standard_normal(3).astype(np.float32)[0]
    left, right = derivative(kink, "a", (0,))
    assert left == 0.0 and right == pytest.approx(weight)
    jump = one_node("floor", f32(2.0))
    assert settle(jump, "a", f32(0), rng) is Settled.NOT_DIFFERENTIABLE


def test_a_gradient_by_what_makes_an_output_infinite_is_not_judged() -> None:
    graph = one_node("log", f32(-1.0, 0.0, 2.0))
    assert beyond(graph, "a").tolist() == [True, True, False]
    weight = np.random.default_rng(0).standard_normal(3).astype(np.float32)[2]
    assert settle(graph, "a", f32(7.0, np.inf, weight / 2), np.random.default_rng(0)) is Settled.RIGHT
    assert settle(graph, "a", f32(7.0, np.inf, weight), np.random.default_rng(0)) is Settled.WRONG


def test_what_a_formula_does_not_choose_spoils_no_gradient() -> None:
    prelu = one_node("prelu", f32(np.inf, 1.0, -1.0).reshape(3, 1), f32(0.25))
    assert np.isfinite(result(prelu, GRADIENT)["d_b"]).all()
    for operator, attributes in (("elu", {"alpha": 1.0}), ("sigmoid", {}), ("softplus", {}), ("log_sigmoid", {})):
        graph = one_node(operator, f32(-1e30, 1e30, 0.0), **attributes)
        assert np.isfinite(result(graph, GRADIENT)["d_a"]).all(), operator


def test_what_follows_a_result_without_meaning_can_run_anyhow() -> None:
    leaves = {"x": Leaf("input", np.array([np.nan, 1.0], np.float32))}
    nodes = (Node("whole", "cast", ("x",), {"to": "int64"}), Node("y", "abs", ("whole",)))
    graph = Graph(leaves, nodes, ("y",))
    with pytest.raises(Undefined):
        evaluate(graph)
    assert evaluate_anyhow(graph)["y"].tolist() == [1, 1]


def transposed(operator: str, axes: tuple[int, ...]) -> Graph:
    """Square matrices that a transposition gives to the operator."""
    x = np.random.default_rng(0).standard_normal((2, 3, 4, 4)) + 2 * np.eye(4)
    nodes = (Node("t", "transpose", ("x",), {"permutation": list(axes)}), Node("y", operator, ("t",)))
    return Graph({"x": Leaf(INPUT, x)}, nodes, ("y",))


@pytest.mark.parametrize("axes", [(1, 0, 2, 3), (1, 0, 3, 2)])
@pytest.mark.parametrize("operator", ["matrix_exp", "det", "inverse", "log_abs_det", "singular_values"])
def test_it_does_not_matter_how_a_matrix_lies_in_memory(operator: str, axes: tuple[int, ...]) -> None:
    graph = transposed(operator, axes)
    lying = Graph({"t": Leaf(INPUT, evaluate(graph)["t"].copy())}, graph.nodes[1:], ("y",))
    np.testing.assert_allclose(result(graph, GRADIENT)["y"], result(lying, GRADIENT)["y"])
