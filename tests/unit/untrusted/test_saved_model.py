"""A stranger's SavedModel has operators that compute and nothing else, and no links; TensorFlow is not asked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jostle.untrusted.saved_model import CHECKPOINT, OUTSIDE, check_saved_model
from jostle.untrusted.tensorflow_operators import COMPUTING
from security.damage import refusals
from security.model_payloads import CHECKPOINTS, SAVED_MODEL_PAYLOADS, graph_function, saved_model
from soaking import only_in_soak

PLAIN = [*CHECKPOINTS, graph_function("__inference_f", "Conv2D", "Relu", calls="__inference_g")]
PLAIN.append(graph_function("__inference_g", "MatMul"))
TOP = ("VarHandleOp", "Placeholder", "StatefulPartitionedCall", "__inference_f")
# Exports a network as Keras does, saves a module that reads a file, and tells which operators TensorFlow has.
EXPORTING = """
import sys, pathlib, keras, tensorflow as tf
from keras import layers
from security.model_payloads import malicious_saved_model
folder = pathlib.Path(sys.argv[1])
model = keras.Sequential([keras.Input((8, 8, 3)), layers.Conv2D(4, 3, activation="relu"), layers.BatchNormalization(),
                          layers.MaxPooling2D(), layers.Reshape((-1, 4)), layers.LSTM(3), layers.Dropout(0.1),
                          layers.Dense(3, activation="softmax")])
model.export(folder / "exported")
path = malicious_saved_model(folder)
answer = tf.saved_model.load(str(path)).signatures["serving_default"](x=tf.zeros(2))
print(*next(iter(answer.values())).numpy().tolist())
"""


def folder_of(path: Path, content: bytes) -> Path:
    (path / "variables").mkdir(parents=True)
    (path / "variables" / "variables.data-00000-of-00001").touch()
    (path / "saved_model.pb").write_bytes(content)
    return path


def test_a_plain_model_passes(tmp_path: Path) -> None:
    check_saved_model(folder_of(tmp_path / "m", saved_model(PLAIN, TOP)))


@only_in_soak
@pytest.mark.slow
def test_what_keras_exports_passes_and_the_payload_reads_where_tensorflow_runs_it(tmp_path: Path) -> None:
    pytest.importorskip("tensorflow")
    command, paths = [sys.executable, "-c", EXPORTING, str(tmp_path)], {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **paths})
    assert "1729.0 4104.0" in done.stdout
    check_saved_model(tmp_path / "exported")
    with pytest.raises(ValueError, match="'ReadFile', which reaches files, the network or code: add --trust-model"):
        check_saved_model(tmp_path / "model")
    check_saved_model(tmp_path / "model", trusted=True)
    graph = tmp_path / "exported" / "saved_model.pb"
    assert refusals(graph, graph.read_bytes(), 200, lambda one: check_saved_model(one.parent)) > 50


@pytest.mark.parametrize("name", SAVED_MODEL_PAYLOADS)
def test_operators_that_do_more_than_compute_and_links_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"it has the operator '|is a link|hard links|names the file"):
        check_saved_model(SAVED_MODEL_PAYLOADS[name](tmp_path))


@pytest.mark.parametrize("name", ["link", "hard link", "linked folder", "asset elsewhere"])
def test_trust_does_not_let_links_pass(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"is a link|hard links|names the file"):
        check_saved_model(SAVED_MODEL_PAYLOADS[name](tmp_path), trusted=True)


def test_a_custom_operator_is_named_as_unknown(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'OwnCustomOp', which is not known to compute and nothing else"):
        check_saved_model(SAVED_MODEL_PAYLOADS["function with OwnCustomOp"](tmp_path))


def test_graphs_that_are_not_looked_at_are_refused(tmp_path: Path) -> None:
    for number, name in enumerate(("saved_model.pbtxt", "saved_model.cpb")):
        folder = folder_of(tmp_path / str(number), saved_model(PLAIN))
        (folder / name).touch()
        with pytest.raises(ValueError, match=f"it has {name} besides saved_model.pb"):
            check_saved_model(folder)


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    for number, content in enumerate((b"", b"<html></html>", bytes(9), b"\x0b\x0c", b"\xff" * 20, b"\x08\x01")):
        with pytest.raises(ValueError, match=r"not a SavedModel|empty|damaged"):
            check_saved_model(folder_of(tmp_path / str(number), content))
    with pytest.raises(ValueError, match=r"no saved_model\.pb"):
        check_saved_model(tmp_path)
    with pytest.raises(ValueError, match=r"asset 'words\.txt' is missing"):
        check_saved_model(folder_of(tmp_path / "m", saved_model(PLAIN, assets=("words.txt",))))


def test_no_known_operator_looks_like_one_that_reaches_out() -> None:
    assert not {name for name in COMPUTING if OUTSIDE.fullmatch(name)} and not COMPUTING & CHECKPOINT


def test_a_damaged_model_is_refused_or_passes(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "m", saved_model(PLAIN, TOP))
    graph = folder / "saved_model.pb"
    assert 300 < refusals(graph, graph.read_bytes(), 1800, lambda one: check_saved_model(one.parent)) < 1800
