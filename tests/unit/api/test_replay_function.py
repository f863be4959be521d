"""`jostle.replay` tells which findings another model has left."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import jostle
from jostle.commands.export import FORMATS, read_exported
from jostle.commands.replay import Verdict
from jostle.commands.report import contents_of
from jostle.errors import UsageError
from jostle.report.contents import as_json


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


def test_options_that_replaying_would_not_read_are_refused(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"jostle\.replay: option 'timout' is unknown: did you mean timeout\?"):
        jostle.replay(folder, Cliff(0.7), timout=3)
    with pytest.raises(UsageError, match=r"jostle\.replay: option 'budget' is unknown"):
        jostle.replay(folder, Cliff(0.7), budget="5s")


def test_what_is_told_of_an_object_calls_it_by_its_own_name(folder: Path) -> None:
    _, exported = read_exported(folder, Path.cwd())
    contents = contents_of(folder)
    assert contents.title == exported.model == "Cliff"
    assert contents.replay == f"jostle replay {folder} --model FILE.py:function"
    assert all(one.replay.endswith(" --model FILE.py:function") for one in exported.defects)
    issues = [path.read_text() for path in folder.glob("defects/*/issue.md")]
    told = [as_json(contents), *(write(exported).decode() for write in FORMATS.values()), *issues]
    assert issues and not any("jostle.held" in str(text) for text in told)
