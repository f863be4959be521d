"""What is not called a defect: slopes at a kink, and infinities that no operator alone makes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from jostle.errors import JostleError
from jostle.foreign import Crash
from jostle.frameworks.backends.program import PREDICT, TRAIN
from jostle.frameworks.campaign.examiner import REFERENCE_BOUNDS, Examiner
from jostle.frameworks.graph import Graph, Leaf, Node, Training
from jostle.frameworks.judging.compare import compare
from jostle.frameworks.observations import REFERENCE, Observation, Status
from jostle.frameworks.reference.run import result


def trained(weight: float) -> Graph:
    leaves = {
        "x": Leaf("input", np.ones((1, 1), np.float32)),
        "w": Leaf("parameter", np.full((1, 1), weight, np.float32)),
    }
    training = Training(
        "mse", np.ones((1, 1), np.float32), "l1", 0.1, "sgd", {"rate": 0.1, "momentum": 0.0, "nesterov": 0.0}, 1
    )
    return Graph(leaves, (Node("y", "matmul", ("x", "w")),), ("y",), training)


@pytest.mark.parametrize(("weight", "wrong"), [(0.0, 0), (0.5, 1)])
def test_the_slope_of_a_penalty_at_0_is_anybodys(weight: float, wrong: int) -> None:
    graph = trained(weight)
    right = {name: np.asarray(value) for name, value in result(graph, TRAIN).items()}
    seen = {name: (value + 0.01).astype(np.float32) for name, value in right.items()}
    observed = {REFERENCE: Observation(Status.OK, right), "torch": Observation(Status.OK, seen)}
    assert len(compare(graph, TRAIN, observed, REFERENCE_BOUNDS)) == wrong


def test_a_failing_reference_ends_the_run() -> None:
    crash = Crash("KeyError", "relu", "run.py:forward", "")
    observed = {REFERENCE: Observation(Status.CRASHED, crash=crash), "torch": Observation(Status.OK, {})}
    graph = replace(trained(1.0), training=None)
    with pytest.raises(JostleError, match="defect of ours"):
        Examiner(None, [])(graph, PREDICT, observed)  # type: ignore[arg-type]


def test_what_ends_a_process_is_reported_although_the_model_has_no_meaning() -> None:
    crash = Crash("SIGSEGV", "ended the process", "the target", "", fatal=True)
    observed = {
        REFERENCE: Observation(Status.UNDEFINED, reason="a division by 0"),
        "torch": Observation(Status.CRASHED, crash=crash),
        "jax": Observation(Status.CRASHED, crash=replace(crash, fatal=False)),
    }
    found = compare(replace(trained(1.0), training=None), PREDICT, observed, REFERENCE_BOUNDS)
    assert [(one.backend, one.symptom) for one in found] == [("torch", "crash")]
