"""Gradient ascent from settings: what it needs is there, or a line says what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from jostle.errors import UsageError
from jostle.lineage import NO_GRADIENT
from jostle.session.assemble import assemble
from jostle.session.load import load
from jostle.session.session import Session
from making import options, run_session

NETS = """
import numpy as np
import torch
from torch import nn
from jostle.zoo import lenet1, mnist_sample

WEIGHTS = torch.randn(6, 3, generator=torch.Generator().manual_seed(1))

def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3))

def four_classes():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 4))

def scalar():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 5), nn.Linear(5, 1))

def function(rows):
    return rows @ WEIGHTS

def in_numpy(rows: np.ndarray):
    return rows @ WEIGHTS.numpy()

class Largest(nn.Module):
    "One for the class it is, zero for the others."
    def __init__(self):
        super().__init__()
        self.digits = lenet1()
    def forward(self, images):
        return nn.functional.one_hot(self.digits(images).argmax(1), 10).float()

class Rounded(nn.Module):
    "Scores in steps, which have a gradient, of zero."
    def __init__(self):
        super().__init__()
        self.net = net()
    def forward(self, rows):
        return (self.net(rows) * 20).round()

class Detached(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = net()
    def forward(self, rows):
        return self.net(rows).detach()

class Weightless(nn.Module):
    "Watched, but without weights."
    def __init__(self):
        super().__init__()
        self.squash = nn.Tanh()
    def forward(self, rows):
        return self.squash(rows @ WEIGHTS)

class Picky(nn.Module):
    "Raises for the first seeds, which are darker than all others."
    def __init__(self):
        super().__init__()
        self.net = net()
    def forward(self, rows):
        if (rows.mean(1) < 0.05).any():
            raise ArithmeticError("too dark")
        return self.net(rows)

class NoBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, rows):
        return rows.clone()
    @staticmethod
    def backward(ctx, gradient):
        raise NotImplementedError("no backward here")

class Opaque(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = net()
    def forward(self, rows):
        return self.net(NoBackward.apply(rows))

def rows():
    return torch.rand(12, 6, generator=torch.Generator().manual_seed(0))

def some_dark():
    some = rows()
    some[:3] = 0.01
    return some

def digits():
    images, labels = mnist_sample()
    return images[:8], labels[:8]
"""


@pytest.fixture
def nets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nets.py").write_text(NETS)
    return tmp_path


def assembled(**choices: Any) -> Session:
    usual: dict[str, Any] = {
        "model": "nets.py:net",
        "seeds": "nets.py:rows",
        "recipe": "dlfuzz",
        "others": 2,
        "neurons": 4,
        "executions": 200,
    }
    return assemble(options(**{**usual, **choices}))


LENETS = {"model": "jostle.zoo:lenet1", "seeds": "nets.py:digits", "others": None}
INSTEAD = "use --recipe deephunter or tensorfuzz"
DISAGREE = {"goal": "disagree", "others": None, "neurons": None}


@pytest.mark.parametrize(
    ("choices", "cause", "fix"),
    [
        ({"model": "nets.py:in_numpy", "neurons": 0}, "the model cannot be differentiated", INSTEAD),
        ({**LENETS, "model": "nets.py:Largest"}, "the model cannot be differentiated", INSTEAD),
        ({"model": "nets.py:Detached"}, "the model cannot be differentiated", INSTEAD),
        ({"model": "nets.py:Opaque"}, "NotImplementedError: no backward here", INSTEAD),
        ({"model": "nets.py:Rounded"}, "the gradient is zero on every seed tried", INSTEAD),
        ({"model": "nets.py:scalar"}, "--mutator gradient needs a model that gives class scores", INSTEAD),
        ({"others": 3}, "--others 3: the model tells 3 classes apart", "give 1 to 2 others"),
        ({"others": 10}, "--others 10", "give 1 to 2 others"),
        ({**DISAGREE, "twin": "int8"}, "the twin int8 cannot be differentiated", "use --coverage gap"),
        ({**DISAGREE, "twin": "weights16,int8"}, "the twin int8 cannot be differentiated", "use --coverage gap"),
        ({**DISAGREE, "twin": "nets.py:in_numpy"}, "cannot be differentiated", "use --coverage gap"),
        ({"neurons": 14}, "--neurons 14: the layers chosen have 8 neurons", "give fewer"),
        ({"neurons": 6, "layers": ("0",)}, "--neurons 6: the layers chosen have 5 neurons", "more with --layers"),
        ({"neurons": 1, "strategy": ("rare", "near")}, "--neurons 1 for 2 strategies", "at least one for each"),
        ({"model": "nets.py:function"}, "--neurons: no layer is watched", "give --neurons 0"),
        ({"model": "nets.py:Weightless", "strategy": ("heavy",), "neurons": 2}, "no watched layer has weights", ""),
        ({"strategy": ("rear",)}, "--strategy 'rear' is unknown", "did you mean rare"),
        ({"perturbation": "ligth"}, "--perturbation 'ligth' is unknown", "did you mean light"),
        ({"perturbation": "occlusion"}, "--perturbation occlusion needs images", "use gradient"),
        ({"perturbation": "blackout"}, "seeds have shape [6]", "use gradient"),
        ({"as_images": True}, "--as-images: seeds of shape [6] are not what 8-bit image files hold", "leave it out"),
        ({"limit": 0.4}, "--limit 0.4 and --reach 0.3", "a limit not above it"),
        ({"reach": 0.0}, "--reach 0.0", "a reach above 0"),
        ({"desired": 1.0}, "--desired 1.0", "give the share"),
        (
            {"recipe": "deepxplore", "others": None, "models": ("nets.py:four_classes",), "neurons": 2},
            "--models nets.py:four_classes gives outputs of shape [4], the model scores of 3 classes",
            "give models of the same task",
        ),
        (
            {"recipe": "deepxplore", "others": None, "models": ("nets.py:scalar",), "neurons": 2},
            "gives outputs of shape [1]",
            "give models of the same task",
        ),
        (
            {**LENETS, "recipe": "deepxplore", "models": ("nets.py:net",), "neurons": 2},
            "--models nets.py:net",
            "same task",
        ),
    ],
)  # fmt: skip
def test_what_gradients_cannot_do_is_refused_in_one_line_before_anything_is_written(
    choices: dict[str, Any], cause: str, fix: str, nets: Path
) -> None:
    with pytest.raises(UsageError) as refused:
        assembled(**choices)
    said = str(refused.value)
    assert cause in said and fix in said
    assert "\n" not in said
    assert not (nets / "jostle-runs").exists()


def test_without_neurons_a_function_without_layers_is_ascended(nets: Path) -> None:
    run = assembled(model="nets.py:function", neurons=0, coverage=("nearest",))
    assert run.campaign.run().findings["flip"] > 0


def test_seeds_that_the_model_fails_on_do_not_keep_it_from_being_differentiated(nets: Path) -> None:
    run = assembled(model="nets.py:Picky", seeds="nets.py:some_dark", reach=0.5)
    summary = run.campaign.run()
    assert summary.findings["crash"] == 1
    assert summary.findings["flip"] > 0


def test_a_gradient_that_is_not_finite_is_a_finding_and_no_refusal(nets: Path) -> None:
    (nets / "nets.py").write_text(
        NETS
        + """
class Rooted(nn.Module):
    "The derivative is not finite where the first value is above 0.7."
    def __init__(self):
        super().__init__()
        self.net = net()
    def forward(self, rows):
        first = rows[:, :1]
        return self.net(rows) + ((0.7 - first) * (first < 0.7)).sqrt() * 0
"""
    )
    run = assembled(model="nets.py:Rooted")
    seeds = torch.rand(12, 6, generator=torch.Generator().manual_seed(0))
    assert (seeds[:, 0] > 0.7).any() and not (seeds[:, 0] > 0.7).all()
    assert run_session(run).findings["nan"] == 1
    told = (run.archive.folder / "journal.jsonl").read_text()
    assert "nan:gradient" in told and str(NO_GRADIENT) in told


@pytest.mark.parametrize("strategy", ["frequent", "rare", "heavy", "near", "uncovered"])
def test_every_strategy_leads_to_flips(strategy: str, nets: Path) -> None:
    assert assembled(strategy=(strategy,), executions=120).campaign.run().findings["flip"] > 0


def test_a_panel_shows_the_layers_of_all_its_models(nets: Path) -> None:
    panel = {"recipe": "deepxplore", "models": ("jostle.zoo:lenet4",), "neurons": 3, "strategy": ("heavy",)}
    choices = {**LENETS, **panel, "executions": 200}
    watched = load(options(**choices)).model.layers
    assert "relu1" in watched and "model 2: relu1" in watched
    assert assembled(**choices).campaign.run().executions == 200


def test_a_model_of_three_classes_needs_no_number_of_other_classes(nets: Path) -> None:
    assert assembled(others=None).campaign.run().findings["flip"] > 0


def test_models_that_are_the_same_are_said_to_be(nets: Path) -> None:
    with pytest.raises(UsageError, match="as if they were the same"):
        assembled(recipe="deepxplore", others=None, models=("nets.py:net",), neurons=2)


@pytest.mark.parametrize(
    "choices",
    [{"recipe": "dlfuzz"}, {"recipe": "tensorfuzz", "mutator": ("gradient",)}, {"recipe": "dlfuzz", "isolate": True}],
)
def test_twins_of_a_model_are_led_to_disagree_in_every_recipe(choices: dict[str, Any], nets: Path) -> None:
    run = assembled(**DISAGREE, **choices, twin="weights16,float16", reach=2.0, executions=600)
    summary = run_session(run)
    assert min(summary.findings.get(f"agree {twin}", 0) for twin in ("weights16", "float16")) >= 5
