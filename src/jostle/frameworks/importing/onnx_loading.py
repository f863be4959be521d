"""ONNX files as onnx reads them; the file is a stranger's, so that whatever is wrong with it is refused in one line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jostle.errors import ModelRefused
from jostle.untrusted.files import check_regular, read_bounded

LARGEST_FILE = 512 * 2**20  # bytes


def loaded(path: Path) -> Any:
    """The model, found sound by the checker of onnx."""
    import onnx
    from google.protobuf.message import DecodeError

    try:
        check_regular(path)
        if path.stat().st_size > LARGEST_FILE:
            raise ModelRefused(f"is larger than {LARGEST_FILE // 2**20} MiB")
        model = onnx.load_model_from_string(read_bounded(path, LARGEST_FILE))
        _refuse_external(model)
        onnx.checker.check_model(model)
    except (OSError, ValueError, DecodeError, onnx.checker.ValidationError) as error:
        raise ModelRefused(f"is no ONNX model ({first_line(error)})") from error
    return model


def first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


def _refuse_external(model: Any) -> None:
    """Data in other files could be any file of the user's."""
    for tensor in _tensors(model.graph):
        if tensor.data_location or tensor.external_data:
            raise ModelRefused(f"keeps {tensor.name!r} in another file; save it as one file")


def _tensors(graph: Any) -> Iterator[Any]:
    yield from graph.initializer
    for node in graph.node:
        yield from (attribute.t for attribute in node.attribute if attribute.HasField("t"))
        yield from (tensor for attribute in node.attribute for tensor in attribute.tensors)
