"""Model files for tests, written by the libraries that users write them with."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from jostle.subjects.keras_engines import keras_on
from jostle.subjects.openvino_file import openvino_runtime
from jostle.zoo import LeNet


def write_onnx(module: nn.Module, sample: Tensor, path: Path) -> Path:
    """A module as torch's exporter writes it, for any batch."""
    batch = {0: torch.export.Dim("batch", min=1)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(module.eval(), (sample,), dynamo=True, dynamic_shapes=(batch,), verbose=False)
    assert program is not None
    program.save(str(path))
    return path


def write_openvino(onnx: Path, path: Path) -> Path:
    """An ONNX model as OpenVINO writes it."""
    openvino = openvino_runtime()
    openvino.save_model(openvino.Core().read_model(onnx), path, compress_to_fp16=False)
    return path


def as_keras(net: LeNet, fused: bool = False) -> Any:
    """A LeNet as a model of Keras, which takes images with their channels last; its last layer may hold a softmax."""
    keras = keras_on(None, "a test")
    dtype = str(next(net.parameters()).dtype).removeprefix("torch.")
    children = list(net.named_children())
    layers = [layer for name, child in children for layer in _keras_layers(keras, name, child, dtype)]
    if fused:
        layers[-1].activation = keras.activations.softmax
    model = keras.Sequential([keras.Input((28, 28, 1), dtype=dtype, name="images"), *layers])
    for name, child in children:
        if isinstance(child, nn.Conv2d | nn.Linear):
            weight, bias = child.weight.detach(), child.bias.detach()
            kernel = weight.permute(2, 3, 1, 0) if weight.ndim == 4 else weight.T
            model.get_layer(name).set_weights([kernel.numpy(), bias.numpy()])
    return model


def _keras_layers(keras: Any, name: str, child: nn.Module, dtype: str) -> Iterator[Any]:
    how = {"name": name, "dtype": dtype}
    match child:
        case nn.Conv2d():
            yield keras.layers.Conv2D(child.out_channels, 5, **how)
        case nn.Linear():
            yield keras.layers.Dense(child.out_features, **how)
        case nn.ReLU():
            yield keras.layers.ReLU(**how)
        case nn.Tanh():
            yield keras.layers.Activation("tanh", **how)
        case nn.MaxPool2d():
            yield keras.layers.MaxPooling2D(**how)
        case nn.AvgPool2d():
            yield keras.layers.AveragePooling2D(2, **how)
        case nn.Flatten():  # in torch's order
            yield keras.layers.Permute((3, 1, 2), name="channels_first", dtype=dtype)
            yield keras.layers.Flatten(**how)
        case nn.Softmax():
            yield keras.layers.Softmax(**how)
        case _:
            raise ValueError(f"{name} has no counterpart here")


def write_saved_model(net: LeNet, path: Path) -> Path:
    """A LeNet as Keras exports it for serving."""
    as_keras(net).export(path, verbose=False)
    return path


def write_keras(net: LeNet, path: Path, fused: bool = False) -> Path:
    """A LeNet as Keras saves it: .keras or .h5."""
    model = as_keras(net, fused)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.save(path)
    return path


def write_vision_transformer(folder: Path) -> Path:
    """A tiny classifier of digits as transformers saves it, with weights that were drawn."""
    from transformers import ViTConfig, ViTForImageClassification

    sizes = {"image_size": 28, "patch_size": 14, "num_channels": 1, "hidden_size": 8, "intermediate_size": 16}
    config = ViTConfig(**sizes, num_hidden_layers=1, num_attention_heads=2, num_labels=10)
    return _saved(ViTForImageClassification(config), folder)


def write_text_classifier(folder: Path) -> Path:
    """A tiny classifier of texts of 40 tokens, as transformers saves it."""
    from transformers import BertConfig, BertForSequenceClassification

    sizes = {"vocab_size": 40, "hidden_size": 8, "intermediate_size": 16, "max_position_embeddings": 32}
    config = BertConfig(**sizes, num_hidden_layers=1, num_attention_heads=2, num_labels=3)
    return _saved(BertForSequenceClassification(config), folder)


def _saved(module: Any, folder: Path) -> Path:
    rng = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in module.parameters():
            weight.copy_(torch.randn(weight.shape, generator=rng))
    module.save_pretrained(folder)
    return folder
