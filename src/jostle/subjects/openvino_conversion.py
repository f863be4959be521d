"""ONNX models converted to OpenVINO's own format."""

from __future__ import annotations

from pathlib import Path

from jostle.errors import ModelRefused


def write_openvino(onnx: Path, to: Path) -> None:
    """An ONNX file, which was checked, as `.xml` with its weights in `.bin` beside it, all in the model's precision."""
    try:
        import openvino
    except ImportError as error:
        raise ModelRefused("--twin openvino needs OpenVINO: pip install 'jostle[openvino]'") from error
    # Not convert_model, which reports to its makers. The usual saving would round weights to half precision.
    openvino.save_model(openvino.Core().read_model(onnx), to, compress_to_fp16=False)
