"""From what the user names to a module."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import safetensors.torch
import torch
from torch import nn

from jostle.errors import ModelRefused
from jostle.layout import Field, Layout
from jostle.options.campaign import ENGINES
from jostle.subjects.arguments import PackedArguments, Parameters, check_takes_one
from jostle.subjects.registry import KINDS
from jostle.subjects.registry import load as load_subject

SOURCE = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, width=2):
        super().__init__()
        self.linear = nn.Linear(width, 2)
    def forward(self, x):
        return self.linear(x)

def build(width=2):
    return Net(width)

def build_function():
    return lambda x: x * 3

def double(x):
    return x * 2

ready = Net()
number = 5

def broken():
    raise RuntimeError("no weights here")

def returns_text():
    return "a model"
"""
INPUTS = torch.tensor([[1.0, 2.0]])


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "nets.py"
    path.write_text(SOURCE)
    return path


@pytest.mark.parametrize("name", ["Net", "build", "ready"])
def test_a_class_a_function_that_builds_and_a_ready_module_all_give_a_module(source: Path, name: str) -> None:
    model = load_subject(f"{source}:{name}")
    assert type(model.module).__name__ == "Net" and model.batch is None


@pytest.mark.parametrize(("name", "factor"), [("double", 2), ("build_function", 3)])
def test_a_function_of_a_batch_is_a_model_itself_or_what_is_returned(source: Path, name: str, factor: int) -> None:
    assert torch.equal(load_subject(f"{source}:{name}").module(INPUTS), INPUTS * factor)


def test_a_module_on_the_path_is_imported_by_its_dotted_name(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (source.parent / "shop").mkdir()
    (source.parent / "shop" / "nets.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(source.parent)
    assert type(load_subject("shop.nets:build").module).__name__ == "Net"
    assert load_subject("jostle.zoo:lenet1").module(torch.zeros(1, 1, 28, 28)).shape == (1, 10)
    for name in ("shop", "shop.nets"):
        sys.modules.pop(name)


def test_a_built_in_function_without_a_signature_is_a_model() -> None:
    assert torch.equal(load_subject("torch:sigmoid").module(INPUTS), INPUTS.sigmoid())


def test_a_copy_is_the_callers_own_to_change(source: Path) -> None:
    model = load_subject(f"{source}:build")
    before = model.module(INPUTS).detach()
    with torch.no_grad():
        for weights in model.copy().parameters():
            weights.zero_()
    assert torch.equal(model.module(INPUTS), before)


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("nets.py:biuld", "did you mean build"),
        ("nets.py:number", "is a int"),
        ("nets.py:returns_text", "is a str"),
        ("nets.py:broken", "RuntimeError in nets.py:broken: no weights here"),
        ("missing.py:build", "does not exist"),
        ("missing.pt2", "does not exist"),
        ("nets.py", "names no function"),
    ],
)
def test_what_gives_no_model_is_refused_with_the_cause(source: Path, name: str, cause: str) -> None:
    with pytest.raises(ModelRefused, match=cause) as refused:
        load_subject(str(source.parent / name))
    assert "\n" not in str(refused.value)


def test_a_file_that_does_not_compile_or_import_is_refused(tmp_path: Path) -> None:
    (tmp_path / "typo.py").write_text("def build(:\n")
    with pytest.raises(ModelRefused, match="SyntaxError"):
        load_subject(f"{tmp_path / 'typo.py'}:build")
    with pytest.raises(ModelRefused, match="cannot import no_such_package"):
        load_subject("no_such_package.nets:build")


def exported(path: Path, dynamic: bool) -> nn.Module:
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2)).eval()
    shapes = ({0: torch.export.Dim("batch")},) if dynamic else None
    torch.export.save(torch.export.export(net, (torch.zeros(4, 2),), dynamic_shapes=shapes), path)
    return net


@pytest.mark.parametrize(("dynamic", "batch"), [(True, None), (False, 4)])
def test_an_exported_program_computes_as_before_and_tells_its_batch_size(
    dynamic: bool, batch: int | None, tmp_path: Path
) -> None:
    net = exported(tmp_path / "net.pt2", dynamic)
    model = load_subject(str(tmp_path / "net.pt2"))
    inputs = torch.rand(4, 2)
    assert model.batch == batch
    for module in (model.module, model.copy()):
        torch.testing.assert_close(module(inputs), net(inputs))
    if dynamic:
        for rows in (1, 7):
            assert model.module(torch.rand(rows, 2)).shape == (rows, 2)


def test_an_exported_program_of_two_inputs_needs_seeds_of_two(tmp_path: Path) -> None:
    class Sum(nn.Module):
        def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return a + b

    torch.export.save(torch.export.export(Sum(), (torch.zeros(2), torch.zeros(2))), tmp_path / "sum.pt2")
    with pytest.raises(ModelRefused, match=r"takes a, b, and seeds are one array: give an \.npz"):
        load_subject(str(tmp_path / "sum.pt2")).taking(None)


@pytest.mark.parametrize(
    ("names", "way_out"),
    [
        (("x", "y"), r"and the labels as labels \(-1 if unknown\), because y alone is taken for them"),
        (("x", "labels"), "from FILE.py:function that returns a dict of them and the labels"),
    ],
)
def test_a_model_whose_input_is_called_as_labels_are_is_refused_with_the_way_out(
    names: tuple[str, ...], way_out: str
) -> None:
    parameters = Parameters(named=(*names, "z"), required=frozenset(names))
    with pytest.raises(ModelRefused, match=f"seeds are one array: give .* of these names, {way_out}"):
        check_takes_one(parameters)
    with pytest.raises(ModelRefused, match=f"give arrays of these names, {way_out}"):
        PackedArguments.fitting(Layout((Field("x", (2,)), Field("z", (2,)))), parameters)


class Canary:
    """Unpickling it leaves a file behind."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("suffix", [".pt", ".pth", ".bin", ".pkl", ".pickle", ".ckpt"])
def test_a_pickle_is_refused_unexecuted_saying_why_and_what_to_do(suffix: str, tmp_path: Path) -> None:
    path, canary = tmp_path / f"model{suffix}", tmp_path / "canary"
    torch.save(Canary(canary), path)
    with pytest.raises(ModelRefused, match=r"can execute code .* --trust-model"):
        load_subject(str(path))
    assert not canary.exists()
    with pytest.raises(ModelRefused):
        load_subject(str(path), trusted=True)
    assert canary.exists(), "the canary does not sing, so refusing it shows nothing"


def test_a_trusted_pickle_loads(tmp_path: Path) -> None:
    net = nn.Linear(2, 2)
    torch.save(net, tmp_path / "net.pt")
    assert torch.equal(load_subject(str(tmp_path / "net.pt"), trusted=True).module(INPUTS), net(INPUTS))


@pytest.mark.parametrize("trust", [False, True])
def test_weights_without_a_model_are_explained(trust: bool, tmp_path: Path) -> None:
    torch.save({"epoch": 3, "state_dict": nn.Linear(2, 2).state_dict()}, tmp_path / "weights.pt")
    safetensors.torch.save_file(nn.Linear(2, 2).state_dict(), tmp_path / "weights.safetensors")
    for name in ("weights.pt", "weights.safetensors"):
        with pytest.raises(ModelRefused, match=rf"weights without a model: give FILE.py.* --weights .*{name}$"):
            load_subject(str(tmp_path / name), trust)


def test_a_refused_pickle_is_never_loaded_again_unrestricted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.save(nn.Linear(2, 2), tmp_path / "net.pt")
    asked: list[object] = []
    load = torch.load
    monkeypatch.setattr(torch, "load", lambda *files, **how: asked.append(how["weights_only"]) or load(*files, **how))
    with pytest.raises(ModelRefused, match="--trust-model"):
        load_subject(str(tmp_path / "net.pt"))
    assert not [unrestricted for unrestricted in asked if unrestricted is not True]


@pytest.mark.parametrize("trust", [False, True])
@pytest.mark.parametrize("kind", ["pipe", "folder", "empty"])
def test_what_is_no_regular_file_is_refused_unopened(kind: str, trust: bool, tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    {"pipe": os.mkfifo, "folder": Path.mkdir, "empty": Path.touch}[kind](path)
    with pytest.raises(ModelRefused, match=f"cannot be loaded: it is .*{kind}"):
        load_subject(str(path), trust)


def test_an_object_that_is_a_model_is_not_called_to_build_one(tmp_path: Path) -> None:
    (tmp_path / "scripted.py").write_text(
        "import torch\nfrom torch import nn\nready = torch.jit.script(nn.Linear(2, 2))\n"
    )
    assert load_subject(f"{tmp_path / 'scripted.py'}:ready").target().predict(INPUTS).shape == (1, 2)


def test_torchscript_needs_consent_and_shows_no_layers(tmp_path: Path) -> None:
    path = tmp_path / "scripted.pt"
    torch.jit.script(nn.Linear(2, 2)).save(str(path))
    with pytest.raises(ModelRefused, match=r"is TorchScript, whose code can read and write files.*--trust-model"):
        load_subject(str(path))
    assert load_subject(str(path), trusted=True).layers(INPUTS) == []


def test_every_engine_that_can_be_chosen_runs_a_kind_of_model_and_no_other_does() -> None:
    assert set(ENGINES) == {engine for kind in KINDS for engine in kind.engines}
