"""--weights: the model that a campaign fuzzes, and every command that opens the campaign again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import safetensors.torch
import torch
from running import Ended

from jostle.cli.terminal import Exit
from jostle.zoo import lenet5
from soaking import only_in_soak

UNTRAINED = """
import torch
from jostle.zoo import lenet5

def build():
    model = lenet5()
    with torch.no_grad():
        for value in model.parameters():
            value.zero_()
    return model
"""
Run = Callable[..., Ended]


@pytest.fixture
def place(workshop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with code whose model answers always the same, and with weights that make it LeNet-5."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text(UNTRAINED)
    safetensors.torch.save_file(lenet5().state_dict(), tmp_path / "trained.safetensors")
    torch.save(lenet5().state_dict(), tmp_path / "trained.pt")
    return workshop


@pytest.mark.parametrize("weights", ["trained.safetensors", "trained.pt"])
def test_a_model_is_fuzzed_with_the_weights_of_a_file(weights: str, place: Path, jostle: Run) -> None:
    call = ["fuzz", "net.py:build", "--seeds", str(place / "ok.npz"), "--executions", "200"]
    assert "the output is the same" in jostle(*call).err
    assert jostle(*call, "--weights", weights, "--json").code == Exit.CLEAN


def test_the_weights_are_the_models_alone_and_not_its_twins(place: Path, jostle: Run) -> None:
    call = ["fuzz", "net.py:build", "--seeds", str(place / "ok.npz"), "--executions", "200", "--twin", "net.py:build"]
    assert jostle(*call, "--weights", "trained.pt").code == Exit.FINDINGS


def test_coverage_and_profile_take_weights_too(place: Path, jostle: Run) -> None:
    data, weights = str(place / "ok.npy"), ["--weights", "trained.pt"]
    zoo, own = (
        jostle("coverage", *model, "--json")
        for model in (["jostle.zoo:lenet5", data], ["net.py:build", data, *weights])
    )
    assert own.json() == zoo.json() != jostle("coverage", "net.py:build", data, "--json").json()
    assert jostle("profile", "net.py:build", data, *weights, "--out", "own.safetensors").code == Exit.CLEAN
    assert jostle("coverage", "jostle.zoo:lenet5", data, "--profile", "own.safetensors").code == Exit.CLEAN


@only_in_soak
def test_a_campaign_keeps_its_weights_wherever_it_is_opened_again(place: Path, jostle: Run) -> None:
    data = str(place / "ok.npz")
    call = ["fuzz", "net.py:build", "--weights", "trained.pt", "--seeds", data, "--recipe", "dlfuzz", "--out", "out"]
    assert jostle(*call, "--executions", "600", "--finishing", "1s").code == Exit.FINDINGS
    evaluated = jostle("evaluate", "out", "net.py:build", "--all-seeds", "--json").json()["scores"]
    assert evaluated[0]["seeds_accuracy"] > 0.9 > 0.2 > evaluated[1]["seeds_accuracy"]
    assert jostle("retrain", "out", "--data", data, "--epochs", "1").code == Exit.CLEAN
    again = ["fuzz", "net.py:build", "--weights", "out/retrained.safetensors", "--seeds", data, "--executions", "100"]
    assert jostle(*again).code in (Exit.CLEAN, Exit.FINDINGS)
    torch.save(lenet5().state_dict() | {"fc3.bias": torch.ones(10)}, "trained.pt")
    assert "changed: " in jostle(*call, "--executions", "900").err
    assert "have changed" in jostle("evaluate", "out").err


def test_retraining_another_model_leaves_the_campaigns_weights_aside(place: Path, jostle: Run) -> None:
    data = str(place / "ok.npz")
    call = ["fuzz", "net.py:build", "--weights", "trained.pt", "--seeds", data, "--recipe", "dlfuzz", "--out", "out"]
    assert jostle(*call, "--executions", "600", "--finishing", "1s").code == Exit.FINDINGS
    retrained = jostle("retrain", "out", "--data", data, "--epochs", "1", "--model", "jostle.zoo:lenet1")
    assert retrained.code == Exit.CLEAN, retrained.err
