"""Malformed files of every format that is loaded, made of valid ones, the same in each run."""

from __future__ import annotations

import copy
import io
import json
import os
import random
import struct
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import nn

SOURCE = """
from torch import nn

def build():
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
"""
GRAPH, WEIGHTS = "models/model.json", "data/weights/model_weights_config.json"
EXAMPLES = "data/sample_inputs/model.pt"
BOMB = 400 * 2**20  # bytes that a zip of half a megabyte unpacks to
Members = dict[str, bytes]
File = tuple[str, bytes]  # name and content


@cache
def valid() -> dict[str, bytes]:
    """One small model in each format, by the folder and suffix that say how it is loaded."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3)).eval()
    program, state, pickled = io.BytesIO(), io.BytesIO(), io.BytesIO()
    rows = ({0: torch.export.Dim("rows")},)
    torch.export.save(torch.export.export(model, (torch.zeros(2, 4),), dynamic_shapes=rows), program)
    torch.save(model.state_dict(), state)
    torch.save(model, pickled)
    return {
        "models/.pt2": program.getvalue(),
        "models/.pt": pickled.getvalue(),
        "weights/.safetensors": safetensors.torch.save(model.state_dict()),
        "weights/.pth": state.getvalue(),
    }


def refused_files() -> Iterator[File]:
    """Files that nobody may load."""
    for kind, content in valid().items():
        folder, suffix = kind.split("/")
        made = {**_cut(content), **_overwritten(content), **SPECIAL.get(suffix, lambda _: {})(content)}
        yield from ((f"{folder}/{name}{suffix}", damaged) for name, damaged in made.items())


def doubtful_files(count: int) -> Iterator[File]:
    """Files with one thing changed, which may load if it is a thing that does not matter; so many of each format."""
    for kind, content in valid().items():
        folder, suffix = kind.split("/")
        for change in CHANGES[suffix]:
            rng = random.Random(suffix + change.__name__)
            for number in range(count):
                yield f"{folder}/{change.__name__.strip('_')}-{number:03}{suffix}", change(content, rng)


def odd_places(folder: Path) -> Iterator[Path]:
    """Things at which there is no regular file, by every suffix."""
    for kind in valid():
        place, suffix = folder / kind.split("/")[0], kind.split("/")[1]
        place.mkdir(exist_ok=True, parents=True)
        for name, make in ODD.items():
            make(place / f"{name}{suffix}")
            yield place / f"{name}{suffix}"


def _loops(path: Path) -> None:
    path.symlink_to(path)


ODD: dict[str, Callable[[Path], object]] = {
    "folder": Path.mkdir,
    "pipe": os.mkfifo,
    "dangling": lambda path: path.symlink_to(path.parent / "nowhere"),
    "loop": _loops,
    "zeros": lambda path: path.symlink_to("/dev/zero"),
    "empty": Path.touch,
}


def _cut(content: bytes) -> Members:
    early = {1, 2, 4, 7, 8, 9, 30, 100}
    ends = sorted(early | {len(content) * part // 24 for part in range(1, 24)} | {len(content) - n for n in (1, 2, 22)})
    return {f"cut-{end}": content[:end] for end in ends}


def _overwritten(content: bytes) -> Members:
    end = len(content)
    return {
        "garbage": random.Random(1).randbytes(end),
        "zeroed": bytes(end),
        "no-start": b"\xff" * 64 + content[64:],
        "half-zeroed": content[: end // 2] + bytes(end - end // 2),
        "reversed": content[::-1],
        "text": b"this is a model, believe me\n" * 100,
        "page-not-found": b"<!DOCTYPE html><html><body>404</body></html>",
        "large-file-pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n",
    }


def members_of(content: bytes) -> Members:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(members: Members, compression: int = zipfile.ZIP_STORED) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", compression) as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return content.getvalue()


def _bomb(content: bytes, member: str) -> bytes:
    """The archive with a member of zeros that is packed a thousandfold."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, old in members_of(content).items():
            if not name.endswith(member):
                archive.writestr(name, old, zipfile.ZIP_STORED)
                continue
            with archive.open(name, "w") as target:
                for _ in range(BOMB // 2**20):
                    target.write(bytes(2**20))
    return made.getvalue()


def _overlapping(content: bytes) -> bytes:
    """Every entry of the directory points at the member that is largest."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        largest = max(archive.infolist(), key=lambda info: info.file_size)
        at = archive.start_dir
    patched = bytearray(content)
    while patched[at : at + 4] == b"PK\1\2":
        struct.pack_into("<III", patched, at + 16, largest.CRC, largest.file_size, largest.file_size)
        struct.pack_into("<I", patched, at + 42, largest.header_offset)
        at += 46 + sum(struct.unpack_from("<HHH", patched, at + 28))
    return bytes(patched)


def _claiming(content: bytes, size: int) -> bytes:
    """Every entry of the directory claims a size that it has not."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        at = archive.start_dir
    patched = bytearray(content)
    while patched[at : at + 4] == b"PK\1\2":
        struct.pack_into("<II", patched, at + 20, size, size)
        at += 46 + sum(struct.unpack_from("<HHH", patched, at + 28))
    return bytes(patched)


def _damaged_zips(content: bytes, member: str) -> Members:
    members = members_of(content)
    root = next(iter(members)).partition("/")[0]
    return {
        "bomb": _bomb(content, member),
        "overlapping": _overlapping(content),
        "claiming-more": _claiming(content, 2**31),
        "claiming-nothing": _claiming(content, 0),
        "compressed": zipped(members, zipfile.ZIP_DEFLATED),
        "lzma": zipped(members, zipfile.ZIP_LZMA),
        "without-members": zipped({}),
        "other-roots": zipped({f"{number}/{name}": one for number, (name, one) in enumerate(members.items())}),
        "no-roots": zipped({name.partition("/")[2]: one for name, one in members.items()}),
        "stray-member": zipped({**members, f"{root}/stray": b"x"}),
        "many-members": zipped({**members, **{f"{root}/stray/{number}": b"" for number in range(20_000)}}),
        "first-half-of-members": zipped(dict(list(members.items())[: len(members) // 2])),
        "empty-members": zipped(dict.fromkeys(members, b"")),
        "garbled-members": zipped({name: one[::-1] for name, one in members.items()}),
        "doubled": content + content[:-1],
        "no-end": content[:-64] + b"\xff" * 64,
    }


def _at(value: Any, *path: str | int) -> Any:
    for step in path:
        value = value[step]
    return value


def _set(new: object, *path: str | int) -> Callable[[Any], None]:
    def edit(graph: Any) -> None:
        _at(graph, *path[:-1])[path[-1]] = new

    return edit


def _cyclic(graph: Any) -> None:
    nodes = _at(graph, "graph_module", "graph", "nodes")
    nodes[0]["inputs"][0]["arg"] = {"as_tensor": {"name": _at(nodes[-1], "outputs", 0, "as_tensor", "name")}}


def _own_cause(graph: Any) -> None:
    node = _at(graph, "graph_module", "graph", "nodes", 0)
    node["inputs"][0]["arg"] = {"as_tensor": {"name": _at(node, "outputs", 0, "as_tensor", "name")}}


def _backwards(graph: Any) -> None:
    _at(graph, "graph_module", "graph", "nodes").reverse()


IN_GRAPH = ("graph_module", "graph")
FIRST = (*IN_GRAPH, "nodes", 0)
VALUES = (*IN_GRAPH, "tensor_values", "input")
EDITS: dict[str, Callable[[Any], None]] = {
    "cyclic": _cyclic,
    "own-cause": _own_cause,
    "backwards": _backwards,
    "no-nodes": _set([], *IN_GRAPH, "nodes"),
    "no-outputs": _set([], *IN_GRAPH, "outputs"),
    "no-inputs": _set([], *IN_GRAPH, "inputs"),
    "no-values": _set({}, *IN_GRAPH, "tensor_values"),
    "no-signature": _set({}, "graph_module", "signature"),
    "no-graph": _set({}, "graph_module", "graph"),
    "null-graph": _set(None, "graph_module", "graph"),
    "list-of-graphs": _set([], "graph_module"),
    "unknown-operator": _set("torch.ops.aten.nothing_like_it.default", *FIRST, "target"),
    "operator-of-other-arguments": _set("torch.ops.aten.cat.default", *FIRST, "target"),
    "no-arguments": _set([], *FIRST, "inputs"),
    "unknown-name": _set("nobody", *FIRST, "inputs", 0, "arg", "as_tensor", "name"),
    "unknown-dtype": _set(99, *VALUES, "dtype"),
    "negative-dtype": _set(-1, *VALUES, "dtype"),
    "unknown-device": _set("nowhere", *VALUES, "device", "type"),
    "negative-dimension": _set({"as_int": -4}, *VALUES, "sizes", 1),
    "word-as-dimension": _set({"as_int": "four"}, *VALUES, "sizes", 1),
    "no-sizes": _set(None, *VALUES, "sizes"),
    "schema-of-tomorrow": _set({"major": 999, "minor": 0}, "schema_version"),
    "schema-of-words": _set("eight", "schema_version"),
}
TENSOR_EDITS: dict[str, tuple[tuple[str, ...], object]] = {
    "weights-of-negative-size": (("tensor_meta", "sizes"), [{"as_int": -8}, {"as_int": 4}]),
    "weights-of-huge-size": (("tensor_meta", "sizes"), [{"as_int": 10**12}, {"as_int": 4}]),
    "weights-of-overflowing-size": (("tensor_meta", "sizes"), [{"as_int": 2**62}, {"as_int": 2**62}]),
    "weights-of-huge-stride": (("tensor_meta", "strides"), [{"as_int": 10**12}, {"as_int": 1}]),
    "weights-of-negative-stride": (("tensor_meta", "strides"), [{"as_int": -4}, {"as_int": 1}]),
    "weights-beyond-their-end": (("tensor_meta", "storage_offset"), {"as_int": 10**6}),
    "weights-before-their-start": (("tensor_meta", "storage_offset"), {"as_int": -8}),
    "weights-of-unknown-dtype": (("tensor_meta", "dtype"), 99),
    "weights-of-wider-dtype": (("tensor_meta", "dtype"), 8),
    "weights-of-no-file": (("path_name",), "weight_99"),
    "weights-outside": (("path_name",), "../../../etc/passwd"),
    "pickled-weights": (("use_pickle",), True),
}


def _damaged_programs(content: bytes) -> Members:
    members = members_of(content)
    root = next(iter(members)).partition("/")[0]
    graph, weights = (json.loads(members[f"{root}/{name}"]) for name in (GRAPH, WEIGHTS))

    def with_json(name: str, value: bytes) -> bytes:
        return zipped({**members, f"{root}/{name}": value})

    made = _damaged_zips(content, "weight_0")
    for name, edit in EDITS.items():
        edited = copy.deepcopy(graph)
        edit(edited)
        made[name] = with_json(GRAPH, json.dumps(edited).encode())
    for name, (path, new) in TENSOR_EDITS.items():
        edited = copy.deepcopy(weights)
        for tensor in edited["config"].values():
            _set(new, *path)(tensor)
        made[name] = with_json(WEIGHTS, json.dumps(edited).encode())
    nested, values = b'{"graph_module":' + b"[" * 10**6, b'{"graph_module":{"a":[' + b"[]," * 5 * 10**6 + b"0]}}"
    for name, pickle in SHARING.items():
        examples = members[f"{root}/{EXAMPLES}"]
        made[name] = zipped({**members, f"{root}/{EXAMPLES}": _whole_pickle(examples, pickle)})
    for depth in (300, 900, 10**5):
        spec = copy.deepcopy(graph)
        _at(spec, "graph_module", "module_call_graph", 0, "signature")["in_spec"] = (
            "[1," + "[" * depth + "]" * depth + "]"
        )
        made[f"deep-structure-{depth}"] = with_json(GRAPH, json.dumps(spec).encode())
        made[f"nested-{depth}"] = with_json(
            GRAPH, b'{"graph_module":{"a":' + b"[" * depth + b"0" + b"]" * depth + b"}}"
        )
    for digits in (4000, 5000):
        number = json.dumps(weights).encode().replace(b'"as_int": 8', b'"as_int": ' + b"9" * digits)
        made[f"size-of-{digits}-digits"] = with_json(WEIGHTS, number)
    return {
        **made,
        "deep": with_json(GRAPH, nested),
        "deep-and-closed": with_json(GRAPH, nested + b"]" * 10**6 + b"}"),
        "deep-weights": with_json(WEIGHTS, b'{"config":' * 10**5),
        "many-values": with_json(GRAPH, values),
        "number-of-a-million-digits": with_json(GRAPH, b'{"graph_module":' + b"9" * 10**6 + b"}"),
        "utf-16": with_json(GRAPH, json.dumps(graph).encode("utf-16")),
        "not-a-number": with_json(WEIGHTS, b'{"config":{"0.weight":NaN}}'),
        "no-json": with_json(GRAPH, b""),
    }


def _safetensors(header: Any, data: bytes = bytes(16), length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def _digits(header: Any, data: bytes, digits: int) -> bytes:
    """A shape with a number that long, which json itself would not write."""
    return _safetensors(json.dumps(header).encode().replace(b'"shape": [8', b'"shape": [' + b"9" * digits, 1), data)


def _damaged_safetensors(content: bytes) -> Members:
    length = struct.unpack("<Q", content[:8])[0]
    header, data = json.loads(content[8 : 8 + length]), content[8 + length :]

    def changed(field: str, new: object) -> bytes:
        return _safetensors({**header, "0.weight": {**header["0.weight"], field: new}}, data)

    many = {f"t{number}": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]} for number in range(100_001)}
    return {
        **{f"header-of-{size}": _safetensors(b"{}", length=size) for size in (2**63, 2**64 - 1, 2**40, 11, 19)},
        "header-too-large": _safetensors(b" " * (101 * 2**20)),
        "header-of-many-values": _safetensors(b'{"a":[' + b"[]," * 10**7 + b"0]}"),
        "header-deep": _safetensors(b'{"a":' * 10**5),
        **{f"header-{depth}-deep": _safetensors(b'{"a":' * depth + b"1" + b"}" * depth) for depth in (200, 900)},
        **{f"shape-of-{digits}-digits": _digits(header, data, digits) for digits in (4000, 5000)},
        "header-a-list": _safetensors([1, 2]),
        "header-a-number": _safetensors(5),
        "header-no-json": _safetensors(b"{nothing}"),
        "header-no-text": _safetensors(b"\xff\xfe\xfd"),
        "too-many-tensors": _safetensors(many),
        "no-tensors": _safetensors({}, b""),
        "entry-a-word": _safetensors({"0.weight": "F32"}),
        "entry-empty": _safetensors({"0.weight": {}}),
        "metadata-of-numbers": _safetensors({**header, "__metadata__": {"a": 1}}, data),
        "shape-negative": changed("shape", [-8, -4]),
        "shape-huge": changed("shape", [10**12, 4]),
        "shape-overflowing": changed("shape", [2**62, 2**62, 8, 4]),
        "shape-of-fractions": changed("shape", [8.0, 4.0]),
        "shape-of-words": changed("shape", ["8", "4"]),
        "shape-a-number": changed("shape", 32),
        "shape-of-many-ones": changed("shape", [1] * 100_000 + [8, 4]),
        "dtype-unknown": changed("dtype", "F128"),
        "dtype-wider": changed("dtype", "F64"),
        "dtype-whole": changed("dtype", "I32"),
        "dtype-a-number": changed("dtype", 32),
        "offsets-beyond": changed("data_offsets", [0, 10**12]),
        "offsets-negative": changed("data_offsets", [-128, 0]),
        "offsets-swapped": changed("data_offsets", [128, 0]),
        "offsets-of-three": changed("data_offsets", [0, 64, 128]),
        "offsets-of-fractions": changed("data_offsets", [0.0, 128.0]),
        "offsets-overlapping": changed("data_offsets", [8, 136]),
        "longer": content + bytes(100),
        "another-shape": changed("shape", [4, 8]),
    }


def _pickle(content: bytes, old: bytes, new: bytes) -> bytes:
    """The archive with some operations of its pickle replaced."""
    members = members_of(content)
    name = next(name for name in members if name.endswith("/data.pkl"))
    assert old in members[name]
    return zipped({**members, name: members[name].replace(old, new, 1)})


def _whole_pickle(content: bytes, new: bytes) -> bytes:
    members = members_of(content)
    name = next(name for name in members if name.endswith("/data.pkl"))
    return zipped({**members, name: new})


def _doubling(depth: int, last: bytes) -> bytes:
    """A pickle of a tuple that is met 2^depth times in the outermost one, which then is used as told."""
    doubled = b"".join(b"q" + bytes([level]) + b"h" + bytes([level]) + b"\x86" for level in range(depth))
    return b"\x80\x02}K\x01\x85" + doubled + last


def _doubled_lists(depth: int) -> bytes:
    """The same of lists, each filled only after it was put into the one before."""
    made = b"".join(b"]q" + bytes([level]) for level in range(depth))
    filled = b"".join(b"h%ch%cah%cah%cb" % (n, n + 1, n + 1, depth) for n in range(depth - 1))
    return b"\x80\x02ccollections\nOrderedDict\n)Rq" + bytes([depth]) + b"(" + made + b"t" + filled + b"."


SHARING = {
    **{f"doubled-key-{depth}": _doubling(depth, b"Ns.") for depth in (22, 40)},
    **{f"doubled-value-{depth}": _doubling(depth, b"q\xc8X\x01\0\0\0ah\xc8\x86s.") for depth in (22, 40)},
    **{f"doubled-entry-{depth}": b"\x80\x02}X\x01\0\0\0a" + _doubling(depth, b"s.")[3:] for depth in (22, 40)},
    **{f"doubled-alone-{depth}": b"\x80\x02" + _doubling(depth, b".")[3:] for depth in (22, 40)},
    "doubled-in-a-call": b"\x80\x02ccollections\nOrderedDict\n]" + _doubling(40, b"N\x86a\x85R.")[3:],
    "doubled-lists": _doubled_lists(40),
    "long-list-again-and-again": b"\x80\x02](](" + b"N" * 10**5 + b"eq\0" + b"h\0" * 10**5 + b"e.",
    "deep-key": b"\x80\x02}N" + b"\x85" * 900_000 + b"Ns.",
    "keys-of-one-hash": b"\x80\x02}("
    + b"".join(b"\x8a\x0b" + (n * (2**61 - 1)).to_bytes(11, "little") + b"N" for n in range(1, 10**5))
    + b"u.",
    "storages-called": b"\x80\x02](" + b"ctorch\nFloatStorage\nJ\xff\xff\xff\x7f\x85R" * 100 + b"e.",
}


def _damaged_states(content: bytes) -> Members:
    eight = b"K\x08"
    storage = b"ctorch\nFloatStorage\n"
    changes = {
        "storage-larger": (b"K\x20", b"K\xff"),
        "storage-huge": (b"K\x20", b"\x8a\x06\0\0\0\0\0\x10"),
        "storage-negative": (b"K\x20", b"J\xff\xff\xff\xff"),
        "storage-of-nobody": (b"X\x01\0\0\0000", b"X\x02\0\0\00099"),
        "storage-outside": (b"X\x01\0\0\0000", b"X\x09\0\0\0../../etc"),
        "storage-of-wider-numbers": (storage, b"ctorch\nDoubleStorage\n"),
        "storage-of-no-kind": (storage, b"ctorch\nNothingStorage\n"),
        "size-huge": (eight, b"\x8a\x06\0\0\0\0\0\x10"),
        "size-negative": (eight, b"J\xf8\xff\xff\xff"),
        "size-of-fractions": (eight, b"G@ \0\0\0\0\0\0"),
        "size-a-word": (eight, b"X\x01\0\0\0008"),
        "tensor-an-allocation": (b"ctorch._utils\n_rebuild_tensor_v2\n", b"ctorch\nTensor\n"),
        "memo-of-nobody": (b"q\x00", b"h\x63"),
    }
    return {
        **_damaged_zips(content, "data/0"),
        **{name: _whole_pickle(content, pickle) for name, pickle in SHARING.items()},
        **{name: _pickle(content, *change) for name, change in changes.items()},
        "a-huge-allocation": _whole_pickle(content, b"\x80\x02ctorch\nFloatTensor\n\x8a\x06\0\0\0\0\0\x10\x85R."),
        "a-huge-bytearray": _whole_pickle(content, b"\x80\x02cbuiltins\nbytearray\n\x8a\x05\0\0\0\0\x10\x85R."),
        "contains-itself": _whole_pickle(content, b"\x80\x02}q\x00X\x05\0\0\0modelh\x00s."),
        "deep": _whole_pickle(content, b"\x80\x02" + b"]" * 10**5 + b"a" * (10**5 - 1) + b"."),
        "many-lists": _whole_pickle(content, b"\x80\x02" + b"]" * (15 * 2**20) + b"."),
        "many-dicts": _whole_pickle(content, b"\x80\x02" + b"}" * (15 * 2**20) + b"."),
        "large-pickle": _whole_pickle(content, b"\x80\x02" + b"N" * (17 * 2**20) + b"."),
        "many-marks": _whole_pickle(content, b"\x80\x02" + b"(" * (15 * 2**20) + b"."),
        "endless": _whole_pickle(content, b"\x80\x02}"),
        "no-stack": _whole_pickle(content, b"\x80\x02R."),
        "long-text": _whole_pickle(content, b"\x80\x02X\xff\xff\xff\x7fabc."),
        "one-tensor-short": _pickle(content, b"X\x08\0\0\0003.weight", b"X\x08\0\0\0003.wieght"),
        "a-list": _whole_pickle(content, b"\x80\x02]."),
        "a-number": _whole_pickle(content, b"\x80\x02K\x01."),
    }


def _damaged_pickles(content: bytes) -> Members:
    sharing = {name: _whole_pickle(content, pickle) for name, pickle in SHARING.items()}
    return {**_damaged_zips(content, "data/0"), **sharing, "raw-pickle": members_of(content)["archive/data.pkl"]}


SPECIAL: dict[str, Callable[[bytes], Members]] = {
    ".pt2": _damaged_programs,
    ".safetensors": _damaged_safetensors,
    ".pth": _damaged_states,
    ".pt": _damaged_pickles,
}


def _flipped(content: bytes, rng: random.Random) -> bytes:
    """One bit of the file."""
    at, bit = rng.randrange(len(content)), rng.randrange(8)
    return content[:at] + bytes([content[at] ^ 1 << bit]) + content[at + 1 :]


def _flipped_inside(content: bytes, rng: random.Random) -> bytes:
    """One bit of what the archive says about its tensors, with checksums that fit."""
    members = members_of(content)
    name = next(name for name in members if name.endswith((GRAPH, "data.pkl")))
    if name.endswith(GRAPH) and rng.random() < 0.3:
        name = next(name for name in members if name.endswith(WEIGHTS))
    return zipped({**members, name: _flipped(members[name], rng)})


def _paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield (*path, key)
        yield from _paths(one, (*path, key))


STRANGE = (None, -1, 0, 2**31, 10**18, 2**70, 0.5, "x", "", True, [], {}, [[]], {"as_int": -7}, {"as_none": True})


def _edited(content: bytes, rng: random.Random) -> bytes:
    """One value of the JSON of a program, replaced by a strange one."""
    members = members_of(content)
    ending = rng.choice([GRAPH, GRAPH, WEIGHTS])
    name = next(name for name in members if name.endswith(ending))
    told = json.loads(members[name])
    _set(rng.choice(STRANGE), *rng.choice(list(_paths(told))))(told)
    return zipped({**members, name: json.dumps(told).encode()})


def _header_flipped(content: bytes, rng: random.Random) -> bytes:
    length = struct.unpack("<Q", content[:8])[0]
    return content[:8] + _flipped(content[8 : 8 + length], rng) + content[8 + length :]


CHANGES: dict[str, tuple[Callable[[bytes, random.Random], bytes], ...]] = {
    ".pt2": (_flipped, _flipped_inside, _edited),
    ".pt": (_flipped, _flipped_inside),
    ".safetensors": (_flipped, _header_flipped),
    ".pth": (_flipped, _flipped_inside),
}
