"""What must be true of a stranger's `.onnx` before a runtime opens it.

The graph itself is data, but its tensors may name files. Runtimes open these themselves, and each of them had ways
out of the model's folder: by `..`, by links, by places other than initializers, by names that stand for addresses in
memory. So every message in the file is looked at, whatever it is part of. Nothing outside the file is read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jostle.untrusted.files import inside, named_file, read_bounded

if TYPE_CHECKING:
    from google.protobuf.message import Message
    from onnx import ModelProto, NodeProto, SparseTensorProto, TensorProto

SIZE_LIMIT = 2**31 - 1  # bytes, the limit of protobuf too
DENSE_LIMIT = 2**28  # values of a tensor that is stored sparsely, and that runtimes write out in full
DIMENSION_LIMIT = 2**40
RANK_LIMIT = 64
DEPTH_LIMIT = 100  # of functions that call functions
CALL_LIMIT = 1_000_000  # nodes once every function stands where it is called
FLATBUFFER = b"ORTM"  # ONNX Runtime's own format, which it recognises by content
EXTERNAL_KEYS = {"location", "offset", "length", "checksum"}
NUMBER = re.compile(r"\d{1,18}", re.ASCII)
# Compiled parts, which an execution provider reads from another file or hands to a driver.
COMPILED = "EPContext"
LIBRARY = re.compile(r"ep_cache_context|(shared_?)?(library|lib|so|dll)(_?(path|file|name))?", re.IGNORECASE)
KNOWN_DOMAINS = (
    *("", "ai.onnx", "ai.onnx.ml", "ai.onnx.training", "ai.onnx.preview.training"),
    *("com.microsoft", "com.microsoft.nchwc"),
)
BITS = {
    15: 128,
    **dict.fromkeys((7, 11, 13, 14), 64),
    **dict.fromkeys((1, 6, 12), 32),
    **dict.fromkeys((4, 5, 10, 16), 16),
    **dict.fromkeys((2, 3, 9, 17, 18, 19, 20, 24), 8),
    **dict.fromkeys((27, 28), 6),
    **dict.fromkeys((21, 22, 23), 4),
    **dict.fromkeys((25, 26), 2),
}  # of an element, by TensorProto.DataType
COMPLEX = (14, 15)

Function = tuple[str, str, str]  # domain, name, overload


def checked_onnx(path: Path, newest_opset: int) -> ModelProto:
    """The model in the file, whose external data lies beside it unread; ValueError says why nothing may open it."""
    model = _parsed(read_bounded(path, SIZE_LIMIT))
    _check_versions(model, newest_opset)
    for message in [*_messages(model)]:  # all of it first, as the names in it are checked on the way
        match type(message).__name__:
            case "TensorProto":
                _check_tensor(message, path)
            case "SparseTensorProto":
                _check_sparse(message)
            case "NodeProto":
                _check_node(message)
    _check_calls(model)
    return model


def external_files(model: ModelProto) -> set[str]:
    """The files beside a checked model in which tensors lie, whatever part of the model those are."""
    tensors = (message for message in _messages(model) if type(message).__name__ == "TensorProto")
    entries = (entry for tensor in tensors for entry in tensor.external_data)
    return {entry.value for entry in entries if entry.key == "location"}


def unknown_domains(model: ModelProto, known: tuple[str, ...] = KNOWN_DOMAINS) -> tuple[str, ...]:
    """Domains of operators that neither a runtime nor the model itself defines: custom operators need a library."""
    defined = {(function.domain, function.name) for function in model.functions}
    strange = {node.domain for node in _nodes(model) if (node.domain, node.op_type) not in defined}
    return tuple(sorted(strange - {*known}))


def _parsed(content: bytes) -> ModelProto:
    import onnx
    from google.protobuf.message import DecodeError

    if content[4:8] == FLATBUFFER:
        raise ValueError("it is a model in ONNX Runtime's own format, not ONNX")
    try:
        model: ModelProto = onnx.ModelProto.FromString(content)
    except (DecodeError, RecursionError) as error:
        raise ValueError("it is not an ONNX model, or is damaged, or is nested too deeply; export it again") from error
    if not (model.HasField("graph") and model.graph.output and model.opset_import):
        raise ValueError("it is not an ONNX model: it has no graph with outputs, or no opset; export it again")
    return model


def _check_versions(model: ModelProto, newest_opset: int) -> None:
    import onnx

    if model.ir_version > onnx.IR_VERSION:
        newest = f"the installed onnx knows {onnx.IR_VERSION} and older"
        raise ValueError(f"it has version {model.ir_version} of the ONNX format, and {newest}: update onnx")
    for used in (model, *model.functions):
        for opset in used.opset_import:
            if opset.domain in ("", "ai.onnx") and opset.version > newest_opset:
                wanted = f"it needs opset {opset.version}, and at most {newest_opset} is known"
                raise ValueError(f"{wanted}: export it with opset {newest_opset} or older, or update the runtime")


def _messages(root: Message) -> Iterator[Any]:
    """Every message in the file, whichever field of whichever other message holds it."""
    waiting = [root]
    while waiting:
        message = waiting.pop()
        for field, value in message.ListFields():
            if field.message_type is not None:
                waiting.extend([value] if hasattr(value, "ListFields") else value)
            elif field.type == field.TYPE_STRING:
                _check_text([value] if isinstance(value, str | bytes) else value)
        yield message


def _check_text(texts: Iterable[str | bytes]) -> None:
    if any(isinstance(text, bytes) for text in texts):  # what protobuf gives where it cannot decode
        raise ValueError("it holds names that are not UTF-8")


def _check_node(node: NodeProto) -> None:
    if node.op_type == COMPILED:
        raise ValueError(f"its node {node.name[:100]!r} is {node.op_type}, compiled code for another device")
    for attribute in node.attribute:
        if LIBRARY.fullmatch(attribute.name):
            raise ValueError(f"its node {node.name[:100]!r} names a library or cache by {attribute.name!r}")


def _check_tensor(tensor: TensorProto, path: Path) -> None:
    count = _elements(tensor.dims, f"its tensor {tensor.name[:100]!r}")
    if tensor.data_location == tensor.EXTERNAL or tensor.external_data:
        _check_external(tensor, count, path)
    elif count > _held(tensor):
        raise ValueError(f"its tensor {tensor.name[:100]!r} claims {count} values, and {_held(tensor)} are there")


def _elements(dims: Any, whose: str) -> int:
    if len(dims) > RANK_LIMIT or not all(0 <= size <= DIMENSION_LIMIT for size in dims):
        raise ValueError(f"{whose} has a shape that cannot be")
    return math.prod(dims)


def _held(tensor: TensorProto) -> int:
    """How many elements at most the tensor's own fields hold."""
    bits = BITS.get(tensor.data_type, 8)
    if tensor.raw_data:
        return len(tensor.raw_data) * 8 // bits
    fields = (tensor.float_data, tensor.int32_data, tensor.int64_data, tensor.double_data, tensor.uint64_data)
    numbers = sum(map(len, fields)) * max(8 // bits, 1)
    return len(tensor.string_data) + (numbers // 2 if tensor.data_type in COMPLEX else numbers)


def _check_external(tensor: TensorProto, count: int, path: Path) -> None:
    name = tensor.name[:100]
    entries = {entry.key: entry.value for entry in tensor.external_data}
    if len(entries) != len(tensor.external_data) or "location" not in entries or not entries.keys() <= EXTERNAL_KEYS:
        raise ValueError(f"its tensor {name!r} says in an unknown way where its external data is")
    if tensor.data_location != tensor.EXTERNAL or tensor.data_type not in BITS or tensor.raw_data:
        raise ValueError(f"its tensor {name!r} has external data that a tensor of its kind cannot have")
    size = _external_file(entries["location"], path).stat().st_size
    offset, needed = _number(entries, "offset", name) or 0, -(-count * BITS[tensor.data_type] // 8)
    length = _number(entries, "length", name)
    if length not in (None, needed) or offset + needed > size:
        found = f"{needed} bytes at {offset} of {entries['location'][:100]!r}, which has {size}"
        raise ValueError(f"its tensor {name!r} needs {found}{'' if length is None else f', and claims {length}'}")


def _external_file(location: str, path: Path) -> Path:
    """Relative to the model's folder, as runtimes take it; a link to the model would leave open to which folder."""
    if path.is_symlink():
        raise ValueError("it has external data and is itself a link: name the file that it points to")
    if not inside(path.parent, location).exists():
        raise ValueError(f"its external data {location[:100]!r} is missing: put it beside the model")
    return named_file(path.parent, location)


def _number(entries: Mapping[str, str], key: str, name: str) -> int | None:
    text = entries.get(key)
    if text is not None and not NUMBER.fullmatch(text):
        raise ValueError(f"its tensor {name!r} has the {key} {text[:100]!r} in its external data")
    return None if text is None else int(text)


def _check_sparse(tensor: SparseTensorProto) -> None:
    if _elements(tensor.dims, "its sparse tensor") > DENSE_LIMIT:
        raise ValueError(f"its sparse tensor {tensor.values.name[:100]!r} stands for more than {DENSE_LIMIT} values")


def _check_calls(model: ModelProto) -> None:
    """Functions do not call themselves, nor each other so often that putting them in place fills the memory."""
    calls = {(one.domain, one.name, one.overload): [_called(node) for node in _nodes(one)] for one in model.functions}
    if len(calls) != len(model.functions):
        raise ValueError("two of its functions have one name")
    sizes: dict[Function, int] = {}
    for function in calls:
        _size(function, calls, sizes, 0)
    total = sum(1 + sizes.get(_called(node), 0) for node in _nodes(model.graph))
    if total > CALL_LIMIT:
        raise ValueError(f"its functions stand for more than {CALL_LIMIT} nodes")


def _nodes(root: Message) -> Iterator[NodeProto]:
    return (message for message in _messages(root) if type(message).__name__ == "NodeProto")


def _called(node: NodeProto) -> Function:
    return node.domain, node.op_type, node.overload


def _size(function: Function, calls: Mapping[Function, list[Function]], sizes: dict[Function, int], depth: int) -> int:
    """Nodes of the function once all that it calls stands in place."""
    if depth > DEPTH_LIMIT:
        raise ValueError(f"its function {function[1][:100]!r} calls itself, or calls others {DEPTH_LIMIT} deep")
    if function not in sizes:
        inner = (1 + _size(one, calls, sizes, depth + 1) if one in calls else 1 for one in calls[function])
        sizes[function] = min(sum(inner), CALL_LIMIT + 1)
    return sizes[function]
