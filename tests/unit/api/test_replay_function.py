"""`jostle.replay` tells which findings another model has left."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import jostle
from jostle.commands.export import FORMATS, read_exported
from jostle.commands.promote import promote
from jostle.commands.replay import Verdict
from jostle.commands.report import contents_of
from jostle.errors import UsageError
from jostle.options.schema import Given
from jostle.report.contents import as_json

FAR = {"mutator": "noise", "sigma": 0.3, "radius": 1.0, "range": (0, 1)}
QUICK = {"executions": 300, "confirm": False, "quiet": True}


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
    seeds = torch.rand(4, 3) / 2
    result = jostle.fuzz(Cliff(0.7), seeds, out=tmp_path / "run", oracle="nan", **FAR, **QUICK)
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


def large(element: jostle.Element) -> bool:
    return bool(element.output.max() > 0.8)


def turned(inputs: Tensor) -> Tensor:
    return inputs.where(inputs < 0.6, -inputs)


def identity(inputs: Tensor) -> Tensor:
    return inputs


@pytest.fixture
def judged(tmp_path: Path) -> jostle.Result:
    """A campaign whose model, twin and property are objects."""
    torch.manual_seed(0)
    how = {"twin": turned, "oracle": ["agree", large], **FAR, **QUICK}
    return jostle.fuzz(identity, torch.rand(4, 3) / 2, out=tmp_path / "my run", **how)


def test_twins_and_properties_are_given_again_as_objects(judged: jostle.Result) -> None:
    assert {defect.cause.kind for defect in judged.defects} == {"agree", "property"}
    again = jostle.replay(judged.folder, identity, twin=turned, oracle=["agree", large])
    assert {one.verdict for one in again} == {Verdict.STILL_THERE}
    mended = jostle.replay(judged.folder, identity, twin=identity, oracle=["agree", large])
    assert {one.verdict for one in mended if one.record.kind == "agree"} == {Verdict.MENDED}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"oracle": ["agree", large]}, "turned was an object of a script: give what stands for it, --twin FILE"),
        ({"twin": turned}, "large was an object of a script: give what stands for it, --oracle FILE"),
    ],
)
def test_an_object_that_is_not_given_again_is_named_with_its_option(
    judged: jostle.Result, given: dict[str, object], told: str
) -> None:
    with pytest.raises(UsageError, match=told):
        jostle.replay(judged.folder, identity, **given)


def test_a_property_that_is_an_object_is_called_by_its_own_name_everywhere(judged: jostle.Result) -> None:
    violated = next(defect for defect in judged.defects if defect.cause.kind == "property")
    assert violated.cause.what == "large" and violated.name.startswith("property-large")
    assert violated.findings and all("jostle" not in name for name in violated.findings)
    _, exported = read_exported(judged.folder, Path.cwd())
    told = [as_json(contents_of(judged.folder)), *(write(exported).decode() for write in FORMATS.values())]
    assert not any("jostle.held" in text for text in [*map(str, told), judged.to_pandas().to_csv()])


def test_the_findings_of_a_property_that_is_an_object_are_made_small_and_confirmed(tmp_path: Path) -> None:
    how = {"oracle": large, "executions": 100, "minimise": True, "quiet": True, **FAR}
    result = jostle.fuzz(identity, torch.linspace(0, 0.75, 6).view(2, 3), out=tmp_path / "run", **how)
    assert "minimised" in result.inputs(result.defects[0])
    confirmed = [card.confirmed for card in contents_of(result.folder).defects]
    assert confirmed and set(confirmed) == {"showed again in 4 of 4 runs in the same process"}


def test_the_command_of_a_result_can_be_pasted_into_a_shell(judged: jostle.Result) -> None:
    call = shlex.split(judged.command(judged.defects[0]))
    assert call[:3] == ["jostle", "replay", str(judged.place(judged.defects[0]))]
    assert (
        " ".join(call[3:]) == "--model FILE.py:function --twin FILE.py:function --oracle agree,FILE.py:function,crash"
    )


def test_what_only_a_search_needs_stops_no_finding_from_being_promoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Noise:
        def mutate(self, parents: jostle.Candidates, rng: torch.Generator) -> jostle.Candidates:
            brighter = parents.inputs + torch.rand(parents.inputs.shape, generator=rng) / 2
            return parents.mutated(brighter.clamp(0, 1), "brighter")

    (tmp_path / "net.py").write_text("import torch\n\n\ndef net(x):\n    return x.where(x < 0.7, torch.nan)\n")
    monkeypatch.chdir(tmp_path)
    model = nn.Sequential(nn.Identity(), Cliff(0.7))
    how = {"mutator": Noise, "coverage": "kmnc", "profile": torch.rand(9, 3), "oracle": "nan", "range": (0, 1)}
    result = jostle.fuzz(model, torch.rand(4, 3) / 2, out="run", **how, **QUICK)
    case = promote(result.place(result.defects[0]), Path("cases"), Given({"model": "net.py:net"}))
    assert [one.still_wrong for one in jostle.replay(case, trust_folder=True)] == [True]
