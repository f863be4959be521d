"""Model files that would read what they must not, or run code, when a library opens them unchecked.

A builder makes one file in a folder of its own and returns its path; what it reaches for lies outside that folder.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SECRET = np.array([1729.0, 4104.0], dtype=np.float32)  # what a file outside the model's folder holds
Builder = Callable[[Path], Path]


def secret(folder: Path) -> Path:
    """A file beside the model's folder; a model that answers with its numbers has read it."""
    path = folder / "secret.bin"
    path.write_bytes(SECRET.tobytes())
    return path


def _home(folder: Path) -> Path:
    secret(folder)
    home = folder / "model"
    home.mkdir(exist_ok=True)
    return home


def external_tensor(location: str, **entries: str) -> Any:
    """The name and shape of the secret, and its values in another file."""
    import onnx

    tensor = onnx.TensorProto(name="w", dims=[2], data_type=onnx.TensorProto.FLOAT)
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=value)
    return tensor


def adding(tensor: Any) -> Any:
    """A model `y = x + w` with this initializer."""
    from onnx import TensorProto, helper

    value = (TensorProto.FLOAT, [2])
    x, y = (helper.make_tensor_value_info(name, *value) for name in "xy")
    graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", [x], [y], [tensor])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _with_initializer(location: str) -> Builder:
    def build(folder: Path) -> Path:
        path = _home(folder) / "model.onnx"
        path.write_bytes(adding(external_tensor(location)).SerializeToString())
        return path

    return build


def _absolute(folder: Path) -> Path:
    return _with_initializer(str(secret(folder).absolute()))(folder)


def _linked(folder: Path) -> Path:
    path = _with_initializer("w.bin")(folder)
    (path.parent / "w.bin").symlink_to(secret(folder))
    return path


def _behind_link(folder: Path) -> Path:
    path = _with_initializer("data/secret.bin")(folder)
    (path.parent / "data").symlink_to(folder)
    return path


def _hard_linked(folder: Path) -> Path:
    path = _with_initializer("w.bin")(folder)
    os.link(secret(folder), path.parent / "w.bin")
    return path


def _in_memory(tag: str) -> Builder:
    """ONNX Runtime takes such a location for an address, even if there is a file of this name."""

    def build(folder: Path) -> Path:
        path = _with_initializer(tag)(folder)
        (path.parent / tag).parent.mkdir(parents=True)
        (path.parent / tag).write_bytes(SECRET.tobytes())
        return path

    return build


def nested_onnx(place: str, location: str = "../secret.bin") -> Any:
    """A model with an external tensor in a place other than its initializers."""
    from onnx import TensorProto, helper

    tensor, inner = external_tensor(location), helper.make_tensor("inner", TensorProto.FLOAT, [2], [0.0, 0.0])
    model = adding(helper.make_tensor("w", TensorProto.FLOAT, [2], [0.0, 0.0]))
    out = helper.make_tensor_value_info("o", TensorProto.FLOAT, [2])
    constant = helper.make_node("Constant", [], ["o"], value=tensor)
    match place:
        case "constant":
            model.graph.node.insert(0, helper.make_node("Constant", [], ["w"], value=tensor))
            del model.graph.initializer[:]
        case "branch":
            branch = helper.make_graph([constant], "b", [], [out])
            deeper = helper.make_node("If", ["c"], ["o"], then_branch=branch, else_branch=branch)
            outer = helper.make_graph([deeper], "a", [], [out])
            model.graph.node.append(helper.make_node("If", ["c"], ["z"], then_branch=outer, else_branch=outer))
        case "initializer of a branch":
            branch = helper.make_graph([helper.make_node("Identity", ["w"], ["o"])], "b", [], [out], [tensor])
            model.graph.node.append(helper.make_node("Loop", ["n", "c"], ["z"], body=branch))
        case "function":
            opset = [helper.make_opsetid("", 17)]
            model.functions.append(helper.make_function("own", "F", [], ["o"], [constant], opset))
        case "default of a function":
            opset, default = [helper.make_opsetid("", 17)], helper.make_attribute("value", tensor)
            made = helper.make_function("own", "F", [], ["o"], [], opset, attribute_protos=[default])
            model.functions.append(made)
        case "values of a sparse tensor":
            indices = helper.make_tensor("i", TensorProto.INT64, [2], [0, 1])
            model.graph.sparse_initializer.append(helper.make_sparse_tensor(tensor, indices, [4]))
        case "indices of a sparse tensor":
            model.graph.sparse_initializer.append(helper.make_sparse_tensor(inner, tensor, [4]))
        case "list of tensors":
            attribute = helper.make_attribute("tensors", [tensor])
            model.graph.node[0].attribute.append(attribute)
        case "training":
            model.training_info.add().algorithm.initializer.append(tensor)
        case _:
            raise ValueError(place)
    return model


NESTED = (
    *("constant", "branch", "initializer of a branch", "function", "default of a function"),
    *("values of a sparse tensor", "indices of a sparse tensor", "list of tensors", "training"),
)


def _nested(place: str) -> Builder:
    def build(folder: Path) -> Path:
        path = _home(folder) / "model.onnx"
        path.write_bytes(nested_onnx(place).SerializeToString())
        return path

    return build


def _compiled(folder: Path) -> Path:
    from onnx import helper

    path = _home(folder) / "model.onnx"
    values = {"embed_mode": 0, "ep_cache_context": "../secret.bin"}
    model = adding(external_tensor("w.bin"))
    model.graph.node[0].CopyFrom(helper.make_node("EPContext", ["x"], ["y"], domain="com.microsoft", **values))
    (path.parent / "w.bin").write_bytes(SECRET.tobytes())
    path.write_bytes(model.SerializeToString())
    return path


# Each reads a file outside the model's folder, or memory.
ONNX_PAYLOADS: dict[str, Builder] = {
    "parent": _with_initializer("../secret.bin"),
    "parent in between": _with_initializer("data/../../secret.bin"),
    "absolute": _absolute,
    "backslash": _with_initializer("..\\secret.bin"),
    "drive": _with_initializer("C:secret.bin"),
    "nul": _with_initializer("../secret.bin\0.txt"),
    "address in memory": _in_memory("*/_ORT_MEM_ADDR_/*"),
    "address in native order": _in_memory("*/_ORT_NATIVE_ENDIAN_MEM_ADDR_/*"),
    "link": _linked,
    "behind a link": _behind_link,
    "hard link": _hard_linked,
    "compiled elsewhere": _compiled,
    **{f"in {place}": _nested(place) for place in NESTED},
}


def malicious_onnx_escape(folder: Path) -> Path:
    return ONNX_PAYLOADS["parent"](folder)
