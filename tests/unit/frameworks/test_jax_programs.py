"""What of JAX no other lowering has: Optax' optimisers, and XLA's instructions as signals."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from jostle.frameworks.backends.jax.signals import watched
from jostle.frameworks.backends.program import PREDICT, TRAIN
from jostle.frameworks.graph import INPUT, PARAMETER, Graph, Leaf, Node, Training
from jostle.frameworks.training import OPTIMISERS
from running_programs import Child, child_of


@pytest.fixture(scope="module")
def child() -> Iterator[Child]:
    """A process of its own: other tests fork, which one that has loaded JAX must not."""
    with child_of("jax") as process:
        yield process


def linear_model(training: Training) -> Graph:
    rng = np.random.default_rng(3)
    leaves = {
        "x": Leaf(INPUT, rng.standard_normal((4, 3))),
        "w": Leaf(PARAMETER, rng.standard_normal((2, 3))),
        "b": Leaf(PARAMETER, rng.standard_normal(2)),
    }
    return Graph(leaves, (Node("y", "linear", ("x", "w", "b")),), ("y",), training)


@pytest.mark.parametrize("name", ["adam", "rmsprop", "adamax"])
def test_one_step_of_an_optimiser_moves_by_its_rate(child: Child, name: str) -> None:
    settings = {key: values[0] for key, values in OPTIMISERS[name].settings.items()}
    graph = linear_model(Training("hinge", np.ones((4, 2)), optimiser=name, settings=settings))
    result = child.run(graph, TRAIN)["result"]
    moved = np.abs(result["b"] - graph.leaves["b"].array)
    expected = {"rmsprop": settings["rate"] / np.sqrt(0.01)}.get(name, settings["rate"])
    assert result["loss"].shape == (1,)
    np.testing.assert_allclose(moved[moved > 0], expected, rtol=1e-5)


def test_signals_name_the_instructions_that_xla_runs(child: Child) -> None:
    leaves = {"x": Leaf(INPUT, np.ones((2, 3), np.float32)), "a": Leaf(INPUT, np.ones((3, 2), np.float32))}
    signals = child.run(Graph(leaves, (Node("y", "matmul", ("x", "a")),), ("y",)), PREDICT)["signals"]
    assert "hlo:parameter:f32" in signals
    assert any(signal.startswith("hlo:dot") for signal in signals)
    assert watched(lambda: None, {}) == set()
