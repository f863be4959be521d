"""Backends that run a framework in another way compute what the reference does, on models with layers of every kind."""

from __future__ import annotations

import numpy as np
import pytest

from jostle.frameworks.backends.all_backends import lowering_named
from jostle.frameworks.backends.program import GRADIENT, PREDICT, TRAIN
from jostle.frameworks.graph import PARAMETER, Graph, Leaf, Node, Training
from jostle.frameworks.models import MODELS
from jostle.frameworks.reference.run import result
from running_programs import child_of
from soaking import only_in_soak


def trained() -> Graph:
    """A small model, whose training every framework defines alike."""
    rng = np.random.default_rng(1)
    leaves = {"x": Leaf("input", rng.standard_normal((4, 3))), "w": Leaf(PARAMETER, rng.standard_normal((2, 3)))}
    leaves["b"] = Leaf(PARAMETER, rng.standard_normal(2))
    settings = {"rate": 0.1, "momentum": 0.9, "nesterov": 0.0}
    training = Training("mse", np.zeros((4, 2)), "none", 0.0, "sgd", settings, 3)
    return Graph(leaves, (Node("y", "linear", ("x", "w", "b")), Node("z", "tanh", ("y",))), ("z", "y"), training)


def drawn(name: str) -> Graph:
    return MODELS[name](np.random.default_rng(0))


# XLA lacks the padded pooling of cnn, Keras the one of residual; the ONNX exporter takes a second for a model.
WAYS = {
    "torch-export": ("cnn", "lstm", "attention"),
    "torch-onnx": ("mlp",),
    "tensorflow-xla": ("mlp", "upsampler"),
    "tensorflow-eager": ("mlp", "attention"),
    "jax-eager": ("mlp",),
    "paddle-static": ("cnn", "attention"),
    "onnxruntime-basic": ("cnn", "lstm"),
    "onnxruntime-extended": ("cnn", "lstm"),
}


def computes_the_same(way: str) -> None:
    with child_of(way) as child:
        for graph in (trained(), *map(drawn, WAYS[way])):
            for phase in (PREDICT, GRADIENT, *((TRAIN,) if graph.nodes[-1].name == "z" else ())):
                if phase not in lowering_named(way).phases:
                    continue
                answer = child.run(graph, phase)
                assert "result" in answer, (way, phase, answer)
                for name, expected in result(graph, phase).items():
                    np.testing.assert_allclose(answer["result"][name], expected, 1e-3, 1e-4, err_msg=f"{phase} {name}")


EXPENSIVE = ("torch-onnx", "tensorflow-xla")


@only_in_soak
@pytest.mark.slow
@pytest.mark.parametrize("way", EXPENSIVE)
def test_a_way_that_compiles_for_seconds_computes_the_same_in_every_phase_that_it_has(way: str) -> None:
    computes_the_same(way)


@pytest.mark.slow
@pytest.mark.parametrize("way", [way for way in WAYS if way not in EXPENSIVE])
def test_another_way_computes_the_same_in_every_phase_that_it_has(way: str) -> None:
    computes_the_same(way)


@pytest.mark.parametrize(
    ("way", "says"),
    [
        ("torch-export", "torch.export.export(Module().eval(), (x, w, b,)).module()"),
        ("torch-onnx", "torch.onnx.export(Module().eval(), (x, w, b,), dynamo=True"),
        ("tensorflow-xla", "jit_compile=True"),
        ("paddle-static", "paddle.static.Executor"),
        ("onnxruntime-basic", "ORT_ENABLE_BASIC"),
        ("onnxruntime-extended", "ORT_ENABLE_EXTENDED"),
    ],
)
def test_a_program_says_how_it_runs(way: str, says: str) -> None:
    assert says in lowering_named(way).program(trained(), PREDICT)


@pytest.mark.parametrize(("way", "compiles"), [("jax-eager", "jax.jit"), ("tensorflow-eager", "tf.function")])
def test_an_eager_program_compiles_nothing(way: str, compiles: str) -> None:
    for phase in (PREDICT, GRADIENT, TRAIN):
        assert compiles not in lowering_named(way).program(trained(), phase)
