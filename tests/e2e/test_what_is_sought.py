"""The plain command seeks what is known of a model, says so, and counts wrong seeds apart."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from running import Ended

from jostle.cli.terminal import Exit
from jostle.zoo import lenet5, mnist_sample

Run = Callable[..., Ended]
ZOO, DIGITS = "jostle.zoo:lenet5", "jostle.zoo:mnist_sample"
NETS = '''
import torch
from torch import nn
from jostle.zoo import lenet5


class Logs(nn.Module):
    """Scores, and beside them a logarithm that is NaN for some digits."""

    def __init__(self):
        super().__init__()
        self.digits = lenet5()

    def forward(self, images):
        return self.digits(images), torch.log(images.flatten(1).sum(1) - 60)


class Loss(Logs):
    """Scores, and a loss without rows."""

    def forward(self, images):
        scores = self.digits(images)
        return {"loss": scores.mean(), "logits": scores}


def is_seven(images):
    return lenet5()(images).softmax(1)[:, 7]


def above_two(images):
    return lenet5()(images) - 2


def total(images):
    return images.flatten(1).sum(1)
'''


@pytest.fixture
def nets(tmp_path: Path) -> Path:
    (tmp_path / "nets.py").write_text(NETS)
    images, labels = mnist_sample()
    some, numbers = images[:60], labels[:60]
    scores = lenet5()(some).detach()
    np.savez(tmp_path / "sevens.npz", x=some.numpy(), y=(numbers == 7).long().numpy())
    np.savez(tmp_path / "sets.npz", x=some.numpy(), y=(scores > 2).long().numpy())
    np.savez(tmp_path / "odd.npz", x=some.numpy(), y=torch.rand(60, 3).numpy())
    return tmp_path


def test_the_plain_command_on_labelled_images_finds_labels_that_flip(jostle: Run, tmp_path: Path) -> None:
    ended = jostle("fuzz", ZOO, "--seeds", DIGITS, "--executions", "6000", "--out", str(tmp_path / "out"))
    assert ended.code == Exit.FINDINGS
    assert "sought: flip, nan, crash · not sought: agree, because there is no --twin" in ended.err
    assert "sought" in ended.out and " taken for " in ended.out


def test_a_nan_in_any_output_is_found_by_its_name(jostle: Run, nets: Path) -> None:
    out = nets / "out"
    ended = jostle("fuzz", f"{nets}/nets.py:Logs", "--seeds", DIGITS, "--executions", "600", "--out", str(out))
    assert ended.code == Exit.FINDINGS and "output.1 is not finite" in ended.out


def test_an_output_without_rows_is_told(jostle: Run, nets: Path) -> None:
    call = ("fuzz", f"{nets}/nets.py:Loss", "--seeds", DIGITS, "--executions", "600", "--out", str(nets / "out"))
    assert "output.loss has no row per input, so nothing is sought in it" in jostle(*call).err


@pytest.mark.parametrize(("model", "seeds"), [("is_seven", "sevens.npz"), ("above_two", "sets.npz")])
def test_single_scores_and_several_labels_flip_too(model: str, seeds: str, jostle: Run, nets: Path) -> None:
    call = ["fuzz", f"{nets}/nets.py:{model}", "--seeds", str(nets / seeds), "--executions", "6000"]
    ended = jostle(*call, "--ranges", "paper", "--out", str(nets / "out"), "--json")
    assert ended.json()["sought"] == ["flip", "nan", "crash"]
    assert ended.json()["findings"]["flip"] > 0


def test_a_run_that_finds_nothing_says_what_it_tried(jostle: Run, nets: Path) -> None:
    np.save(nets / "plain.npy", mnist_sample()[0][:50].numpy())
    call = ["fuzz", f"{nets}/nets.py:total", "--seeds", f"{nets}/plain.npy", "--executions", "800"]
    ended = jostle(*call, "--out", str(nets / "out"))
    assert ended.code == Exit.CLEAN
    assert "not sought: flip, because the model gives no class scores (--task says what it does)" in ended.err
    assert "nothing found: 800 inputs, made from 50 seeds by noise, and none shows nan, crash" in ended.err


def test_seeds_that_the_model_gets_wrong_are_listed_and_are_no_findings(jostle: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    call = ["fuzz", ZOO, "--seeds", DIGITS, "--oracle", "flip", "--executions", "500", "--out"]
    ended = jostle(*call, str(out), "--json")
    assert ended.code == Exit.CLEAN and ended.json()["wrong_on_seeds"] == 7
    listed = json.loads((out / "wrong-on-seeds.json").read_text())
    assert len(listed) == 7 and {"seed", "label", "answer"} <= listed[0].keys()
    counted = jostle(*call, str(tmp_path / "counted"), "--seeds-count", "--json")
    assert counted.code == Exit.FINDINGS and counted.json()["findings"] == {"flip": 7}


def test_labels_that_fit_no_task_are_refused_with_the_shapes_that_fit(jostle: Run, nets: Path) -> None:
    ended = jostle("fuzz", ZOO, "--seeds", str(nets / "odd.npz"), "--out", str(nets / "out"))
    assert ended.code == Exit.USAGE
    assert "labels of shape [60, 3] (fractions) fit no task of a model with outputs of shape [60, 10]" in ended.err
    assert not (nets / "out").exists()
