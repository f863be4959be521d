"""From settings to a campaign ready to run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from jostle.errors import UsageError
from jostle.session.assemble import assemble
from jostle.session.load import load
from jostle.session.session import Ended, Session
from jostle.step_records import Summary, WorkersSoFar
from jostle.storage.campaign_record import read_campaign
from making import options, run_session

NETS = """
import torch
from torch import nn

class Positions(nn.Module):
    def __init__(self):
        super().__init__()
        self.where, self.head = nn.Embedding(4, 3), nn.Linear(3, 2)
    def forward(self, x):
        return self.head(x + self.where(torch.zeros(1, dtype=torch.long)))

def loss(inputs, outputs, labels):
    return {"loss": outputs.square().sum(1)}

class InPlace(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.head = nn.Threshold(0.5, 0.0, inplace=True), nn.Linear(3, 2)
    def forward(self, x):
        return self.head(self.first(x))

def largest():
    return nn.Sequential(nn.Identity())

def rows():
    return torch.rand(6, 3, generator=torch.Generator().manual_seed(0))
"""


@pytest.fixture
def nets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nets.py").write_text(NETS)
    return tmp_path


USUAL: dict[str, Any] = {"model": "nets.py:Positions", "seeds": "nets.py:rows", "executions": 200, "batch": 32}


def assembled(**choices: Any) -> Session:
    return assemble(options(**{**USUAL, **choices}))


def test_a_layer_that_does_not_give_one_row_per_input_is_not_watched(nets: Path) -> None:
    assert load(options(**USUAL)).model.layers == ["head"]
    assert assembled().campaign.run().executions == 200


def test_inputs_can_be_kept_and_found_while_gradients_are_watched(nets: Path) -> None:
    run = assembled(model="nets.py:largest", metadata="nets.py:loss", gradients=True, oracle=("nan", "flip"), sigma=0.5)
    summary = run.campaign.run()
    assert summary.corpus > 6 and summary.findings["flip"] > 0


def test_a_model_that_works_in_place_leaves_the_seeds_alone(nets: Path) -> None:
    run = assembled(model="nets.py:InPlace", recipe="random")
    run.campaign.run()
    expected = torch.rand(6, 3, generator=torch.Generator().manual_seed(0))
    assert torch.equal(run.campaign.corpus.select(torch.arange(6)).inputs, expected)


def test_what_memory_has_no_room_for_counts_towards_the_size_of_the_folder(nets: Path) -> None:
    with assembled(corpus_memory=100).closed_after() as run:
        run.search()
        run.archive.wait()
        limited = replace(run, max_disk=run.archive.used + run.campaign.corpus.on_disk)
        assert run.campaign.corpus.on_disk > 0
        assert limited.full and not replace(limited, max_disk=(limited.max_disk or 0) + 1).full


def test_the_same_settings_go_on_where_they_stopped(nets: Path) -> None:
    first = assembled()
    run_session(first)
    journal = first.archive.folder / "journal.jsonl"
    with journal.open("a") as file:
        file.write('{"step": 99, "torn')
    second = assembled(executions=400)
    assert second.archive.folder == first.archive.folder
    assert second.history is not None and second.history.executions == 200
    assert run_session(second).executions == 400
    steps = [json.loads(line)["step"] for line in journal.read_text().splitlines()]
    assert steps == list(range(len(steps)))


@pytest.mark.parametrize(
    ("choices", "cause"),
    [
        ({"recipe": "tensorfuz"}, "did you mean tensorfuzz"),
        ({"oracle": ("nam",)}, "did you mean nan"),
        ({"oracle": ("agree",)}, "--twin"),
        ({"coverage": ("nearest", "kmcn")}, "did you mean kmnc"),
        ({"scheduler": "recnt"}, "did you mean recent"),
        ({"mutator": ("nois",)}, "did you mean noise"),
        ({"recency": 0.9}, "--recency needs --scheduler smooth"),
        ({"recipe": "deephunter", "mutator": ("metamorphic",)}, "no images"),
        ({"distance": "manhattan"}, "euclidean, cosine"),
        ({"twin": "float17"}, "did you mean float16"),
        ({"units": "some"}, "channels, every"),
        ({"layers": ("haed",)}, "nearest names: head"),
        ({"gradients": True}, "--metadata"),
        ({"mean": (0.5,)}, "--mean has 1 numbers, --std has 0: give both"),
        ({"recipe": "random", "coverage": ("nearest",)}, "leave out --coverage"),
        ({"metadata": "nets.py:lss"}, "did you mean loss"),
        ({"threshold": -1.0}, "--threshold"),
        ({"agree": "top9", "twin": "float16"}, "only 2 outputs"),
    ],
)
def test_a_wrong_choice_is_refused_with_the_fix_before_anything_is_written(
    choices: dict[str, Any], cause: str, nets: Path
) -> None:
    with pytest.raises(UsageError, match=cause):
        assembled(**choices)
    assert not (nets / "jostle-runs").exists()


@pytest.mark.parametrize("twin", ["float16", "bfloat16", "weights16", "int8", "nets.py:InPlace"])
def test_with_a_twin_both_are_run_and_compared(twin: str, nets: Path) -> None:
    summary = assembled(twin=twin, oracle=("agree",), agree="1e-9").campaign.run()
    assert summary.violations["agree"] > 0
    assert summary.rates.keys() == {"model", "twin"}


def test_several_twins_run_side_by_side_and_findings_name_them(nets: Path) -> None:
    summary = assembled(twin="float16,weights16", oracle=("agree",), agree="1e-9").campaign.run()
    assert summary.rates.keys() == {"model", "float16", "weights16"}
    assert summary.violations.keys() == {"agree float16", "agree weights16"}


def test_each_twin_has_a_tolerance_of_its_own_that_the_seeds_tell(nets: Path) -> None:
    session = assembled(twin="float16,bfloat16", oracle=("agree",), agree="auto,0.5")
    settings = read_campaign(session.archive.folder).settings
    tolerance, given = settings["agree"].split(",")
    assert 1e-5 <= float(tolerance) < 0.1 and given == "0.5"


def test_a_twin_that_cannot_be_made_is_left_out_if_others_are_left(nets: Path) -> None:
    session = assembled(twin="float16,nets.py:broken", oracle=("agree",))
    assert any("left out" in line for line in session.warnings)


@pytest.mark.parametrize(
    ("choices", "told"),
    [
        (
            {"mutator": ("havoc",)},
            "; every column stayed within its values in the seeds: a --domain file widens columns",
        ),
        ({"range": (-2.0, 3.0)}, "; values stayed between -2 and 3: --range or --domain widens that"),
        ({"domain": "wide.toml"}, "and none shows nan, crash"),
    ],
)
def test_a_campaign_without_findings_says_between_which_values_it_stayed(
    choices: dict[str, Any], told: str, nets: Path
) -> None:
    (nets / "wide.toml").write_text('kind = "table"\n[column.x0]\nkind = "real"\nlow = -9\nhigh = 9\n')
    session = assembled(model="nets.py:largest", oracle=("nan", "crash"), out="out", **choices)
    session.release()
    assert session.nothing_found is not None
    said = session.nothing_found(Summary(1, 200, 1.0, 6, 0.0, {}, {}, {}, {}, {}, {}))
    assert told in said and ("stayed" in said) == ("stayed" in told)


def test_names_for_fewer_classes_than_the_model_has_are_told_before_it_runs(nets: Path) -> None:
    (nets / "names.txt").write_text("no\n")
    session = assembled(classes="names.txt", out="out")
    session.release()
    assert session.warnings[-1].startswith("--classes names.txt has no name for class 1 of at least 2")
    (nets / "names.txt").write_text("no\nyes\n")
    again = assembled(classes="names.txt", out="out")
    again.release()
    assert not any("--classes" in warning for warning in again.warnings)


def test_a_run_in_which_every_worker_died_before_a_step_ran_nothing() -> None:
    """Though its seeds did, so that it does not pass for a run that found nothing."""
    workers = WorkersSoFar({}, 0.0, 0.0, 0.0, 0, lost=2, lost_seconds=1.0)
    seeds_only = Summary(0, 200, 1.0, 6, 0.0, {}, {}, {}, {}, {}, {}, workers=workers)
    assert Ended(seeds_only, 200, full=False, stopped=False).nothing_ran
    assert Ended(replace(seeds_only, workers=None), 0, full=False, stopped=False).nothing_ran
    for ran in (replace(seeds_only, steps=1), replace(seeds_only, workers=replace(workers, lost=0))):
        assert not Ended(ran, 200, full=False, stopped=False).nothing_ran
