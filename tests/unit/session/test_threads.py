"""On how many threads a campaign runs: chosen once by measuring, recorded, and the same when it goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import torch

import jostle
from jostle.composition.settle import FUZZ
from jostle.errors import UsageError
from jostle.session import threads
from jostle.session.assemble import assemble
from jostle.session.session import run
from jostle.session.threads import CLEARLY, ROUNDS, chosen_threads, on_threads
from jostle.storage.campaign_record import CONFIG
from jostle.zoo import lenet1, mnist_sample

OPTIONS = {"model": "jostle.zoo:lenet1", "seeds": "jostle.zoo:mnist_sample", "executions": 600, "confirm": False}
Measured = list[int]


def taking(seconds: dict[int, float]) -> Callable[[int], float]:
    return lambda number: seconds[number]


@pytest.fixture
def two_threads() -> Iterator[None]:
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(1)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch, two_threads: None) -> Measured:
    """The numbers of threads that were timed; as it seems, two are three times as fast as one."""
    asked: Measured = []

    def seconds(target: object, batch: object, number: int, change: Callable[[int], None]) -> float:
        change(number)
        asked.append(number)
        return 3.0 / number**2

    monkeypatch.setattr(threads, "_seconds", seconds)
    return asked


def recorded(folder: Path) -> dict[str, Any]:
    content = json.loads((folder / CONFIG).read_text())
    assert "threads" in content["may change"]
    return dict(content)


def ran(folder: Path, **options: Any) -> tuple[str, ...]:
    """The warnings of one run."""
    session = assemble(FUZZ.parsed({**OPTIONS, "out": str(folder), **options}))
    run(session)
    return session.warnings


@pytest.mark.parametrize("most", [2, 8, 64])
def test_more_threads_are_taken_only_where_they_are_clearly_faster(most: int) -> None:
    assert chosen_threads(taking({1: CLEARLY, most: 0.99}), most) == most
    assert chosen_threads(taking({1: CLEARLY, most: 1.01}), most) == 1
    assert chosen_threads(taking({1: 1.0, most: 4.0}), most) == 1


@pytest.mark.parametrize(("usual", "chosen"), [({1: 1.0, 2: 1.0}, 1), ({1: 2.0, 2: 1.0}, 2)])
def test_one_run_that_was_disturbed_changes_nothing(usual: dict[int, float], chosen: int) -> None:
    for disturbed in range(2 * ROUNDS):
        runs = count()
        assert chosen_threads(lambda number: 50.0 if next(runs) == disturbed else usual[number], 2) == chosen


def test_both_numbers_are_timed_in_turn() -> None:
    asked: Measured = []
    chosen_threads(lambda number: float(asked.append(number) or 1), 4)  # type: ignore[func-returns-value]
    assert asked == [1, 4] * ROUNDS


def test_nothing_is_measured_where_torch_has_one_thread(measured: Measured, tmp_path: Path) -> None:
    torch.set_num_threads(1)
    ran(tmp_path / "out")
    assert not measured
    assert recorded(tmp_path / "out")["threads"] == 1


def test_the_number_is_told_recorded_and_used_again(measured: Measured, tmp_path: Path) -> None:
    session = assemble(FUZZ.parsed({**OPTIONS, "out": str(tmp_path / "out")}))
    assert "threads: 2" in session.introduction[0]
    assert torch.get_num_threads() == 2 and len(measured) == 2 * ROUNDS
    run(session)
    assert recorded(tmp_path / "out")["threads"] == 2
    torch.set_num_threads(1)
    again = assemble(FUZZ.parsed({**OPTIONS, "out": str(tmp_path / "out"), "executions": 700}))
    assert torch.get_num_threads() == 2 and len(measured) == 2 * ROUNDS
    assert not [line for line in again.warnings if "threads" in line]
    run(again)
    assert torch.get_num_threads() == 1


def test_a_folder_that_is_named_after_the_settings_is_the_same_on_any_number(
    measured: Measured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run(assemble(FUZZ.parsed({**OPTIONS, "threads": 1})))
    (folder,) = (tmp_path / "jostle-runs").iterdir()
    session = assemble(FUZZ.parsed({**OPTIONS, "executions": 700}))  # measures two, and then finds the folder
    assert measured and session.history is not None
    assert recorded(folder)["threads"] == torch.get_num_threads() == 1
    run(session)
    assert [*(tmp_path / "jostle-runs").iterdir()] == [folder]


def test_a_number_that_the_user_gives_wins_from_then_on_and_is_told(measured: Measured, tmp_path: Path) -> None:
    ran(tmp_path / "out", threads=1)
    told = [line for line in ran(tmp_path / "out", threads=2, executions=700) if "threads" in line]
    assert len(told) == 1 and "ran on 1 thread before, and goes on with 2" in told[0]
    assert not measured
    assert recorded(tmp_path / "out")["threads"] == 2
    assert not [line for line in ran(tmp_path / "out", executions=800) if "threads" in line]


def test_a_worker_gets_the_number(measured: Measured, tmp_path: Path) -> None:
    (tmp_path / "counting.py").write_text(
        "import torch\n"
        "def threads(batch: torch.Tensor) -> torch.Tensor:\n"
        "    return torch.full((len(batch), 1), float(torch.get_num_threads())) + 0 * batch.flatten(1).sum(1, True)\n"
    )
    model, out = f"{tmp_path / 'counting.py'}:threads", str(tmp_path / "out")
    for options, wanted in (({"threads": 3}, 3), ({}, 2)):
        given = {**OPTIONS, "model": model, "isolate": True, "recipe": "random", "oracle": ["nan"], "force": True}
        session = assemble(FUZZ.parsed({**given, **options, "out": f"{out}{wanted}"}))
        with session.closed_after():
            target = session.campaign._target
            assert target.predict(torch.zeros(4, 1, 28, 28)).unique().tolist() == [wanted]


def test_a_script_gets_its_threads_back(measured: Measured) -> None:
    images, labels = mnist_sample()
    jostle.fuzz(lenet1(), images, labels, threads=1, executions=600, confirm=False, quiet=True)
    assert torch.get_num_threads() == 2
    with pytest.raises(UsageError):
        jostle.fuzz(lenet1(), images, labels, threads=1, executions=3, quiet=True)
    assert torch.get_num_threads() == 2


def test_threads_are_put_back_whatever_happens(two_threads: None) -> None:
    with pytest.raises(ZeroDivisionError), on_threads(FUZZ.parsed({"threads": 1})):
        assert torch.get_num_threads() == 1
        raise ZeroDivisionError
    assert torch.get_num_threads() == 2


def test_a_model_that_fails_on_some_seeds_runs_on_one_thread(measured: Measured, tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text(
        "import torch\n"
        "def model(batch: torch.Tensor) -> torch.Tensor:\n"
        "    if (batch.flatten(1).mean(1) > 0.2).any():\n"
        "        raise ValueError\n"
        "    return batch.flatten(1).mean(1)\n"
    )
    model = {"model": f"{tmp_path / 'failing.py'}:model", "recipe": "random", "force": True}
    assemble(FUZZ.parsed({**OPTIONS, **model, "out": str(tmp_path / "out")})).release()
    assert recorded(tmp_path / "out")["threads"] == 1 and not measured


SETS_THREADS = """
import torch
from jostle.zoo import lenet1


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.set_num_threads(2)
        self.net = lenet1()

    def forward(self, inputs):
        return self.net(inputs) if torch.get_num_threads() == 1 else 1 / 0
"""


@pytest.mark.parametrize("isolate", [False, True])
def test_a_named_number_holds_though_opening_the_model_changes_it(
    isolate: bool, two_threads: None, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(SETS_THREADS)
    ran(tmp_path / "out", model=f"{tmp_path / 'own.py'}:Net", threads=1, isolate=isolate)
    assert recorded(tmp_path / "out")["threads"] == 1
