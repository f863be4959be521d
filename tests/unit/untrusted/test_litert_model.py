"""A stranger's .tflite holds built-in operators, and all that it points at lies in it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from jostle.untrusted.litert_model import checked_litert
from security.damage import refusals
from security.model_payloads import LITERT_PAYLOADS, SECRET, litert_model
from soaking import only_in_soak

pytest.importorskip("flatbuffers")
# Converts a network, plain and quantised, and a function that reads a file.
CONVERTING = """
import sys, keras, numpy as np, tensorflow as tf
from keras import layers
folder = sys.argv[1]
model = keras.Sequential([keras.Input((8, 8, 3)), layers.Conv2D(4, 3, activation="relu"), layers.BatchNormalization(),
                          layers.GlobalAveragePooling2D(), layers.Dense(3, activation="softmax")])
converter = tf.lite.TFLiteConverter.from_keras_model(model)
open(f"{folder}/plain.tflite", "wb").write(converter.convert())
converter.optimizations = [tf.lite.Optimize.DEFAULT]
converter.representative_dataset = lambda: ([np.ones((1, 8, 8, 3), np.float32)] for _ in range(4))
open(f"{folder}/quantised.tflite", "wb").write(converter.convert())
read = tf.function(lambda x: x + tf.strings.to_number(tf.io.read_file("secret")), [tf.TensorSpec([2])])
converter = tf.lite.TFLiteConverter.from_concrete_functions([read.get_concrete_function()])
converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS, tf.lite.OpsSet.SELECT_TF_OPS]
open(f"{folder}/reading.tflite", "wb").write(converter.convert())
"""


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_a_small_model_passes_and_runs(tmp_path: Path) -> None:
    path = written(tmp_path / "m.tflite", litert_model())
    assert checked_litert(path) == litert_model()
    interpreter = pytest.importorskip("ai_edge_litert.interpreter").Interpreter(str(path))
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], np.zeros(2, np.float32))
    interpreter.invoke()
    assert np.array_equal(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]), SECRET)


@only_in_soak
@pytest.mark.slow
def test_what_tensorflow_converts_passes_but_for_operators_of_tensorflow(tmp_path: Path) -> None:
    pytest.importorskip("tensorflow")
    subprocess.run([sys.executable, "-c", CONVERTING, str(tmp_path)], check=True, capture_output=True)
    for name in ("plain", "quantised"):
        assert checked_litert(tmp_path / f"{name}.tflite")
    with pytest.raises(ValueError, match="'FlexReadFile', 'FlexStringToNumber'"):
        checked_litert(tmp_path / "reading.tflite")
    content = (tmp_path / "quantised.tflite").read_bytes()
    assert refusals(tmp_path / "damaged.tflite", content, 900, checked_litert) > 100


@pytest.mark.parametrize("name", LITERT_PAYLOADS)
def test_what_reaches_out_of_the_file_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"operators '|other files|damaged: "):
        checked_litert(LITERT_PAYLOADS[name](tmp_path))


def test_operators_that_the_interpreter_brings_pass(tmp_path: Path) -> None:
    checked_litert(written(tmp_path / "m.tflite", litert_model(custom="TFLite_Detection_PostProcess")))


def test_tensors_that_are_not_there_are_refused(tmp_path: Path) -> None:
    content = litert_model()
    used = content.index(np.array([2, 0, 1], "<i4").tobytes())  # a list of two: the inputs of the sum
    for wrong in (3, 2**31 - 1, -2):
        changed = content[: used + 4] + wrong.to_bytes(4, "little", signed=True) + content[used + 8 :]
        with pytest.raises(ValueError, match="a tensor that is not there"):
            checked_litert(written(tmp_path / "m.tflite", changed))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"\x1c\0\0\0TFL3", "outside of the file"),
        (b"\xff\xff\xff\xffTFL3" + bytes(100), "outside of the file"),
        (b"PK\3\4" + bytes(100), "not a LiteRT model"),
        (litert_model()[:-100], "outside of the file"),
    ],
)
def test_what_is_no_model_is_refused(content: bytes, reason: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=reason):
        checked_litert(written(tmp_path / "m.tflite", content))


def test_a_damaged_model_is_refused_or_passes(tmp_path: Path) -> None:
    assert 300 < refusals(tmp_path / "m.tflite", litert_model(), 1800, checked_litert) < 1800
