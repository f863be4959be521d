"""`jostle.replay` tells which findings another model has left."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import jostle
from jostle.commands.replay import Verdict
from jostle.errors import UsageError


class Cliff(nn.Module):
    """NaN above a height."""

    def __init__(self, height: float):
        super().__init__()
        self.height = nn.Parameter(torch.tensor(height))

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs.where(inputs < self.height, torch.nan)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    seeds, far = torch.rand(4, 3) / 2, {"mutator": "noise", "sigma": 0.3, "radius": 1.0, "range": (0, 1)}
    how = {"oracle": "nan", "executions": 300, "confirm": False, "quiet": True, **far}
    result = jostle.fuzz(Cliff(0.7), seeds, out=tmp_path / "run", **how)
    assert result.defects
    return result.folder


def test_findings_are_still_there_in_the_same_model_and_mended_in_another(folder: Path) -> None:
    same, other = Cliff(0.7).train(), Cliff(2.0)
    assert {one.verdict for one in jostle.replay(folder, same)} == {Verdict.STILL_THERE}
    assert same.training
    assert {one.verdict for one in jostle.replay(folder, other)} == {Verdict.MENDED}
    finding = next((folder / "findings").iterdir())
    assert [one.verdict for one in jostle.replay([finding], other)] == [Verdict.MENDED]


def test_a_campaign_over_an_object_needs_one(folder: Path) -> None:
    with pytest.raises(UsageError, match="Cliff was an object of a script: give what stands for it"):
        jostle.replay(folder)
