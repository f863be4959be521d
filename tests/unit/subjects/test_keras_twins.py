"""Twins of Keras models: each is a file that computes nearly the same, made once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from jostle.errors import ModelRefused, UsageError
from jostle.records import MODEL
from jostle.subjects.array_model import Array
from jostle.subjects.array_subject import ArraySubject
from jostle.subjects.keras_file import of_model
from jostle.subjects.keras_twins import BY_LITERT, TWINS
from jostle.subjects.registry import load
from jostle.subjects.torch_target import TorchTarget
from jostle.subjects.twin_making import TwinMaking
from jostle.zoo import lenet1, mnist_sample
from model_files import as_keras, write_saved_model

DIGITS = mnist_sample()[0][:40]
IMAGES = DIGITS.movedim(1, -1).numpy()


@pytest.fixture(scope="module")
def subject() -> Any:
    return of_model(as_keras(lenet1()), "a LeNet", {}).channels_last()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("twins")


def logits(path: Path) -> Array:
    """What a file answers, run by the library that it is for."""
    match path.suffix:
        case ".tflite":
            from ai_edge_litert.interpreter import Interpreter

            interpreter = Interpreter(str(path))
            place = interpreter.get_input_details()[0]["index"]
            interpreter.resize_tensor_input(place, IMAGES.shape)
            interpreter.allocate_tensors()
            interpreter.set_tensor(place, IMAGES)
            interpreter.invoke()
            answer: Array = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
        case ".xml":
            import openvino

            exact = {"INFERENCE_PRECISION_HINT": "f32"}  # else bfloat16 is taken where the processor has it
            answer = next(iter(openvino.compile_model(path, "CPU", exact)([IMAGES]).values()))
        case _:
            answer = load(str(path)).channels_last().target().predict(DIGITS).numpy()
    return answer


# How far from the model a twin may be, and how far it must be to be another.
FAR: dict[str, tuple[float, float]] = {
    "litert": (0, 1e-4),
    "onnx": (0, 1e-4),
    "openvino": (0, 1e-2),
    "weights16": (1e-6, 0.02),
    "weights16:50%": (1e-6, 0.02),
    "float16": (1e-6, 0.02),
    "bfloat16": (1e-4, 0.5),
    "int8": (1e-4, 2),
    "int8-static": (1e-4, 2),
}


def test_every_twin_is_held_to_this() -> None:
    assert FAR.keys() == {*TWINS, "weights16:50%"}


@pytest.mark.parametrize("name", FAR)
def test_a_twin_answers_nearly_as_the_model_does(name: str, subject: ArraySubject, folder: Path) -> None:
    least, most = FAR[name]
    path = subject.twin(name, TwinMaking(DIGITS, folder))
    assert isinstance(path, Path) and path.parent == folder
    own = subject.target().predict(DIGITS).numpy()
    apart = np.abs(logits(path) - own).max()
    assert least <= apart <= most
    assert (logits(path).argmax(1) == own.argmax(1)).mean() > 0.9


def test_a_saved_model_has_the_twins_that_litert_runs(tmp_path: Path) -> None:
    saved = load(str(write_saved_model(lenet1(), tmp_path / "saved"))).channels_last()
    own = saved.target().predict(DIGITS).numpy()
    for name in BY_LITERT:
        path = saved.twin(name, TwinMaking(DIGITS, tmp_path))
        assert isinstance(path, Path) and np.abs(logits(path) - own).max() <= FAR[name][1]
    assert saved.twin("weights16", TwinMaking(DIGITS, tmp_path)) is None


def test_scales_are_measured_also_where_the_input_was_given_no_name(tmp_path: Path) -> None:
    import keras

    subject = of_model(keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)]), "a model", {})
    path = subject.twin("int8-static", TwinMaking(DIGITS.flatten(1)[:, 300:304], tmp_path))
    assert isinstance(path, Path) and path.exists()


def test_a_saved_model_has_the_gradients_of_the_network_that_it_was_written_from(tmp_path: Path) -> None:
    saved = load(str(write_saved_model(lenet1(), tmp_path / "saved"))).channels_last().target()
    weights = torch.randn(5, 10)
    ours, expected = (one.linearise(DIGITS[:5]).pull({MODEL: weights}, {}) for one in (saved, TorchTarget(lenet1())))
    assert ours.any()
    torch.testing.assert_close(ours, expected, rtol=1e-3, atol=1e-4)


def test_a_twin_that_is_there_is_not_made_again(subject: ArraySubject, tmp_path: Path) -> None:
    making = TwinMaking(DIGITS, tmp_path)
    path = subject.twin("weights16", making)
    assert isinstance(path, Path)
    path.write_bytes(b"as it was")
    assert subject.twin("weights16", making) == path and path.read_bytes() == b"as it was"
    assert [one.name for one in tmp_path.iterdir()] == ["weights16.keras"]


def test_weights_are_drawn_by_the_seed(subject: ArraySubject, tmp_path: Path) -> None:
    answers = []
    for place, seed in (("a", 1), ("b", 1), ("c", 2)):
        path = subject.twin("weights16:30%", TwinMaking(DIGITS, tmp_path / place, seed))
        assert isinstance(path, Path)
        answers.append(logits(path))
    assert np.array_equal(answers[0], answers[1]) and not np.array_equal(answers[0], answers[2])
    with pytest.raises(UsageError, match="give a share"):
        subject.twin("weights16:0%", TwinMaking(DIGITS, tmp_path))


def test_what_a_converter_cannot_do_is_told_in_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    import keras

    inputs = keras.Input((4,), name="rows")
    values, _ = keras.ops.eigh(keras.ops.reshape(inputs, (-1, 2, 2)))
    subject = of_model(keras.Model(inputs, values), "a model", {})
    with pytest.raises(ModelRefused, match="--twin onnx cannot be made") as refusal:
        subject.twin("onnx", TwinMaking(DIGITS[:2].flatten(1)[:, :4], tmp_path))
    assert "\n" not in str(refusal.value) and not list(tmp_path.iterdir())
