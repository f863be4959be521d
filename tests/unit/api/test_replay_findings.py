"""`jostle.replay` runs what was found on a model as it is now."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import jostle
from jostle.errors import UsageError

QUICK = {"executions": 400, "confirm": False, "quiet": True, "mutator": "noise", "sigma": 0.3, "radius": 1.0}


class Logarithm(nn.Module):
    """Not finite below its edge."""

    def __init__(self, edge: float) -> None:
        super().__init__()
        self.edge = edge

    def forward(self, inputs: Tensor) -> Tensor:
        return (inputs.flatten(1)[:, :3] - self.edge).log()


@pytest.fixture
def found(tmp_path: Path) -> jostle.Result:
    seeds = torch.full((6, 4), 0.4) + torch.arange(6)[:, None] / 50
    return jostle.fuzz(Logarithm(0.1), seeds, oracle="nan", range=(0, 1), out=tmp_path / "run", **QUICK)


def test_what_is_mended_is_told_from_what_is_still_there(found: jostle.Result) -> None:
    assert [one.verdict for one in jostle.replay(found.folder, Logarithm(0.1))] == ["still there"]
    (mended,) = jostle.replay(str(found.folder), Logarithm(-1.0))
    assert mended.verdict == "mended" and not mended.still_wrong


def test_a_model_is_left_in_its_mode(found: jostle.Result) -> None:
    model = Logarithm(0.1).train()
    (folder,) = (found.folder / "findings").glob("*")
    assert jostle.replay([folder], model)[0].still_wrong
    assert model.training


def test_a_model_that_only_a_script_had_must_be_given_again(found: jostle.Result) -> None:
    with pytest.raises(UsageError, match="the model Logarithm was an object of a script: give a model") as caught:
        jostle.replay(found.folder)
    assert "\n" not in str(caught.value)


def test_bad_input_is_one_line(found: jostle.Result, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no finding"):
        jostle.replay(tmp_path / "nowhere", Logarithm(0.1))
    with pytest.raises(UsageError, match="did you mean 'timeout'"):
        jostle.replay(found.folder, Logarithm(0.1), timeot="5s")
