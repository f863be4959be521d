"""Campaigns over twins say in which layer they begin to disagree."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from running import Ended

from jostle.cli.terminal import Exit

Run = Callable[..., Ended]
SEEDS = ["--seeds", "jostle.zoo:mnist_sample", "--oracle", "agree", "--sigma", "0.3", "--radius", "1"]
NETS = """
import torch
from torch import nn
from jostle.zoo import lenet5

def perturbed(layer):
    net = lenet5()
    weight = net.get_submodule(layer).weight
    with torch.no_grad():
        weight += 0.1 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(0))
    return net

def in_conv2():
    return perturbed("conv2")

def in_fc2():
    return perturbed("fc2")

def plain(images: torch.Tensor) -> torch.Tensor:
    return NET(images)

NET = perturbed("fc1").eval()
"""


@pytest.fixture
def nets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "nets.py").write_text(NETS)
    monkeypatch.chdir(tmp_path)
    return "nets.py"


def divergences(out: Path) -> list[dict[str, Any]]:
    """Of all findings of twins; one without is an error."""
    records = [json.loads(path.read_text()) for path in sorted(out.glob("findings/*/finding.json"))]
    return [record["divergence"] for record in records if record["kind"].startswith("agree")]


def test_int8_departs_in_the_first_linear_layer(jostle: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    call = ["fuzz", "jostle.zoo:lenet5", *SEEDS, "--twin", "int8", "--findings", "3", "--executions", "60000"]
    ended = jostle(*call, "--out", str(out))
    assert ended.code == Exit.FINDINGS
    found = divergences(out)
    assert found and all(one["begins in"] == "fc1" and one["twin"] == "int8" for one in found)
    assert f"int8: fc1 ({len(found)} of {len(found)})" in ended.out
    for folder in (out, *out.glob("findings/*-agree-*")):
        assert Image.open(folder / "divergence.png").size > (400, 200)


def test_each_of_several_twins_has_a_line_and_a_chart(jostle: Run, nets: str, tmp_path: Path) -> None:
    out, twins = tmp_path / "out", [f"{nets}:{name}" for name in ("in_conv2", "in_fc2", "plain")]
    call = ["fuzz", "jostle.zoo:lenet5", *SEEDS, "--findings", "20", "--out", str(out)]
    ended = jostle(*call, "--twin", ",".join(twins), "--json")
    begins = ended.json()["begins"]
    assert begins.keys() == set(twins), "each of them differs on some seed"
    assert [list(begins[name]["layers"]) for name in twins] == [["conv2"], ["fc2"], []]
    again = jostle(*call, "--twin", ",".join(twins))
    assert f"{twins[0]}: conv2 (" in again.out
    assert f"{twins[2]}: cannot be looked into, no layers correspond to the model's" in again.out


@pytest.mark.slow
def test_a_model_in_a_process_of_its_own_is_looked_into_as_one_in_ours(jostle: Run, nets: str, tmp_path: Path) -> None:
    call = ["fuzz", "jostle.zoo:lenet5", *SEEDS, "--twin", f"{nets}:in_fc2", "--findings", "8"]
    outs = {flag: tmp_path / flag.strip("-") for flag in ("--isolate", "--no-isolate")}
    for flag, out in outs.items():
        assert jostle(*call, flag, "--out", str(out)).code == Exit.FINDINGS
    apart, here = map(divergences, outs.values())
    assert here == apart and {one["begins in"] for one in here} == {"fc2"}


def test_findings_of_others_than_twins_are_left_alone(jostle: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    call = (
        "fuzz jostle.zoo:lenet5 --seeds jostle.zoo:mnist_sample --oracle flip --executions 1500 --sigma 0.5 --radius 1"
    )
    ended = jostle(*call.split(), "--out", str(out))
    assert ended.code == Exit.FINDINGS and "begins" not in ended.out
    assert not list(out.rglob("divergence.png"))
    assert all("divergence" not in json.loads(path.read_text()) for path in out.glob("findings/*/finding.json"))
