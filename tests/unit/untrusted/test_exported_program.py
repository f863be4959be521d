"""A stranger's .pt2 either loads without running anything, or is refused in one line."""

from __future__ import annotations

import contextlib
import json
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

from jostle.errors import ModelRefused
from jostle.untrusted import exported_program
from jostle.untrusted.exported_program import EXAMPLES, GRAPH, TENSORS, load_exported

WEIGHTS, CONSTANTS = TENSORS
RELU = "torch.ops.aten.relu.default"
Members = dict[str, bytes]
Tamper = Callable[[Members, str], Members]  # given the members and code that touches a canary


class Dense(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        self.shift = torch.arange(3.0)
        self.register_buffer("scale", torch.full((3,), 2.0), persistent=False)

    def forward(self, x: Tensor, mode: str = "plain") -> Tensor:
        return self.layers(x).clamp(max=float("inf")) * self.scale + self.shift + torch.tensor([1.0, 2.0, 3.0])


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(11, 4)
        self.out = nn.Linear(4, 11, bias=False)
        self.out.weight = self.embed.weight

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        return {"logits": self.out(self.embed(x)), "halves": x[: x.shape[0] // 2]}


class Branching(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            shifted = x + 1
        return torch.cond(x.sum() > 0, lambda a: a * 2, lambda a: a - 1, (shifted,))


CONV = nn.Sequential(
    nn.Conv2d(3, 8, 3, padding="same"), nn.BatchNorm2d(8), nn.GELU("tanh"), nn.MaxPool2d(2), nn.Flatten()
)
HONEST = {
    "static batch": (Dense(), torch.randn(2, 4), None),
    "named batch dimension": (nn.Linear(4, 2), torch.randn(2, 4), ({0: Dim("batch", max=64)},)),
    "automatic dimensions": (CONV.eval(), torch.randn(2, 3, 8, 9), ({0: Dim.AUTO, 2: Dim.AUTO},)),
    "training mode": (nn.BatchNorm2d(3), torch.randn(2, 3, 4, 4), ({0: Dim.AUTO},)),
    "tied weights": (Tied(), torch.randint(0, 11, (4, 5)), ({0: Dim.AUTO, 1: Dim.AUTO},)),
    "control flow": (Branching(), torch.randn(3), ({0: Dim.AUTO},)),
}  # fmt: skip


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("honest") / "dense.pt2"
    program = torch.export.export(Dense(), (torch.randn(2, 4), "plain"), dynamic_shapes=({0: Dim("batch")}, None))
    torch.export.save(program, path, extra_files={"note.txt": "of no concern"})
    return path


@pytest.mark.parametrize("kind", HONEST)
def test_an_honest_export_computes_what_the_model_computes(kind: str, tmp_path: Path) -> None:
    model, inputs, shapes = HONEST[kind]
    program = torch.export.export(model, (inputs,), dynamic_shapes=shapes)
    torch.export.save(program, tmp_path / "model.pt2")
    loaded = load_exported(tmp_path / "model.pt2")
    torch.testing.assert_close(loaded.module()(inputs), program.module()(inputs), rtol=0, atol=0)
    torch.testing.assert_close(loaded.example_inputs, ((inputs,), {}), rtol=0, atol=0)


def _pickle(code: str) -> bytes:
    return f"cbuiltins\neval\n(V{code}\ntR.".encode()


def _as_pickle(config: str, record: str) -> Tamper:
    def tamper(members: Members, code: str) -> Members:
        content = json.loads(members[config])
        for tensor in content["config"].values():
            tensor.update(use_pickle=True, path_name=record)
        folder = config.rpartition("/")[0]
        return members | {config: json.dumps(content).encode(), f"{folder}/{record}": _pickle(code)}

    return tamper


def _replaced(old: str, new: str) -> Tamper:
    """The graph with one JSON string replaced everywhere; CODE in the new one stands for the payload."""

    def tamper(members: Members, code: str) -> Members:
        before, after = json.dumps(old), json.dumps(new.replace("CODE", code))
        graph = members[GRAPH].decode()
        assert before in graph
        return members | {GRAPH: graph.replace(before, after).encode()}

    return tamper


def _edited(edit: Callable[[dict[str, Any], str], object]) -> Tamper:
    def tamper(members: Members, code: str) -> Members:
        graph = json.loads(members[GRAPH])
        edit(graph, code)
        return members | {GRAPH: json.dumps(graph).encode()}

    return tamper


def _size(text: str) -> Tamper:
    """The size of the batch dimension as another expression, in which SIZE stands for the honest one."""

    def edit(graph: dict[str, Any], code: str) -> None:
        size = graph["graph_module"]["graph"]["tensor_values"]["x"]["sizes"][0]["as_expr"]
        size["expr_str"] = text.replace("CODE", code).replace("SIZE", size["expr_str"])

    return _edited(edit)


def _structure(field: str, kind: str, context: object) -> Tamper:
    spec = json.dumps([1, {"type": kind, "context": context, "children_spec": []}])
    return _edited(lambda graph, _: graph["graph_module"]["module_call_graph"][0]["signature"].update({field: spec}))


def _opens_the_canary(graph: dict[str, Any], code: str) -> None:
    node = next(node for node in graph["graph_module"]["graph"]["nodes"] if node["target"] == RELU)
    arguments = {"filename": {"as_string": code.split("'")[3]}, "shared": {"as_bool": True}, "size": {"as_int": 8}}
    node["target"] = "torch.ops.aten.from_file.default"
    node["inputs"] = [{"name": name, "arg": argument, "kind": 1} for name, argument in arguments.items()]


def _names_a_module(graph: dict[str, Any], code: str) -> None:
    graph["graph_module"]["graph"]["nodes"][0]["metadata"]["nn_module_stack"] = f'L,a") or {code} or ("b,T'


ENUM = json.dumps({"__enum__": True, "fqn": "planted:x", "name": "y"})
FACTORY = {"default_factory_module": "planted", "default_factory_name": "x", "dict_context": []}
RUN_BY_TORCH: dict[str, Tamper] = {
    "example inputs": lambda members, code: members | {EXAMPLES: _pickle(code)},
    "weights of old": lambda members, code: members | {"data/weights/model.pt": _pickle(code)},
    "constants of old": lambda members, code: members | {"data/constants/model.pt": _pickle(code)},
    "pickled weight": _as_pickle(WEIGHTS, "weight_0"),
    "pickled constant": _as_pickle(CONSTANTS, "tensor_0"),
    "opaque object": _as_pickle(CONSTANTS, "opaque_obj_0"),
    "size expression": _size("CODE or SIZE"),
    "name of an input": _replaced("mode", "mode=CODE"),
    "enum to import": _structure("in_spec", "builtins.dict", ENUM),
    "factory to import": _structure("out_spec", "collections.defaultdict", FACTORY),
    "guard": _edited(lambda graph, code: graph.update(guards_code=[f"{code} or True"])),
    "string constant": _replaced("plain", "other' or CODE or '"),
    "operator that opens a file": _edited(_opens_the_canary),
}
ATTACKS = RUN_BY_TORCH | {
    "function instead of an operator": _replaced(RELU, "torch.os.system"),
    "custom operator": _replaced(RELU, "torch.ops.planted.relu.default"),
    "extension operator": _replaced(RELU, "#planted:relu"),
    "string within an expression": _size("Add('CODE', SIZE)"),
    "name of a module": _edited(_names_a_module),
    "custom class": _as_pickle(CONSTANTS, "custom_obj_0"),
    "compiled library": lambda members, code: members | {"data/aotinductor/model/model.so": b"\x7fELF"},
    "second model": lambda members, code: members | {"models/other.json": members[GRAPH]},
    "format of old": lambda members, code: {"serialized_exported_program.json": b"{}", "version": b"8.20"},
    "tensor without bytes": lambda members, code: members | {"data/weights/weight_0": b""},
    "endless number": _size("Add(SIZE, Pow(Integer(9), Pow(Integer(9), Integer(9))))"),
    "endless guard": _edited(lambda graph, code: graph.update(guards_code=["9**9**9 > 1"])),
    "endless counting": _edited(lambda graph, code: graph["range_constraints"].update(u99999999999={})),
    "deep JSON": lambda members, code: members | {GRAPH: b'{"graph_module":' + b"[" * 10**5},
    "binary JSON": lambda members, code: members | {WEIGHTS: b"\xff\xfe"},
    "no list of weights": lambda members, code: {name: members[name] for name in members if name != WEIGHTS},
}


def _members(path: Path) -> Members:
    with zipfile.ZipFile(path) as archive:
        return {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}


def _written(path: Path, members: Members, root: str = "model/", compression: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(root + name, content)
    return path


def _run_by_plain_torch(path: Path) -> None:
    with contextlib.suppress(Exception):
        torch.export.load(path).module()(torch.zeros(2, 4), torch.export.load(path).example_inputs[0][1])


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_is_refused_and_does_not_run(
    attack: str, honest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    canary = tmp_path / "canary"
    code = f"__import__('pathlib').Path('{canary}').touch()"
    (tmp_path / "planted.py").write_text(f"{code}\nx = dict")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "planted", raising=False)
    path = _written(tmp_path / "attack.pt2", ATTACKS[attack](_members(honest), code))
    with pytest.raises(ModelRefused, match=r"^cannot load [^\n]+; re-export it [^\n]+$"):
        load_exported(path)
    assert not canary.exists()
    if attack in RUN_BY_TORCH:
        _run_by_plain_torch(path)
        assert canary.exists(), "plain torch does not run this, so refusing it shows nothing"


def test_an_archive_rewritten_by_another_zip_library_still_loads(honest: Path, tmp_path: Path) -> None:
    load_exported(_written(tmp_path / "again.pt2", _members(honest), root="other/"))


@pytest.mark.parametrize("content", [b"", b"P", b"neither zip nor anything else", b"PK\5\6" + bytes(18)])
def test_what_is_no_archive_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "model.pt2").write_bytes(content)
    for path in (tmp_path / "model.pt2", tmp_path, tmp_path / "missing.pt2"):
        with pytest.raises(ModelRefused, match=f"cannot load {path}: [^\n]+$"):
            load_exported(path)


def test_a_compressed_duplicated_or_oversized_member_is_refused(
    honest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = _members(honest)
    with pytest.raises(ModelRefused, match="compressed"):
        load_exported(_written(tmp_path / "bomb.pt2", members, compression=zipfile.ZIP_DEFLATED))
    twice = _written(tmp_path / "twice.pt2", members)
    with zipfile.ZipFile(twice, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr(f"model/{GRAPH}", members[GRAPH])
    with pytest.raises(ModelRefused, match="share a name"):
        load_exported(twice)
    monkeypatch.setattr(exported_program, "JSON_LIMIT", 100)
    with pytest.raises(ModelRefused, match="larger than 100 bytes"):
        load_exported(honest)


def test_a_cut_or_flipped_archive_is_refused_or_computes_the_same(honest: Path, tmp_path: Path) -> None:
    content, inputs = honest.read_bytes(), (torch.randn(2, 4), "plain")
    expected = load_exported(honest).module()(*inputs)
    flips = [content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :] for at in range(0, len(content), 101)]
    refused = 0
    for damaged in [content[: len(content) // 2], content[:-1], *flips]:
        (tmp_path / "damaged.pt2").write_bytes(damaged)
        try:
            loaded = load_exported(tmp_path / "damaged.pt2")
        except ModelRefused:
            refused += 1
        else:
            torch.testing.assert_close(loaded.module()(*inputs), expected, rtol=0, atol=0)
    assert refused > len(flips) / 2


def test_a_failure_inside_torch_is_one_line_without_a_logged_traceback(
    honest: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    members = _replaced(RELU, "torch.ops.aten.no_such_operator.default")(_members(honest), "")
    with pytest.raises(ModelRefused, match=r"torch says [^\n]*no_such_operator[^\n]*$"):
        load_exported(_written(tmp_path / "model.pt2", members))
    assert not caplog.records
