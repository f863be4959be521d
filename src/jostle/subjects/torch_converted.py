"""Twins of torch modules that are files: exported programs, and what is made of the module as ONNX."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from jostle.errors import ModelRefused
from jostle.subjects.arguments import Call
from jostle.subjects.array_model import Arrays
from jostle.subjects.onnx_file import open_onnx
from jostle.subjects.subject import Loading
from jostle.subjects.torch_export import exported
from jostle.subjects.twin_making import TwinMaking

OF_FILES = {
    "export": "traced, saved and loaded again by torch.export",
    "onnx": "exported to ONNX, run by ONNX Runtime",
    "int8-static": "exported to ONNX and quantised to int8 with scales measured on the seeds, run by ONNX Runtime",
    "openvino": "exported to ONNX, converted and run by OpenVINO",
}
SUFFIXES = {"export": ".pt2", "onnx": ".onnx", "int8-static": ".onnx", "openvino": ".xml"}
NO_LITERT = (
    "--twin litert cannot be made of a torch module: convert it where ai-edge-torch or litert-torch is installed, and "
    "give --twin FILE.tflite"
)


@dataclass(frozen=True)
class Source:
    """A module to be converted."""

    copy: Callable[[], nn.Module]
    prepared: Callable[[torch.Tensor], Call]  # what the module is given for inputs in the user's value range
    outputs: Callable[[], list[str]]  # names of all that it returns; "" of the only one
    batch: int | None  # the only batch size that it accepts


def converted(name: str, source: Source, making: TwinMaking) -> Path | None:
    """The file of the twin of that name, None if no such twin is a file."""
    if name == "litert":
        raise ModelRefused(NO_LITERT)
    if name not in OF_FILES:
        return None
    if (kept := making.file(name, SUFFIXES[name])).exists():
        return kept
    if name == "export":
        return making.written(name, ".pt2", lambda path: torch.export.save(_program(source, making), path))
    onnx = making.written("onnx", ".onnx", lambda path: _write_onnx(source, making, path), wanted=name)
    if name == "onnx":
        return onnx
    model = open_onnx(onnx, Loading())
    return model.twin(name, _arrays(source.prepared(making.sample), [slot.name for slot in model.inputs]), making)


def _arrays(call: Call, names: list[str]) -> Arrays:
    """What a module is given, by the names that its inputs have in ONNX."""
    positional = iter(call[0])
    return {name: (call[1][name] if name in call[1] else next(positional)).cpu().numpy() for name in names}


def _program(source: Source, making: TwinMaking) -> torch.export.ExportedProgram:
    return exported(source.copy(), source.prepared(making.sample[:1]), source.batch)


def _write_onnx(source: Source, making: TwinMaking, path: Path) -> None:
    try:
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise ModelRefused("a twin by way of ONNX needs onnx and onnxscript: pip install 'jostle[onnx]'") from error
    program: Any = torch.onnx.export(_program(source, making), dynamo=True, verbose=False)
    tensors, names = program.model.graph.outputs, source.outputs()
    if len(tensors) == len(names) and all(names):
        for tensor, name in zip(tensors, names, strict=True):
            tensor.name = name  # as they are called in the model
    program.save(str(path))
