"""Model files for tests, written by the libraries that users write them with."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from jostle.subjects.openvino_file import openvino_runtime


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
