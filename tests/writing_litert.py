"""Writes LiteRT models into the folder that is named, in a process of its own, because TensorFlow fills one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "KERAS_BACKEND": "tensorflow", "CUDA_VISIBLE_DEVICES": "-1"}

import keras
import numpy as np
import tensorflow as tf

from jostle.zoo import lenet1, mnist_sample


def network(batch: int | None = None) -> keras.Model:
    """LeNet-1 with its weights, channels last, that ends in softmax."""
    own = lenet1()
    model = keras.Sequential(
        [
            keras.Input((28, 28, 1), batch_size=batch, name="image"),
            keras.layers.Conv2D(4, 5, activation="relu", name="conv1"),
            keras.layers.MaxPooling2D(name="pool1"),
            keras.layers.Conv2D(12, 5, activation="relu", name="conv2"),
            keras.layers.MaxPooling2D(name="pool2"),
            keras.layers.Permute((3, 1, 2), name="turn"),
            keras.layers.Flatten(name="flatten"),
            keras.layers.Dense(10, name="fc1"),
            keras.layers.Softmax(name="softmax"),
        ]
    )
    for name in ("conv1", "conv2", "fc1"):
        weight, bias = (value.detach().numpy() for value in own.get_submodule(name).parameters())
        turned = weight.transpose(2, 3, 1, 0) if weight.ndim == 4 else weight.T
        model.get_layer(name).set_weights([turned, bias])
    return model


def converted(model: keras.Model, kind: str) -> bytes:
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    if kind != "float":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if kind == "int8":
        images = mnist_sample()[0][:64].permute(0, 2, 3, 1).numpy()
        converter.representative_dataset = lambda: ([image[None]] for image in images)
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = converter.inference_output_type = tf.int8
    content: bytes = converter.convert()
    return content


def pooled() -> bytes:
    """A model for batches of one, none of whose operators says so."""
    weights = np.linspace(-1, 1, 75, dtype=np.float32).reshape(5, 5, 1, 3)

    @tf.function(input_signature=[tf.TensorSpec((1, 28, 28, 1), tf.float32, name="pixels")])
    def run(pixels: tf.Tensor) -> tf.Tensor:
        return tf.reduce_max(tf.nn.conv2d(pixels, weights, 1, "VALID"), (1, 2))

    converter = tf.lite.TFLiteConverter.from_concrete_functions([run.get_concrete_function()])
    content: bytes = converter.convert()
    return content


def main() -> None:
    folder = Path(sys.argv[1])
    for kind in ("float", "dynamic", "int8"):
        (folder / f"{kind}.tflite").write_bytes(converted(network(), kind))
    (folder / "row.tflite").write_bytes(converted(network(1), "float"))
    (folder / "pooled.tflite").write_bytes(pooled())


if __name__ == "__main__":
    main()
