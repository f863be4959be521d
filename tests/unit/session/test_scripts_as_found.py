"""How much time goes into smaller models while a campaign over frameworks runs, and what becomes of odd folders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch

from jostle.errors import OutputRefused
from jostle.frameworks.campaign.target import Fault
from jostle.frameworks.graph import Graph
from jostle.frameworks.judging.disagreement import Disagreement, Symptom
from jostle.graph_signature import parse
from jostle.lineage import Mutation
from jostle.records import Failures, Finding, Violation
from jostle.session.finish_frameworks import REDUCING
from jostle.session.scripts_as_found import SHORTEST, ScriptsAsFound
from jostle.step_records import StepRecord, Summary
from jostle.storage.finding_record import RECORD, FindingRecord, InputType, encode_record, record_as_json
from making import batch_of

SIGNATURE = "torch predict values abs - float32 -"
FAULT = Fault(
    parse(SIGNATURE), Disagreement("torch", "predict", Symptom.VALUES), Graph({}, (), ()),
    Disagreement("torch", "predict", Symptom.VALUES),
)  # fmt: skip


@dataclass
class Finisher:
    """Takes all the time that it is given, and notes it."""

    folder: Path
    now: float = 0.0
    reported: list[str] = field(default_factory=list)
    finished: list[tuple[str, float]] = field(default_factory=list)

    def write_report(self, folder: Path, fault: Fault) -> None:
        assert fault is FAULT
        self.reported.append(folder.name)

    def finish_one(self, folder: Path, record: FindingRecord, stopped: Callable[[], bool], seconds: float) -> bool:
        if not folder.is_dir():
            raise OutputRefused(f"{folder} is not there")
        self.finished.append((folder.name, seconds))
        self.now += seconds
        return True


@pytest.fixture
def finisher(tmp_path: Path) -> Finisher:
    return Finisher(tmp_path)


def scripts_of(finisher: Finisher, over: Callable[[float], bool] = lambda seconds: False) -> ScriptsAsFound:
    return ScriptsAsFound(finisher, lambda: {7: (FAULT,)}, lambda: None, over, lambda: finisher.now)


def found(campaign: Path, number: int, kind: str = "values") -> Finding:
    """A finding whose folder is there."""
    record = FindingRecord(
        input_type=InputType.GRAPH, kind=kind, summary="", fingerprint=f"values:{number}", alone=True, bug=number,
        step=1, execution=1, seed="mlp", root=0, parent=0, mutation=Mutation(("negate weights",)), largest_change=None,
        details={"signature": SIGNATURE, "phase": "predict"},
    )  # fmt: skip
    folder = campaign / "findings" / f"{number:04}-abs"
    folder.mkdir(parents=True)
    (folder / RECORD).write_bytes(encode_record(record_as_json(record)))
    return Finding(Violation(kind, record.fingerprint, ""), number, 1, 1, batch_of(torch.tensor([[7]])), True)


def step(seconds: float, *findings: Finding) -> StepRecord:
    nothing = batch_of(torch.zeros(0, 1))
    so_far = Summary(1, 1, seconds, 1, 0.0, {}, {}, {}, {}, {}, {})
    return StepRecord(1, 1, nothing, findings, (), {}, {}, Failures.none(nothing), so_far)


def test_a_script_is_written_when_a_finding_is_made_and_its_model_made_smaller_when_there_is_time(
    finisher: Finisher,
) -> None:
    scripts = scripts_of(finisher)
    scripts(step(100, found(finisher.folder, 1)))
    assert (finisher.reported, finisher.finished) == (["0001-abs"], [])
    scripts(step(105))
    assert finisher.finished == [("0001-abs", SHORTEST)]


def test_a_fifth_of_this_runs_time_is_taken_and_no_search_is_longer_than_another(finisher: Finisher) -> None:
    scripts = scripts_of(finisher)
    scripts(step(1000))
    scripts(step(1200, *(found(finisher.folder, number) for number in range(1, 9))))
    assert [seconds for _, seconds in finisher.finished] == [REDUCING, pytest.approx(10)]
    scripts(step(1201))
    assert len(finisher.finished) == 3  # for one second more, with what was taken too much
    scripts(step(1202))
    assert len(finisher.finished) == 3


def test_nothing_is_made_smaller_once_the_campaign_is_over(finisher: Finisher) -> None:
    scripts = scripts_of(finisher, lambda seconds: seconds >= SHORTEST)
    scripts(step(0))
    scripts(step(11, *(found(finisher.folder, number) for number in range(1, 4))))
    assert finisher.finished == [("0001-abs", pytest.approx(2.2))]


def test_hangs_wait_for_the_end(finisher: Finisher) -> None:
    scripts = scripts_of(finisher)
    scripts(step(0))
    scripts(step(100, found(finisher.folder, 1, "hang")))
    assert (finisher.reported, finisher.finished) == (["0001-abs"], [])


def test_folders_that_are_damaged_odd_or_moved_away_do_not_end_a_campaign(finisher: Finisher) -> None:
    scripts = scripts_of(finisher)
    scripts(step(0))
    (finisher.folder / "findings" / "0001-empty").mkdir(parents=True)
    (finisher.folder / "findings" / "0002-damaged").mkdir()
    (finisher.folder / "findings" / "0002-damaged" / RECORD).write_bytes(b"\xff{")
    scripts(step(0, found(finisher.folder, 3), found(finisher.folder, 4)))
    (finisher.folder / "findings" / "0003-abs").rename(finisher.folder / "elsewhere")
    scripts(step(100))
    assert [name for name, _ in finisher.finished] == ["0004-abs"]
