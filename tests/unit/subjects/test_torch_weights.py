"""A file of weights fits its model exactly, or is refused in one line."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from torch import Tensor, nn

from jostle.errors import ModelRefused
from jostle.subjects.registry import load as load_subject
from jostle.subjects.torch_weights import fill

SOURCE = """
from torch import nn

def build():
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))

ready = build()

def double(x):
    return x * 2
"""
INPUTS = torch.arange(6.0).reshape(2, 3)
State = dict[str, Tensor]


def net() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2)).eval()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "nets.py").write_text(SOURCE)
    return tmp_path / "nets.py"


def saved(content: Any, path: Path) -> Path:
    if path.suffix == ".safetensors":
        safetensors.torch.save_file(content, path)
    else:
        torch.save(content, path)
    return path


@pytest.mark.parametrize("suffix", [".safetensors", ".pt", ".pth", ".bin", ".ckpt"])
@pytest.mark.parametrize("name", ["build", "ready"])
def test_the_model_computes_with_the_weights_of_the_file(name: str, suffix: str, source: Path, tmp_path: Path) -> None:
    trained = net()
    path = saved(trained.state_dict(), tmp_path / f"weights{suffix}")
    model = load_subject(f"{source}:{name}", weights=str(path))
    for module in (model.module, model.copy()):
        assert torch.equal(module.eval()(INPUTS), trained(INPUTS))


def test_a_ready_module_is_not_changed_for_others_that_name_it(source: Path, tmp_path: Path) -> None:
    plain = copy.deepcopy(load_subject(f"{source}:ready").module.state_dict())
    load_subject(f"{source}:ready", weights=str(saved(net().state_dict(), tmp_path / "weights.pt")))
    for name, value in load_subject(f"{source}:ready").module.state_dict().items():
        assert torch.equal(value, plain[name])


@pytest.mark.parametrize("key", ["state_dict", "model"])
def test_weights_inside_a_checkpoint_are_found(key: str, tmp_path: Path) -> None:
    trained, module = net(), net()
    fill(module, saved({"epoch": 7, key: trained.state_dict(), "lr": 0.1}, tmp_path / "last.ckpt"))
    assert torch.equal(module(INPUTS), trained(INPUTS))


def test_the_optimiser_of_a_checkpoint_may_share_values_among_many_groups(tmp_path: Path) -> None:
    trained, module, betas = net(), net(), (0.9, 0.95)
    groups = [{"params": [value], "betas": betas} for value in trained.parameters()]
    optimiser = torch.optim.AdamW(groups, amsgrad=True)
    trained(INPUTS).sum().backward()
    optimiser.step()
    averaged = torch.optim.swa_utils.AveragedModel(trained).state_dict()
    state = optimiser.state_dict()
    old = {"state": {2**46 + number: one for number, one in state["state"].items()}}  # by address, as before torch 1.5
    many = {"betas": [betas] * 10_000, "shape": trained[0].weight.shape, "device": torch.device("cpu")}
    checkpoint = {"model": trained.state_dict(), "optimizer": state, "old": old, "ema": averaged, **many}
    fill(module, saved(checkpoint, tmp_path / "last.ckpt"))
    assert torch.equal(module(INPUTS), trained(INPUTS))


def test_parameters_and_other_precisions_load_as_torch_loads_them(tmp_path: Path) -> None:
    trained, module = net(), net()
    state = {name: nn.Parameter(value) if "0." in name else value for name, value in trained.state_dict().items()}
    fill(module, saved(state, tmp_path / "parameters.pt"))
    assert torch.equal(module(INPUTS), trained(INPUTS))
    fill(module, saved(trained.double().state_dict(), tmp_path / "double.safetensors"))
    torch.testing.assert_close(module(INPUTS), trained.float()(INPUTS))


UNFIT: dict[str, tuple[Callable[[State], Any], str]] = {
    "missing": (lambda old: {k: v for k, v in old.items() if not k.startswith("1.")}, r"missing: 1.weight, .* more$"),
    "unexpected": (lambda old: {**old, "9.bias": torch.zeros(1)}, r"unexpected: 9.bias$"),
    "prefixed": (lambda old: {f"net.{k}": v for k, v in old.items()}, r"missing: 0.weight.*unexpected: net."),
    "another shape": (lambda old: {**old, "0.bias": torch.zeros(5)}, r"differ: 0.bias \[5\] instead of \[4\]$"),
    "whole numbers": (lambda old: {**old, "0.bias": torch.zeros(4).int()}, "kind: 0.bias torch.int32 instead of"),
    "complex numbers": (lambda old: {**old, "0.bias": torch.zeros(4).cfloat()}, "kind: 0.bias torch.complex64"),
    "a name of two lines": (lambda old: {**old, "a\nb": torch.zeros(1)}, r"unexpected: 'a\\nb'$"),
}  # fmt: skip


@pytest.mark.parametrize("suffix", [".safetensors", ".pt"])
@pytest.mark.parametrize("case", UNFIT)
def test_weights_that_do_not_fit_name_the_first_differences(case: str, suffix: str, tmp_path: Path) -> None:
    change, said = UNFIT[case]
    path = saved(change(net().state_dict()), tmp_path / f"weights{suffix}")
    with pytest.raises(ModelRefused, match=rf"^--weights [^\n]* do not fit the model: [^\n]*{said}") as refused:
        fill(net(), path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"a": 1}, "'a' is no tensor"),
        ({3: torch.zeros(1)}, "no text but of type int"),
        ([torch.zeros(1)], "no state dict"),
        ({}, "no state dict"),
        (nn.Linear(2, 2), "names 'torch.nn.modules.linear Linear'"),
        ({"a": torch.zeros(1).to_sparse()}, "names 'torch._utils _rebuild_sparse_tensor'"),
    ],
)
def test_what_is_no_state_dict_is_refused(content: object, said: str, tmp_path: Path) -> None:
    with pytest.raises(ModelRefused, match=f"cannot be loaded: .*{said}.*; save the state dict with safetensors"):
        fill(net(), saved(content, tmp_path / "weights.pt"))


def test_weights_are_for_modules_that_python_code_builds(source: Path, tmp_path: Path) -> None:
    path = saved(net().state_dict(), tmp_path / "weights.pt")
    torch.export.save(torch.export.export(net(), (INPUTS,)), tmp_path / "net.pt2")
    for model, said in ((f"{source}:double", "is a function"), (str(tmp_path / "net.pt2"), "FILE.py:function")):
        with pytest.raises(ModelRefused, match=said):
            load_subject(model, weights=str(path))


def test_a_file_of_an_unknown_kind_is_refused_unopened(tmp_path: Path) -> None:
    for name in ("weights.h5", "weights.pkl", "weights"):
        (tmp_path / name).write_bytes(b"content")
        with pytest.raises(ModelRefused, match=r"give a file that ends in \.safetensors, \.pt"):
            fill(net(), tmp_path / name)


def test_the_format_of_before_torch_1_6_is_refused(tmp_path: Path) -> None:
    torch.save(net().state_dict(), tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    with pytest.raises(ModelRefused, match=r"since torch 1\.6"):
        fill(net(), tmp_path / "old.pt")
