"""Twins of Keras models that are files: rounded, in other precisions, and as they are deployed."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jostle.errors import ModelRefused
from jostle.subjects.array_model import Array, Arrays
from jostle.subjects.keras_signature import called
from jostle.subjects.openvino_conversion import write_openvino
from jostle.subjects.silence import silenced
from jostle.subjects.twin_making import TwinMaking, share_of_weights

TWINS: Mapping[str, str] = {
    "weights16": "The model with its weights rounded to 16 bit, computing in float32.",
    "bfloat16": "The model computing in bfloat16.",
    "float16": "The model as LiteRT runs it with weights of 16 bit.",
    "int8": "The model as LiteRT runs it with weights of 8 bit (dynamic range).",
    "int8-static": "The model as LiteRT runs it in 8 bit, with scales measured on the seeds.",
    "litert": "The model as LiteRT runs it.",
    "onnx": "The model exported to ONNX, as ONNX Runtime runs it.",
    "openvino": "The model exported to ONNX, as OpenVINO runs it.",
}

BY_LITERT = ("litert", "float16", "int8", "int8-static")
SERVING = ("serving_default", "serve")  # signatures of a SavedModel, the usual one first


def made_twin(model: Any, name: str, sample: Arrays, making: TwinMaking) -> Path | None:
    """The file of the twin of this name, made from inputs of the sample; None if there is no such twin."""
    share = 1.0 if name == "weights16" else share_of_weights(name)
    if share is not None:
        rng = np.random.default_rng(making.seed)
        return making.written(name, ".keras", lambda path: _write_rounded(model, share, rng, path))
    match name:
        case "bfloat16":
            return making.written(name, ".keras", lambda path: _in_bfloat16(model).save(path))
        case "onnx":
            return making.written(name, ".onnx", lambda path: _write_onnx(model, sample, path))
        case "openvino":
            return making.written(name, ".xml", lambda path: _write_openvino(model, sample, path))
        case _ if name in BY_LITERT:
            return making.written(name, ".tflite", lambda path: _write_litert(model, name, sample, path))
    return None


def _write_rounded(model: Any, share: float, rng: np.random.Generator, path: Path) -> None:
    """A random share of the weights is rounded to 16 bit; the model has its own again afterwards."""
    before = model.get_weights()
    try:
        model.set_weights([_rounded(weights, share, rng) for weights in before])
        model.save(path)
    finally:
        model.set_weights(before)


def _rounded(weights: Array, share: float, rng: np.random.Generator) -> Array:
    if weights.dtype.kind != "f":
        return weights
    with np.errstate(over="ignore"):  # what half precision cannot hold is infinite there
        half = weights.astype(np.float16).astype(weights.dtype)
    return np.where(rng.random(weights.shape) < share, half, weights)


def _in_bfloat16(model: Any) -> Any:
    import keras

    def clone(layer: Any) -> Any:
        return type(layer).from_config({**layer.get_config(), "dtype": "bfloat16"})

    twin = keras.models.clone_model(model, clone_function=clone, recursive=True)
    twin.set_weights(model.get_weights())
    return twin


def _write_onnx(model: Any, sample: Arrays, path: Path) -> None:
    """By Keras' own exporter, which wants a model that was called before."""
    import keras

    if keras.backend.backend() == "jax":
        raise ModelRefused("--twin onnx of a Keras model cannot be made on JAX: add --engine tensorflow")
    called(model, [array[:1] for array in sample.values()])
    try:
        model.export(path, format="onnx", verbose=False)
        import onnx
    except ImportError as error:
        raise ModelRefused("--twin onnx of a Keras model needs tf2onnx: pip install 'jostle[tensorflow]'") from error
    onnx.checker.check_model(path)  # because the exporter leaves operators of TensorFlow in it that ONNX lacks


def _write_openvino(model: Any, sample: Arrays, path: Path) -> None:
    onnx = path.with_suffix(".onnx")
    _write_onnx(model, sample, onnx)
    write_openvino(onnx, path)
    onnx.unlink()


def _write_litert(model: Any, name: str, sample: Arrays, path: Path) -> None:
    import keras

    if keras.backend.backend() != "tensorflow":
        raise ModelRefused(f"--twin {name} of a Keras model is made by TensorFlow: add --engine tensorflow")
    with tempfile.TemporaryDirectory() as folder:
        model.export(folder, verbose=False)
        by_tensor = dict(zip((tensor.name for tensor in model.inputs), sample.values(), strict=True))
        path.write_bytes(as_litert(Path(folder), SERVING[0], name, by_tensor))


def as_litert(saved: Path, signature: str, name: str, sample: Arrays) -> bytes:
    """The twin of this name of a SavedModel in that folder, which runs by the signature."""
    import tensorflow as tf

    converter = tf.lite.TFLiteConverter.from_saved_model(str(saved), signature_keys=[signature])
    if name != "litert":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if name == "float16":
        converter.target_spec.supported_types = [tf.float16]
    if name == "int8-static":
        converter.representative_dataset = lambda: _rows(sample)
    with silenced(native=True):  # the converter tells there how it quantises
        return bytes(converter.convert())


def _rows(sample: Arrays) -> Iterator[dict[str, Array]]:
    """Inputs one by one, as the converter wants them."""
    count = len(next(iter(sample.values())))
    return ({name: array[row : row + 1] for name, array in sample.items()} for row in range(count))
