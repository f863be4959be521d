"""`demo`, `list`, `doctor`, the help, and a terminal instead of a pipe."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from running import ENVIRONMENT, JOSTLE, PATIENCE, Ended

from jostle.catalogue import CRITERIA, MUTATORS, ORACLES, SCHEDULERS
from jostle.cli.terminal import Exit
from jostle.mutators.neuron_choice import STRATEGIES
from jostle.mutators.perturbations import PERTURBATIONS
from jostle.mutators.transforms import TRANSFORMS

Run = Callable[..., Ended]
KINDS = (
    ("mutator", MUTATORS),
    ("transform", TRANSFORMS),
    ("strategy", STRATEGIES),
    ("perturbation", PERTURBATIONS),
    ("coverage", CRITERIA),
    ("oracle", ORACLES),
    ("scheduler", SCHEDULERS),
)
SHORT = ["fuzz", "jostle.zoo:lenet5", "--seeds", "ok.npy", "--executions", "2000"]


def test_list_names_every_part_with_one_line(jostle: Run) -> None:
    told = jostle("list", "--json").json()
    assert told.keys() == {kind for kind, _ in KINDS} | {
        "model",
        "recipe",
        "twin",
        "backend",
        "edit",
        "choice of edits",
        "operator",
    }
    assert told["recipe"].keys() == {"tensorfuzz", "deephunter", "dlfuzz", "deepxplore", "random"}
    for kind, parts in KINDS:
        assert parts.keys() <= told[kind].keys()
    assert all(line.strip() and "\n" not in line for parts in told.values() for line in parts.values())
    assert "x[start], x[start + step]" in told["operator"]["slice"]
    shown = jostle("list")
    assert shown.code == Exit.CLEAN and "x[start]" in shown.out
    assert all(name in shown.out for parts in told.values() for name in parts)


def test_doctor_tells_versions_or_what_installs_them(jostle: Run) -> None:
    told = jostle("doctor", "--json").json()
    assert {"python", "jostle", "torch", "onnxruntime", "tensorflow-cpu", "jax", "pytensor"} <= told.keys()
    assert told["torch"][0].isdigit()
    assert told.pop("sandbox")
    assert all(value[0].isdigit() or "pip install" in value for value in told.values())
    shown = jostle("doctor")
    assert shown.code == Exit.CLEAN
    assert all(name in shown.out and value in shown.out for name, value in told.items())


COMMANDS = (
    "fuzz",
    "run",
    "init",
    "frameworks",
    "status",
    "cmin",
    "coverage",
    "profile",
    "evaluate",
    "retrain",
    "compare",
    "export-tests",
    "demo",
    "list",
    "doctor",
)


@pytest.mark.parametrize("arguments", ["--help", "-h", *(f"{command} --help" for command in COMMANDS)])
def test_help_is_on_stdout(arguments: str, jostle: Run) -> None:
    ended = jostle(*arguments.split())
    assert (ended.code, ended.err) == (Exit.CLEAN, "")
    assert "Usage: " in ended.out


def test_help_names_the_files_that_hold_settings(jostle: Run) -> None:
    words = jostle("fuzz", "--help").out.split()
    assert "jostle.toml" in words and "pyproject.toml." in words


@pytest.mark.slow
def test_the_demo_ends_with_a_summary_and_replaces_only_an_earlier_demo(
    jostle: Run, process: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = process("demo", "--budget", "12s", cwd=tmp_path)  # in which a busy machine finds something too
    out = tmp_path / "jostle-runs" / "demo"
    assert ended.code == Exit.CLEAN, ended.err
    assert "500 seeds, accuracy 98.6%" in ended.err
    assert "flip" in ended.out and "report: jostle-runs/demo/report.html" in ended.out
    (out / "of the first.txt").touch()
    monkeypatch.chdir(tmp_path)
    again = jostle("demo", "--budget", "1s", "--json")
    assert again.code == Exit.CLEAN
    assert json.loads((out / "config.json").read_text())["budget"] == 1
    assert not (out / "of the first.txt").exists()
    config = json.loads((out / "config.json").read_text())
    (out / "config.json").write_text(json.dumps({**config, "seed": 5}))
    mine = (out / "journal.jsonl").read_bytes()
    assert jostle("demo", "--budget", "1s").code == Exit.USAGE
    assert (out / "journal.jsonl").read_bytes() == mine


def on_a_terminal(call: list[str], cwd: Path, out_too: bool) -> tuple[int, str, str]:
    """Exit code, what a terminal showed, and what stdout held if it was a pipe."""
    ours, theirs = pty.openpty()
    running = subprocess.Popen(
        [JOSTLE, *call],
        cwd=cwd,
        env={**ENVIRONMENT, "TERM": "xterm-256color"},
        stderr=theirs,
        stdout=theirs if out_too else subprocess.PIPE,
        text=True,
    )
    os.close(theirs)
    shown = b""
    while chunk := _read(ours):
        shown += chunk
    os.close(ours)
    out, _ = running.communicate(timeout=PATIENCE)
    return running.returncode, shown.decode(), out or ""


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # how Linux says that the other side is closed
        return b""


@pytest.mark.slow
def test_a_terminal_shows_figures_that_move_and_then_the_summary(in_workshop: Path, tmp_path: Path) -> None:
    code, shown, _ = on_a_terminal([*SHORT, "--out", str(tmp_path)], in_workshop, out_too=True)
    assert code == Exit.CLEAN
    assert shown.count("time left") > 1
    moving, _, summary = shown.rpartition("time left")
    for word in ("executions", "rate", "coverage", "corpus", "findings"):
        assert word in moving
    assert "2,000 in" in summary and str(tmp_path) in summary
    assert shown.rfind("\x1b[?25h") > shown.rfind("\x1b[?25l")  # the cursor is back
    assert "Traceback" not in shown


@pytest.mark.slow
def test_a_terminal_shows_nothing_when_a_program_asked_for_json(in_workshop: Path, tmp_path: Path) -> None:
    code, shown, out = on_a_terminal([*SHORT, "--json", "--out", str(tmp_path)], in_workshop, out_too=False)
    assert (code, shown) == (Exit.CLEAN, "")
    assert json.loads(out)["executions"] == 2000


@pytest.mark.parametrize("arguments", [["profile", "--help"], ["list"]])
def test_nothing_is_told_of_a_pipe_that_nobody_reads(arguments: list[str]) -> None:
    unread, pipe = os.pipe()
    os.close(unread)
    ended = subprocess.run(
        [JOSTLE, *arguments], env=ENVIRONMENT, stdout=pipe, stderr=subprocess.PIPE, check=False, timeout=PATIENCE
    )
    os.close(pipe)
    assert (ended.returncode, ended.stderr) == (Exit.OUR_ERROR, b"")
