"""Findings run again, alone and in a batch, in a new process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from jostle.options.schema import Given
from jostle.session.assemble import assemble
from jostle.session.finish import InputFinisher
from jostle.storage.finding_record import Confirmation, FinishedArray
from making import options, saved_findings, unhurried

NETS = """
import os
import sys
import torch
from torch import nn
from pathlib import Path

STARTED = Path(__file__).with_name("started")

class Steady(nn.Module):
    "NaN where the first value is above 0.6; notes each process that loads it."
    def __init__(self):
        super().__init__()
        self.scores = nn.Linear(4, 3)
        with STARTED.open("a") as file:
            file.write(f"{os.getpid()}\\n")
    def forward(self, rows):
        return self.scores(torch.where(rows[:, :1] > 0.6, torch.nan, rows))

class Shy(Steady):
    "Shows it only in a process that has run more than 60 inputs."
    def __init__(self):
        super().__init__()
        self.seen = 0
    def forward(self, rows):
        self.seen += len(rows)
        return super().forward(rows) if self.seen > 60 else self.scores(rows)

class InCompany(Steady):
    "Shows it for inputs that run alone, or in a batch of the search."
    def forward(self, rows):
        return super().forward(rows) if len(rows) == 1 or len(rows) == 64 else self.scores(rows)

class Deadly(nn.Module):
    def __init__(self):
        super().__init__()
        self.scores = nn.Linear(4, 3)
    def forward(self, rows):
        if (rows[:, 0] > 0.6).any():
            os._exit(7)
        return self.scores(rows)
"""


@pytest.fixture
def workshop(tmp_path: Path) -> Path:
    np.save(tmp_path / "rows.npy", torch.rand(12, 4, generator=torch.Generator().manual_seed(0)).mul(0.5).numpy())
    (tmp_path / "nets.py").write_text(NETS)
    return tmp_path


def chosen(workshop: Path, model: str, **choices: Any) -> Given:
    usual = {"model": f"{workshop / 'nets.py'}:{model}", "seeds": str(workshop / "rows.npy"), "recipe": "random"}
    usual |= {"out": str(workshop / "out"), "range": (0.0, 1.0)}
    return options(**{**usual, "executions": 140, "batch": 64, "sigma": 0.2, "confirm": True, "force": True, **choices})


def finished(workshop: Path, model: str, **choices: Any) -> tuple[InputFinisher, list[Confirmation | None]]:
    """The findings of a campaign, confirmed."""
    session = assemble(chosen(workshop, model, **choices))
    session.archive.conclude(session.search())
    finisher = unhurried(session)
    finisher.finish()
    session.release()
    records = [one.record.finished for one in saved_findings(workshop / "out")]
    assert records
    return finisher, [one.confirmation for one in records if isinstance(one, FinishedArray)]


def test_a_finding_that_always_shows_is_stable(workshop: Path) -> None:
    finisher, confirmations = finished(workshop, "Steady", oracle=("nan",))
    assert set(confirmations) == {Confirmation(4, 4)} and not finisher.remarks
    assert len(set((workshop / "started").read_text().split())) == 2, "this process, and a new one"


def test_a_finding_that_does_not_show_again_stays_with_its_rate(workshop: Path) -> None:
    _, confirmations = finished(workshop, "InCompany", oracle=("nan",))
    assert set(confirmations) == {Confirmation(4, 3)}, "in company it does not show"


def test_a_new_process_remembers_nothing(workshop: Path) -> None:
    _, confirmations = finished(workshop, "Shy", oracle=("nan",))
    for confirmation in confirmations:
        assert confirmation is not None and confirmation.shown == 0


def test_an_input_that_ends_the_process_is_run_once_more(workshop: Path) -> None:
    """Because each run takes a process."""
    _, confirmations = finished(
        workshop, "Deadly", isolate=True, executions=30, findings=1, batch=4, sigma=0.5, radius=1.0, oracle=("nan",)
    )
    assert set(confirmations) == {Confirmation(1, 1)}


def test_without_time_or_asking_nothing_is_confirmed(workshop: Path) -> None:
    _, confirmations = finished(workshop, "Steady", oracle=("nan",), confirm=False)
    assert set(confirmations) == {None}
    assert len(set((workshop / "started").read_text().split())) == 1


def test_a_model_that_cannot_be_loaded_twice_is_finished_all_the_same(workshop: Path) -> None:
    session = assemble(chosen(workshop, "Steady", oracle=("nan",)))
    session.archive.conclude(session.search())
    (workshop / "nets.py").write_text("raise OSError('gone')")
    finisher = unhurried(session)
    finisher.finish()
    session.release()
    (remark,) = finisher.remarks
    assert "a new process cannot run the model" in remark and "\n" not in remark
    assert all(isinstance(one.record.finished, FinishedArray) for one in saved_findings(workshop / "out"))
