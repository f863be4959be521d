"""Model files for tests, written by the libraries that users write them with."""

from __future__ import annotations

import warnings
from pathlib import Path

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
