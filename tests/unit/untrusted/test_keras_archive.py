"""A stranger's Keras model holds layers that compute, and numbers that lie in it; the rest is refused with its name."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jostle.untrusted import hdf5_file
from jostle.untrusted.keras_archive import check_keras
from security.damage import refusals
from security.model_payloads import (
    KERAS_PAYLOADS,
    hdf5_weights,
    keras_config,
    keras_layer,
    keras_members,
    malicious_keras,
    zip_of,
)
from soaking import only_in_soak, times

h5py = pytest.importorskip("h5py")
DENSE = keras_config(keras_layer("Dense", units=2, activation="relu"))
TRUSTABLE = ("lambda", "custom class", "torch module", "command")
# Saves models of common layers, as Keras itself writes them, and loads what it is told to trust.
SAVING = """
import sys, keras, numpy as np
from keras import layers, ops
folder = sys.argv[1]
image = x = keras.Input((16, 16, 3))
x = layers.Normalization(mean=[0.1, 0.2, 0.3], variance=np.ones(3))(layers.Rescaling(1 / 255)(x))
x = layers.Conv2D(4, 3, padding="same", activation="relu", kernel_regularizer=keras.regularizers.L2(1e-3),
                  kernel_constraint=keras.constraints.MaxNorm(2.0))(x)
x = layers.LeakyReLU()(layers.SpatialDropout2D(0.1)(layers.BatchNormalization()(x)))
x = layers.SeparableConv2D(4, 3, activation=keras.activations.gelu)(layers.ZeroPadding2D(1)(x))
x = layers.Concatenate()([x, ops.tanh(x) * 2.0])[:, 1:, :, :]
x = layers.MultiHeadAttention(2, 4)(*[layers.Reshape((-1, 8))(layers.MaxPooling2D()(x))] * 2)
x = layers.Bidirectional(layers.LSTM(3, return_sequences=True))(layers.LayerNormalization()(x))
x = layers.Dense(3)(layers.GlobalAveragePooling1D()(x))
functional = keras.Model(image, layers.Softmax(dtype="float32")(x))
functional.compile("adam", "categorical_crossentropy", metrics=["accuracy", keras.metrics.AUC()])
functional.save(f"{folder}/functional.keras")
sequential = keras.Sequential([keras.Input((8, 8, 1)), layers.Conv2D(2, 3, activation="relu"), layers.Flatten(),
                               layers.Dropout(0.5), layers.Dense(4, activation="softmax")])
sequential.compile("sgd", lambda y, p: ops.mean(y - p))
sequential.save(f"{folder}/sequential.keras")
sequential.save(f"{folder}/sequential.h5")
keras.Sequential([keras.Input((16, 16, 3)), functional, layers.Dense(2)]).save(f"{folder}/nested.keras")
sequential.save_weights(f"{folder}/only.weights.h5")
for path in sys.argv[2:]:
    keras.saving.load_model(path, safe_mode=False, compile=False)
"""


def archive(path: Path, config: Any = DENSE, weights: bytes | None = None, **members: bytes) -> Path:
    path.write_bytes(zip_of({**keras_members(config, weights or hdf5_weights()), **members}))
    return path


@only_in_soak
@pytest.mark.slow
def test_what_keras_saves_passes_and_the_payload_runs_where_keras_trusts_it(tmp_path: Path) -> None:
    pytest.importorskip("keras")
    payload, models = malicious_keras(tmp_path), tmp_path / "models"
    models.mkdir()
    (tmp_path / "saving.py").write_text(SAVING)
    command = [sys.executable, str(tmp_path / "saving.py"), str(models), str(payload)]
    subprocess.run(command, check=True, env={**os.environ, "KERAS_BACKEND": "torch"}, capture_output=True)
    for name in ("functional.keras", "sequential.keras", "sequential.h5", "nested.keras"):
        check_keras(models / name)
    with pytest.raises(ValueError, match=r"weights without a model: save it with model\.save"):
        check_keras(models / "only.weights.h5")
    assert (tmp_path / "canary").exists()
    for name in ("functional.keras", "sequential.h5"):
        content = (models / name).read_bytes()
        assert refusals(models / f"damaged-{name}", content, times(30, 1000), check_keras) > 10


@pytest.mark.parametrize("name", KERAS_PAYLOADS)
def test_code_and_other_files_are_refused_and_nothing_runs(name: str, tmp_path: Path) -> None:
    path = KERAS_PAYLOADS[name](tmp_path)
    with pytest.raises(ValueError, match=r"--trust-model|reads the vocabulary|path for a name"):
        check_keras(path)
    assert not (tmp_path / "canary").exists()


@pytest.mark.parametrize("name", TRUSTABLE)
def test_trust_lets_code_pass_by_name_and_runs_nothing(name: str, tmp_path: Path) -> None:
    check_keras(KERAS_PAYLOADS[name](tmp_path), trusted=True)
    assert not (tmp_path / "canary").exists()


def test_the_message_says_what_is_code_and_how_to_trust_it(tmp_path: Path) -> None:
    with pytest.raises(ValueError) as raised:
        check_keras(malicious_keras(tmp_path))
    assert str(raised.value) == "it holds a Lambda layer, which is code: add --trust-model if you trust its origin"


def test_trust_does_not_let_files_outside_be_read(tmp_path: Path) -> None:
    for name in ("vocabulary in a file", "vocabulary by an address", "path as a name"):
        folder = tmp_path / name
        folder.mkdir()
        with pytest.raises(ValueError):
            check_keras(KERAS_PAYLOADS[name](folder), trusted=True)


def test_a_vocabulary_of_words_passes(tmp_path: Path) -> None:
    config = keras_config(keras_layer("StringLookup", vocabulary=["a", "b"], idf_weights=None))
    check_keras(archive(tmp_path / "m.keras", config))


def test_how_the_model_was_compiled_does_not_matter(tmp_path: Path) -> None:
    own = {"module": "own", "class_name": "function", "config": "loss", "registered_name": "loss"}
    check_keras(archive(tmp_path / "m.keras", {**DENSE, "compile_config": {"loss": own}}))
    nested = keras_config({**DENSE, "compile_config": {"loss": own}})
    with pytest.raises(ValueError, match="--trust-model"):
        check_keras(archive(tmp_path / "m.keras", nested))


Fill = Callable[[Any], object]


def _virtual(file: Any) -> None:
    layout = h5py.VirtualLayout(shape=(2,), dtype="f4")
    layout[:] = h5py.VirtualSource("../secret.bin", "x", shape=(2,))
    file.create_virtual_dataset("stolen", layout)


def _looping(file: Any) -> None:
    file["layers/again"] = file["layers"]


def _huge(file: Any) -> None:
    file.create_dataset("huge", shape=(10**6, 10**6), dtype="f4", chunks=(1000, 1000))


def _unknown_filter(file: Any) -> None:
    plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plan.set_chunk((2,))
    plan.set_filter(32015, h5py.h5z.FLAG_OPTIONAL, (3,))
    h5py.h5d.create(file.id, b"packed", h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple((2,)), plan)


OUTSIDE: dict[str, tuple[Fill, str]] = {
    "external link": (lambda file: file.__setitem__("stolen", h5py.ExternalLink("/etc/x.h5", "/y")), "is a link"),
    "deep external link": (
        lambda file: file.__setitem__("layers/a/b/c", h5py.ExternalLink("../secret.h5", "/")),
        "is a link",
    ),
    "soft link": (lambda file: file.__setitem__("stolen", h5py.SoftLink("/layers")), "is a link"),
    "dangling link": (lambda file: file.__setitem__("stolen", h5py.SoftLink("/nowhere")), "is a link"),
    "external storage": (
        lambda file: file.create_dataset("stolen", shape=(2,), dtype="f4", external=[("/etc/passwd", 0, 8)]),
        "lies in another file",
    ),
    "virtual": (_virtual, "lies in another file"),
    "huge": (_huge, "claim 4000000000016 bytes"),
    "unknown filter": (_unknown_filter, "unknown filter"),
    "references": (lambda file: file.create_dataset("r", shape=(2,), dtype=h5py.ref_dtype), "hold numbers"),
    "texts": (lambda file: file.create_dataset("t", data=["a"], dtype=h5py.string_dtype()), "hold numbers"),
    "type": (lambda file: file.__setitem__("kind", np.dtype("f8")), "neither a group nor a dataset"),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_weights_lie_in_the_file(name: str, tmp_path: Path) -> None:
    fill, reason = OUTSIDE[name]
    weights = hdf5_weights(fill)
    with pytest.raises(ValueError, match=reason):
        check_keras(archive(tmp_path / "m.keras", weights=weights), trusted=True)
    legacy = tmp_path / "m.h5"
    legacy.write_bytes(weights)
    with h5py.File(legacy, "a") as file:
        file.attrs["model_config"] = json.dumps(DENSE)
    with pytest.raises(ValueError, match=reason):
        check_keras(legacy, trusted=True)


def test_groups_that_hold_themselves_end(tmp_path: Path) -> None:
    check_keras(archive(tmp_path / "m.keras", weights=hdf5_weights(_looping)))


def _linked(name: str) -> bytes:
    content = io.BytesIO(zip_of({k: v for k, v in keras_members(DENSE, hdf5_weights()).items() if k != name}))
    with zipfile.ZipFile(content, "a") as file:
        info = zipfile.ZipInfo(name)
        info.external_attr = 0o120777 << 16
        file.writestr(info, "../secret")
    return content.getvalue()


def _twice() -> bytes:
    content = io.BytesIO(zip_of(keras_members(DENSE, hdf5_weights())))
    with zipfile.ZipFile(content, "a") as file, pytest.warns(UserWarning, match="Duplicate"):
        file.writestr("config.json", "{}")
    return content.getvalue()


def _with(**members: bytes) -> bytes:
    return zip_of({**keras_members(DENSE, hdf5_weights()), **members})


ARCHIVES: dict[str, tuple[Callable[[], bytes], str]] = {
    "bomb": (
        lambda: zip_of(keras_members(DENSE, bytes(100 * 2**20)), zipfile.ZIP_DEFLATED),
        "unpacks to.*check where it comes from",
    ),
    "link": (lambda: _linked("model.weights.h5"), "is a link"),
    "one name twice": (_twice, "one name"),
    "asset": (lambda: _with(**{"assets/words.txt": b"a"}), "--trust-model"),
    "up": (lambda: _with(**{"../up": b"a"}), "not part of a Keras model"),
    "up from assets": (lambda: _with(**{"assets/../../up": b"a"}), "not part of a Keras model"),
    "script": (lambda: _with(**{"setup.py": b"a"}), "not part of a Keras model"),
    "no weights": (lambda: zip_of({"config.json": b"{}", "metadata.json": b"{}"}), "has no model.weights.h5"),
    "no text": (lambda: _with(**{"config.json": b"\xff\xfe"}), "decode"),
    "no model": (lambda: _with(**{"config.json": b"[1, 2]"}), "not that of a Keras model"),
    "deep": (lambda: _with(**{"config.json": b"[" * 10**5 + b"]" * 10**5}), "nested too deeply"),
    "nested": (
        lambda: _with(
            **{"config.json": b'{"class_name":"Sequential","config":{"x":' + b"[" * 300 + b"]" * 300 + b"}}"}
        ),
        "nested more than 200",
    ),
    "no name": (lambda: _with(**{"config.json": json.dumps(keras_config({"class_name": 1})).encode()}), "no text"),
    "array of a strange kind": (
        lambda: _with(
            **{
                "config.json": json.dumps(
                    keras_config({"class_name": "__numpy__", "config": {"value": [1], "dtype": "V999999999"}})
                ).encode()
            }
        ),
        "array of 'V999999999'",
    ),
    "weights of text": (lambda: _with(**{"model.weights.h5": b"weights"}), "not an HDF5 file"),
    "no zip": (lambda: b"PK\3\4 nothing", "not a Keras archive"),
}


@pytest.mark.parametrize("name", ARCHIVES)
def test_an_archive_holds_what_keras_writes_and_no_more(name: str, tmp_path: Path) -> None:
    make, reason = ARCHIVES[name]
    (tmp_path / "m.keras").write_bytes(make())
    with pytest.raises(ValueError, match=reason):
        check_keras(tmp_path / "m.keras")


def test_assets_pass_where_the_file_is_trusted(tmp_path: Path) -> None:
    check_keras(archive(tmp_path / "m.keras", **{"assets/layers/words.txt": b"a"}), trusted=True)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".keras", ".h5"])
def test_a_damaged_model_is_refused_or_passes(suffix: str, tmp_path: Path) -> None:
    path = archive(tmp_path / "m.keras")
    if suffix == ".h5":
        path = tmp_path / "m.h5"
        with h5py.File(path, "w") as file:
            file.attrs["model_config"] = json.dumps(DENSE)
            file.create_dataset("model_weights/dense/kernel", data=np.ones((2, 2)), compression="gzip", chunks=(1, 2))
    assert 10 < refusals(path, path.read_bytes(), times(40, 1000), check_keras) < times(40, 1000)


def test_a_file_that_hdf5_would_read_for_ever_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A length in the heap of texts that is too long sends HDF5 1.14 round in circles."""
    monkeypatch.setattr(hdf5_file, "PATIENCE", 3)
    path = tmp_path / "m.h5"
    with h5py.File(path, "w") as file:
        file.attrs["model_config"] = json.dumps(DENSE)
    content = bytearray(path.read_bytes())
    length = content.index(b"GCOL") + 24  # of the first text, which is followed by zeros
    content[length : length + 8] = (2000).to_bytes(8, "little")
    path.write_bytes(content)
    with pytest.raises(ValueError, match="more than 3 s"):
        check_keras(path)
