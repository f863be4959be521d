"""Keras models as subjects: their layers, inputs and outputs, and what makes them one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import keras_on_engine
from jostle.errors import ModelRefused
from jostle.records import MODEL
from jostle.subjects.array_subject import ArraySubject
from jostle.subjects.keras_engines import ENGINES, keras_on
from jostle.subjects.keras_file import KerasModel, of_model
from jostle.subjects.layers import activated, scores_layer
from jostle.subjects.registry import load, subject_of
from jostle.subjects.subject import Loading, Watch
from jostle.zoo import lenet1, mnist_sample
from making import batch_of
from model_files import write_keras
from soaking import times


@pytest.fixture(scope="module")
def keras() -> Any:
    return keras_on(None, "a test")


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("engine", ENGINES[:: times(-3, 1)])  # in the short form the last, which starts soonest
def test_every_engine_gives_what_torch_gives_of_the_same_network(engine: str, tmp_path: Path) -> None:
    path = write_keras(lenet1(), tmp_path / "net.keras", fused=True)
    done = subprocess.run(
        [sys.executable, keras_on_engine.__file__, str(path), engine], capture_output=True, text=True, timeout=600
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"held net.keras {engine}\n"


def test_another_engine_than_that_of_the_process_is_refused(tmp_path: Path, keras: Any) -> None:
    path = write_keras(lenet1(), tmp_path / "net.keras")
    other = next(engine for engine in ENGINES if engine != keras.backend.backend())
    with pytest.raises(ModelRefused, match=r"computes with \w+ in this process, not with \w+: leave out --no-isolate"):
        load(str(path), how=Loading(engine=other))


def test_layers_of_models_inside_are_found_by_the_way_to_them(keras: Any) -> None:
    layers = [keras.Input((4,)), keras.layers.Dense(3, name="a"), keras.layers.ReLU(name="b")]
    inner = keras.Sequential(layers, name="inner")
    inputs = keras.Input((4,), name="rows")
    shared = keras.layers.Dense(4, name="shared")
    outputs = keras.layers.Dense(2, activation="softmax", name="last")(inner(shared(shared(inputs)) + inputs))
    subject = of_model(keras.Model(inputs, outputs), "a model", {})
    rows = torch.randn(5, 4)
    layers = subject.layers(rows)
    assert [layer.name for layer in layers] == ["shared", "add", "inner/a", "inner/b", "last:logits", "last"]
    assert scores_layer(layers) == "last:logits"
    assert [layer.name for layer in layers if layer.passive] == ["inner/b"]
    assert activated(layers) == ["shared", "add", "inner/b", "last:logits", "last"]
    ran = subject.target(Watch([layer.name for layer in layers])).run(batch_of(rows))
    assert [*ran.activations] == ["shared", "shared#2", "add", "inner/a", "inner/b", "last:logits", "last"]
    assert torch.equal(ran.activations["last"], ran.outputs[MODEL])
    torch.testing.assert_close(ran.activations["last:logits"].softmax(1), ran.outputs[MODEL])
    torch.testing.assert_close(ran.activations["inner/a"].relu(), ran.activations["inner/b"])
    torch.testing.assert_close(ran.activations["shared#2"] + rows, ran.activations["add"])


def test_a_neuron_is_the_mean_of_a_channel_wherever_channels_are(keras: Any) -> None:
    inputs = keras.Input((3, 6, 5))
    moved = keras.layers.Permute((2, 3, 1))(inputs)
    last = keras.layers.UpSampling2D(data_format="channels_last", name="last")(moved)
    first = keras.layers.UpSampling2D(data_format="channels_first", name="first")(inputs)
    subject = of_model(keras.Model(inputs, [last, first]), "a model", {})
    rows = torch.randn(2, 3, 6, 5)
    ran = subject.target(Watch(["last", "first"], extremes=True)).run(batch_of(rows))
    for name in ("last", "first"):
        torch.testing.assert_close(ran.activations[name], rows.mean((2, 3)))
        torch.testing.assert_close(ran.extremes[name], torch.stack([rows.amin((1, 2, 3)), rows.amax((1, 2, 3))], 1))


def test_means_of_large_finite_values_are_finite_and_infinity_is_kept(keras: Any) -> None:
    inputs = keras.Input((8, 8, 1))
    subject = of_model(keras.Model(inputs, keras.layers.Rescaling(1.0, name="scaled")(inputs)), "a model", {})
    rows = torch.full((2, 8, 8, 1), 3e38)
    rows[1, 0, 0, 0] = torch.inf
    finite, infinite = subject.target(Watch(["scaled"])).run(batch_of(rows)).activations["scaled"]
    assert finite.isfinite().all() and infinite.isinf().all()


def test_several_inputs_and_outputs_go_by_their_names(keras: Any) -> None:
    left, right = keras.Input((4,), name="left"), keras.Input((2,), name="right", dtype="int32")
    looked_up = keras.layers.Flatten()(keras.layers.Embedding(7, 2)(right))
    model = keras.Model({"left": left, "right": right}, {"sum": left + looked_up, "left": left * 2})
    made = of_model(model, "a model", {}).model
    assert [str(slot) for slot in made.inputs] == ["left float32 [any×4]", "right int32 [any×2]"]
    given = {"left": np.ones((3, 4), np.float32), "right": np.ones((3, 2), np.int32)}
    ran = made.session()(given)
    assert {slot.name for slot in made.outputs} == ran.outputs.keys() == {"sum", "left"}
    assert (ran.outputs["left"] == 2).all()


def test_a_model_in_half_precision_answers_in_single(keras: Any) -> None:
    for policy in ("mixed_bfloat16", "mixed_float16", "float16"):
        layers = [keras.Input((3,)), keras.layers.Dense(2, dtype=policy, name="one")]
        subject = of_model(keras.Sequential(layers), "a model", {})
        ran = subject.target(Watch(["one"])).run(batch_of(torch.randn(4, 3)))
        assert ran.outputs[MODEL].dtype == ran.activations["one"].dtype == torch.float32
        assert ran.outputs[MODEL].isfinite().all()


def test_nothing_hangs_on_the_model_afterwards(tmp_path: Path) -> None:
    subject = load(str(write_keras(lenet1(), tmp_path / "net.keras", fused=True)))
    assert isinstance(subject, ArraySubject) and isinstance(subject.model, KerasModel)
    before = [{**vars(layer)} for layer in subject.model.model.layers]
    images = mnist_sample()[0][:3]
    own = subject.channels_last()
    names = [layer.name for layer in own.layers(images)]
    target = own.target(Watch(names, extremes=True))
    target.run(batch_of(images))
    passed = target.linearise(images)
    passed.pull(passed.scores, passed.activations)
    after = [{**vars(layer)} for layer in subject.model.model.layers]
    for one, other in zip(before, after, strict=True):
        assert "call" not in other and one.get("activation") is other.get("activation")


def test_a_model_that_python_builds_is_taken_as_it_is(keras: Any) -> None:
    subject = subject_of(keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, name="one")]))
    assert subject is not None and [layer.name for layer in subject.layers(torch.zeros(2, 3))] == ["one"]
    with pytest.raises(ModelRefused, match="has no inputs of known shapes"):
        subject_of(keras.Sequential([keras.layers.Dense(2)]))
