"""ONNX models converted to OpenVINO's own format."""

from __future__ import annotations

from pathlib import Path


def write_openvino(onnx: Path, to: Path) -> None:
    """An ONNX file, which was checked, as `.xml` with its weights in `.bin` beside it, all in the model's precision."""
    from jostle.subjects.openvino_file import openvino_runtime, read_network  # which knows ONNX files, and they this

    # The usual saving would round weights to half precision.
    openvino_runtime().save_model(read_network(onnx, "onnx"), to, compress_to_fp16=False)
