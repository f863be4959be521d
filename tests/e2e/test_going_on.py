"""Stopping a campaign in every way, and the same command going on with it."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from running import ENVIRONMENT, JOSTLE, PATIENCE, Ended

from jostle.cli.terminal import Exit

Run = Callable[..., Ended]
ZOO = "jostle.zoo:lenet5"
QUIET = ["fuzz", ZOO, "--seeds", "ok.npy"]  # finds nothing
LOUD = [
    "fuzz",
    ZOO,
    "--seeds",
    "ok.npy",
    "--oracle",
    "flip",
    "--radius",
    "1",
    "--sigma",
    "0.5",
    "--batch",
    "64",
]  # finds much


def journal(out: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (out / "journal.jsonl").read_text().splitlines()]


def check_whole(out: Path) -> None:
    """Every finding that the journal tells of is there and whole, no other, and nothing half-written."""
    assert not list(out.rglob(".*"))
    assert (out / "findings.log").stat().st_size == 0
    told = [fingerprint for line in journal(out) for fingerprint in line["findings"]]  # type: ignore[attr-defined]
    folders = list((out / "findings").iterdir())
    found = [json.loads((folder / "finding.json").read_text()) for folder in folders]
    assert sorted(finding["fingerprint"] for finding in found) == sorted(told)
    assert len({finding["fingerprint"] for finding in found}) == len(found)
    assert len({folder.name.partition("-")[0] for folder in folders}) == len(found)
    for folder in folders:
        assert np.load(folder / "input.npy").shape == np.load(folder / "reference.npy").shape == (1, 28, 28)
        assert (folder / "picture.png").stat().st_size > 0


def started(call: list[str], cwd: Path, out: Path, steps: int) -> subprocess.Popen[str]:
    """The command as a process that has finished so many steps, and goes on."""
    running = subprocess.Popen(
        [JOSTLE, *call], cwd=cwd, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + PATIENCE
    while not (out / "journal.jsonl").exists() or len((out / "journal.jsonl").read_bytes().splitlines()) < steps:
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return running


def test_the_same_seed_gives_the_same_journal(jostle: Run, in_workshop: Path, tmp_path: Path) -> None:
    for name, seed in (("one", "0"), ("two", "0"), ("three", "1")):
        jostle(*LOUD, "--executions", "1500", "--seed", seed, "--out", str(tmp_path / name))
    one, two, three = ((tmp_path / name / "journal.jsonl").read_bytes() for name in ("one", "two", "three"))
    assert one == two != three
    assert json.loads(one.splitlines()[-1])["executions"] == 1500


@pytest.mark.parametrize(
    "options",
    [
        "",
        "--recipe deephunter",
        "--recipe deephunter --coverage kmnc,tknc --ranges paper --border reflect",
        "--recipe deephunter --coverage lsa,dsa,nlc,sscov",
        "--twin weights16,float16 --coverage gap",
        "--coverage nc --count-coverage run",
    ],
)
def test_a_campaign_in_two_parts_is_the_campaign_in_one(
    options: str, jostle: Run, in_workshop: Path, tmp_path: Path
) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    call = [*QUIET, *options.split()]
    jostle(*call, "--executions", str(60 + 6 * 256), "--out", str(whole))
    jostle(*call, "--executions", str(60 + 3 * 256), "--out", str(parts))
    ended = jostle(*call, "--executions", str(60 + 6 * 256), "--out", str(parts))
    assert "going on after 828 executions" in ended.err
    assert (whole / "journal.jsonl").read_bytes() == (parts / "journal.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("call", "codes"),
    [(QUIET, (Exit.CLEAN, Exit.NOTHING_RAN)), (LOUD, (Exit.FINDINGS, Exit.FINDINGS))],
    ids=["clean", "findings"],
)
def test_a_finished_campaign_executes_nothing_more_and_says_so(
    call: list[str], codes: tuple[Exit, Exit], jostle: Run, in_workshop: Path, tmp_path: Path
) -> None:
    full = [*call, "--executions", "700", "--json", "--out", str(tmp_path)]
    first = jostle(*full)
    before = (tmp_path / "journal.jsonl").read_bytes()
    again = jostle(*full)
    assert (first.code, again.code) == codes
    assert "nothing more ran" in again.err
    assert (tmp_path / "journal.jsonl").read_bytes() == before
    for figure in ("executions", "corpus", "findings", "violating_inputs", "failing_tests_kept", "seconds"):
        assert again.json()[figure] == first.json()[figure]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_saves_the_state(number: signal.Signals, jostle: Run, in_workshop: Path, tmp_path: Path) -> None:
    call = [*LOUD, "--json", "--out", str(tmp_path)]
    running = started([*call, "--budget", "10m"], in_workshop, tmp_path, steps=4)
    running.send_signal(number)
    out, err = running.communicate(timeout=PATIENCE)
    assert running.returncode == Exit.INTERRUPTED
    assert err.splitlines() == [
        "jostle: stopping after the batch under way; once more stops at once",
        "interrupted; the same command goes on from here",
    ]
    told = json.loads(out)
    seconds = json.loads((tmp_path / "status.json").read_text())["seconds"]
    assert told["seconds"] == pytest.approx(seconds, abs=0.001)
    executed = journal(tmp_path)[-1]["executions"]
    assert isinstance(executed, int)
    ended = jostle(*call, "--executions", str(executed + 200))
    assert ended.code == Exit.FINDINGS
    assert ended.json()["executions"] == executed + 200
    assert ended.json()["seconds"] > seconds
    check_whole(tmp_path)


@pytest.mark.slow
def test_a_killed_campaign_goes_on_and_loses_nothing(jostle: Run, in_workshop: Path, tmp_path: Path) -> None:
    call = [*LOUD, "--json", "--out", str(tmp_path)]
    steps = 0
    for _ in range(2):
        running = started([*call, "--budget", "10m"], in_workshop, tmp_path, steps + 3)
        running.kill()
        running.communicate(timeout=PATIENCE)
        lines = (tmp_path / "journal.jsonl").read_bytes().splitlines(keepends=True)
        steps = sum(line.endswith(b"\n") for line in lines)
    executed = journal(tmp_path)[-1]["executions"] if lines[-1].endswith(b"\n") else 0
    assert isinstance(executed, int)
    ended = jostle(*call, "--executions", str(executed + 300))
    assert ended.code == Exit.FINDINGS
    assert ended.json()["executions"] == executed + 300
    assert (tmp_path / "journal.jsonl").read_bytes().splitlines(keepends=True)[:steps] == lines[:steps]
    assert [line["step"] for line in journal(tmp_path)] == list(range(len(journal(tmp_path))))
    check_whole(tmp_path)


def test_what_a_crash_cut_off_is_done_again(jostle: Run, in_workshop: Path, tmp_path: Path) -> None:
    """As if the process had died while it wrote step 4: its findings stand there, its journal line is torn."""
    call = [*LOUD, "--json", "--out", str(tmp_path)]
    jostle(*call, "--executions", str(60 + 4 * 64))
    whole = (tmp_path / "journal.jsonl").read_bytes()
    first_four = b"".join(whole.splitlines(keepends=True)[:4])
    (tmp_path / "journal.jsonl").write_bytes(first_four + b'{"step": 4, "exec')
    half = tmp_path / "findings" / "9999-flip-half"
    half.mkdir()
    (half / "input.npy").write_bytes(b"\x93NUM")
    ended = jostle(*call, "--executions", str(60 + 6 * 64))
    assert ended.json()["executions"] == 60 + 6 * 64
    assert len(journal(tmp_path)) == 7
    assert (tmp_path / "journal.jsonl").read_bytes().startswith(first_four)
    check_whole(tmp_path)


def test_a_crash_while_the_seeds_ran_leaves_no_finding_twice(jostle: Run, in_workshop: Path, tmp_path: Path) -> None:
    call = f"fuzz {ZOO} --seeds jostle.zoo:mnist_sample --oracle flip --seeds-count --executions 1000 --out".split()
    call.append(str(tmp_path))
    jostle(*call)
    assert journal(tmp_path)[0]["findings"]  # seven digits that LeNet-5 misreads
    (tmp_path / "journal.jsonl").write_bytes(b"")
    jostle(*call)
    check_whole(tmp_path)


def test_a_crash_while_the_folder_was_made_does_not_lock_it(jostle: Run, in_workshop: Path, tmp_path: Path) -> None:
    (tmp_path / ".config.json.tmp").write_text('{"mod')
    assert jostle(*QUIET, "--executions", "100", "--out", str(tmp_path)).code == Exit.CLEAN
    check_whole(tmp_path)
