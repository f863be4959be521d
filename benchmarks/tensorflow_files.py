"""Writes LeNet-1 as TensorFlow keeps models into the folder that is named: .keras, .h5, SavedModel and .tflite.

A program of its own, because TensorFlow fills a process.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "KERAS_BACKEND": "tensorflow", "CUDA_VISIBLE_DEVICES": "-1"}

import keras
import tensorflow as tf

from jostle.zoo import lenet1


def network() -> keras.Model:
    """LeNet-1 with its weights, channels last."""
    own = lenet1()
    layers = [
        keras.Input((28, 28, 1), name="image"),
        keras.layers.Conv2D(4, 5, activation="relu", name="conv1"),
        keras.layers.MaxPooling2D(name="pool1"),
        keras.layers.Conv2D(12, 5, activation="relu", name="conv2"),
        keras.layers.MaxPooling2D(name="pool2"),
        keras.layers.Permute((3, 1, 2), name="turn"),
        keras.layers.Flatten(name="flatten"),
        keras.layers.Dense(10, name="fc1"),
    ]
    model = keras.Sequential(layers)
    for name in ("conv1", "conv2", "fc1"):
        weight, bias = (value.detach().numpy() for value in own.get_submodule(name).parameters())
        model.get_layer(name).set_weights([weight.transpose(2, 3, 1, 0) if weight.ndim == 4 else weight.T, bias])
    return model


def main() -> None:
    folder, model = Path(sys.argv[1]), network()
    model.save(folder / "net.keras")
    model.save(folder / "net.h5")
    model.export(folder / "net_saved", verbose=False)
    (folder / "net.tflite").write_bytes(tf.lite.TFLiteConverter.from_keras_model(model).convert())


if __name__ == "__main__":
    main()
