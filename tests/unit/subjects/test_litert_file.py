"""LiteRT models: real numbers into quantised ones, any batch size where rows allow it, layers as they are computed."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from jostle.errors import ModelRefused
from jostle.subjects.instrument import layers_on_one
from jostle.subjects.layers import scores_layer, speaking, working
from jostle.subjects.registry import load
from jostle.subjects.subject import Loading, Subject, Watch
from jostle.zoo import lenet1, mnist_sample
from making import batch_of

IMAGES = mnist_sample()[0][:8]
KINDS = pytest.mark.parametrize("kind", ["float", "dynamic", "int8"])
NEAR = {"float": 1e-5, "dynamic": 0.02, "int8": 0.05}


def opened(folder: Path, kind: str) -> Subject:
    return load(str(folder / f"{kind}.tflite")).channels_last()


@KINDS
def test_it_answers_as_the_model_that_it_was_made_of(litert_files: Path, kind: str) -> None:
    own = lenet1()(IMAGES).softmax(1)
    assert torch.allclose(opened(litert_files, kind).target().predict(IMAGES), own, atol=NEAR[kind])


@pytest.mark.parametrize("kind", ["float", "dynamic", "int8", "pooled"])
def test_a_batch_is_its_rows_in_order_whatever_ran_before(litert_files: Path, kind: str) -> None:
    subject = opened(litert_files, kind)
    target = subject.target()
    assert subject.batch is None
    alone = torch.cat([target.predict(row) for row in IMAGES.split(1)])
    assert torch.allclose(target.predict(IMAGES), alone, atol=1e-5)
    assert torch.allclose(target.predict(IMAGES[:3]), alone[:3], atol=1e-5)


def test_a_model_whose_rows_cannot_go_together_takes_one_at_a_time(litert_files: Path) -> None:
    subject = opened(litert_files, "row")
    assert subject.batch == 1
    assert torch.allclose(subject.target().predict(IMAGES[:1]), lenet1()(IMAGES[:1]).softmax(1), atol=1e-5)


@KINDS
def test_layers_are_named_as_in_keras_and_hold_what_is_computed(litert_files: Path, kind: str) -> None:
    subject = opened(litert_files, kind)
    layers = layers_on_one(subject, IMAGES[:1])
    names = [layer.name for layer in layers]
    assert [name for name in names if name in ("conv1", "pool1", "conv2", "pool2", "fc1")] == [
        *("conv1", "pool1", "conv2", "pool2", "fc1")
    ]
    assert scores_layer(layers) == "fc1"
    own = load("jostle.zoo:lenet1").target(Watch(["relu1", "pool1", "fc1"])).run(batch_of(IMAGES)).activations
    target = subject.target(Watch(["conv1", "pool1", "fc1"], extremes=True))
    trace = target.run(batch_of(IMAGES))
    for ours, theirs in (("conv1", "relu1"), ("pool1", "pool1"), ("fc1", "fc1")):
        spread = float(own[theirs].abs().max())
        assert torch.allclose(trace.activations[ours], own[theirs], atol=max(NEAR[kind] * spread, 1e-4))
    assert torch.equal(trace.outputs["model"], target.predict(IMAGES))  # looking changes nothing
    assert torch.allclose(trace.extremes["fc1"][:, 1], trace.activations["fc1"].amax(1))


@KINDS
def test_only_the_layer_before_softmax_is_watched_where_nothing_asks_for_more(litert_files: Path, kind: str) -> None:
    layers = layers_on_one(opened(litert_files, kind), IMAGES[:1])
    assert working(layers) == ["fc1"] and {"conv1", "conv2", "fc1"} < {*speaking(layers)}


def test_quantised_inputs_take_real_numbers_and_clip_what_they_cannot_hold(litert_files: Path) -> None:
    subject = opened(litert_files, "int8")
    target = subject.target()
    beyond = IMAGES.clone()
    beyond[IMAGES == 1] = 7.0
    assert torch.equal(target.predict(beyond), target.predict(beyond.clamp(max=1.0)))
    assert not torch.equal(target.predict(IMAGES), target.predict(IMAGES * 0.5))
    assert torch.isfinite(target.predict(torch.full_like(IMAGES, torch.nan))).all()


def test_inputs_and_outputs_have_the_names_of_the_signature(litert_files: Path) -> None:
    model = opened(litert_files, "int8").model  # type: ignore[attr-defined]
    assert [str(slot) for slot in model.inputs] == ["image float32 [any×28×28×1]"]
    assert [slot.dtype for slot in model.outputs] == [np.dtype(np.float32)]


def test_a_file_that_is_no_model_is_refused_in_one_line(litert_files: Path, tmp_path: Path) -> None:
    content = (litert_files / "float.tflite").read_bytes()
    for name, bad in (("hello", b"hello"), ("cut", content[: len(content) // 3]), ("empty", b"")):
        (tmp_path / f"{name}.tflite").write_bytes(bad)
        with pytest.raises(ModelRefused, match=rf"{name}\.tflite cannot be"):
            load(str(tmp_path / f"{name}.tflite"))
    with pytest.raises(ModelRefused, match=r"--shape photo: the model takes image float32 \[any×28×28×1\]"):
        load(str(litert_files / "float.tflite"), how=Loading(shapes={"photo": (28, 28, 1)}))
    with pytest.raises(ModelRefused, match="choose from litert"):
        load(str(litert_files / "float.tflite"), how=Loading(engine="openvino"))


def test_a_missing_interpreter_is_named_with_what_installs_it(
    litert_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ai_edge_litert.interpreter", None)
    with pytest.raises(ModelRefused, match=r"pip install 'jostle\[litert\]'"):
        load(str(litert_files / "float.tflite"))


def test_nothing_is_written_beside_what_jostle_says(litert_files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    opened(litert_files, "float").target().predict(IMAGES)
    assert capfd.readouterr() == ("", "")
