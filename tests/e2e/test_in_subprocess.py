"""Commands whose model comes from a file run in a process of their own; replaying a finding does so always."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import safetensors.torch
from running import Ended

from jostle.cli.terminal import Exit
from jostle.zoo import lenet1

Run = Callable[..., Ended]
DATA = "jostle.zoo:mnist_sample"
FLIPS = ["--oracle", "flip", "--radius", "1", "--sigma", "0.5"]


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    path = tmp_path / "weights.safetensors"
    safetensors.torch.save_file(lenet1().state_dict(), path)
    return path


def source(folder: Path, code: str) -> str:
    (folder / "net.py").write_text(f"import os\nfrom jostle.zoo import lenet1\n\n{code}\n")
    return f"{folder / 'net.py'}:build"


def test_what_a_command_prints_apart_is_what_it_prints(jostle: Run, weights: Path) -> None:
    call = ["coverage", "jostle.zoo:lenet1", DATA, "--criteria", "nc", "--json"]
    here, apart = jostle(*call), jostle(*call, "--weights", str(weights))
    assert (apart.code, apart.out) == (Exit.CLEAN, here.out) and "nc" in here.json()


@pytest.mark.parametrize("command", ["coverage", "profile"])
def test_a_model_that_ends_the_process_of_a_command_is_refused_in_one_line(
    command: str, jostle: Run, weights: Path, tmp_path: Path
) -> None:
    build = source(tmp_path, "def build():\n    os.abort()")
    ended = jostle(command, build, DATA, "--weights", str(weights))
    assert ended.code == Exit.USAGE and ended.out == ""
    assert ended.err == ("jostle: the model ended the process that ran it (SIGABRT): check where the file comes from\n")


def test_what_is_refused_apart_is_refused_in_the_same_line(jostle: Run, tmp_path: Path) -> None:
    (tmp_path / "w.safetensors").write_bytes(b"no")
    ended = jostle("coverage", "jostle.zoo:lenet1", DATA, "--weights", str(tmp_path / "w.safetensors"))
    assert (
        ended.code == Exit.USAGE and len(ended.err.splitlines()) == 1 and "w.safetensors cannot be loaded" in ended.err
    )


@pytest.mark.slow
def test_a_finding_is_replayed_and_a_mended_model_is_seen_to_be_mended(jostle: Run, tmp_path: Path) -> None:
    build, out = source(tmp_path, "def build():\n    return lenet1()"), tmp_path / "out"
    jostle("fuzz", build, "--seeds", DATA, *FLIPS, "--executions", "2000", "--out", str(out))
    finding = sorted((out / "findings").iterdir())[0]
    told = json.loads((finding / "finding.json").read_text())
    again = jostle("replay", str(finding), "--json")
    (shown,) = again.json()["findings"]
    assert again.code == Exit.FINDINGS and shown["recorded"] == told["fingerprint"]
    assert shown["status"] == "shown again" and not shown["changed"]
    right = f"lambda x: torch.eye(10)[torch.full((len(x),), {told['details']['label']})]"
    source(tmp_path, f"import torch\n\ndef build():\n    return {right}")
    mended = jostle("replay", str(finding), "--model", build)
    assert mended.code == Exit.CLEAN
    assert mended.out.splitlines()[0].strip() == f"not shown again: {told['fingerprint']}"
    assert "have changed since it was found" in mended.out


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (["replay", "nowhere"], "give a campaign's folder, with a config.json in it"),
        (["replay", "."], "holds no finding"),
        (["fuzz", "jostle.zoo:lenet1", "--seeds", DATA, "--timeout", "5s"], "--timeout needs --isolate"),
        (["fuzz", "jostle.zoo:lenet1", "--seeds", DATA, "--rss-limit", "1G"], "--rss-limit needs --isolate"),
        (["fuzz", "jostle.zoo:lenet1", "--seeds", DATA, "--isolate", "--timeout", "0"], "--timeout 0: give a time"),
        (
            ["fuzz", "jostle.zoo:lenet1", "--seeds", DATA, "--isolate", "--rss-limit", "big"],
            "--rss-limit big: give a size",
        ),
    ],
)
def test_wrong_usage_is_one_line(call: list[str], words: str, jostle: Run, in_workshop: Path) -> None:
    ended = jostle(*call)
    assert ended.code == Exit.USAGE and words in ended.err and len(ended.err.splitlines()) == 1
