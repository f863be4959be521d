"""Twins made by one word: several at once, kept with the campaign, and what is said of those that cannot be made."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from running import ENVIRONMENT, JOSTLE, PATIENCE, Ended, in_this_process

from jostle.cli.terminal import Exit
from jostle.zoo import lenet1, mnist_sample
from model_files import write_onnx, write_openvino
from soaking import only_in_soak, times

Run = Callable[..., Ended]
NETS = """
from torch import nn
from jostle.zoo import lenet5

class Picky(nn.Module):
    def forward(self, x):
        raise ValueError("not like this")

class Wider(nn.Module):
    def forward(self, x):
        return x.flatten(1)
"""
CALL = ["fuzz", "jostle.zoo:lenet5", "--oracle", "agree", "--agree", "0.02"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("twins")
    (folder / "nets.py").write_text(NETS)
    images, labels = mnist_sample()[:2]
    np.savez(folder / "seeds.npz", x=images[:40].numpy(), y=labels[:40].numpy())
    return folder


@pytest.fixture(scope="module")
def campaign(place: Path) -> Path:
    """With twins that were made of torch by way of ONNX."""
    out = place / "campaign"
    call = [*CALL, "--seeds", str(place / "seeds.npz"), "--twin", "int8-static,onnx,openvino,weights16"]
    ended = in_this_process(*call, "--executions", "300", "--out", str(out))
    assert ended.code == Exit.FINDINGS, ended.err
    return out


@pytest.fixture
def copied(campaign: Path, tmp_path: Path) -> Path:
    """A copy of the campaign that a test may change."""
    return Path(shutil.copytree(campaign, tmp_path / "campaign"))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def findings(out: Path) -> list[str]:
    return sorted(path.name.split("-", 1)[1] for path in (out / "findings").iterdir())


def test_findings_name_their_twin_and_what_was_made_is_kept(campaign: Path) -> None:
    (found,) = findings(campaign)
    assert found.startswith("agree-int8-static")  # the others differ by less
    assert set(contents(campaign / "twins")) == {"int8-static.onnx", "onnx.onnx", "openvino.bin", "openvino.xml"}


def test_findings_are_shown_again_by_the_twins_that_were_kept(
    copied: Path, place: Path, jostle: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (place / "seeds.npz").rename(place / "away.npz")
    try:
        ended = jostle("replay", str(copied))
        assert ended.code == Exit.FINDINGS and "shown again: agree int8-static:" in ended.out, ended
        shutil.copyfile(copied / "twins/onnx.onnx", copied / "twins/int8-static.onnx")
        assert "not shown again" in jostle("replay", str(copied)).out
    finally:
        (place / "away.npz").rename(place / "seeds.npz")


def test_a_campaign_goes_on_with_the_twins_that_it_made(copied: Path, place: Path, jostle: Run) -> None:
    twins, journal = contents(copied / "twins"), (copied / "journal.jsonl").read_bytes()
    call = [*CALL, "--seeds", str(place / "seeds.npz"), "--twin", "int8-static,onnx,openvino,weights16"]
    ended = jostle(*call, "--executions", "600", "--out", str(copied), "--json")
    assert ended.code == Exit.FINDINGS and ended.json()["executions"] == 600, ended.err
    assert contents(copied / "twins") == twins
    assert (copied / "journal.jsonl").read_bytes().startswith(journal) and len(journal)


def test_a_twin_that_cannot_be_made_is_left_out_with_why(place: Path, jostle: Run, tmp_path: Path) -> None:
    call = [*CALL, "--seeds", str(place / "seeds.npz"), "--executions", "100", "--out", str(tmp_path / "out")]
    ended = jostle(*call, "--twin", "litert,weights16")
    assert ended.code == Exit.CLEAN, ended.err
    assert "left out: --twin litert cannot be made of a torch module: " in ended.err
    none = jostle(*call, "--twin", "litert")
    assert none.code == Exit.USAGE and none.err.startswith("jostle: --twin litert cannot be made")
    assert len(none.err.splitlines()) == 1


@pytest.mark.parametrize("twin", ["onnx", "int8-static", "openvino"])
def test_a_missing_package_is_named_with_its_extra(
    twin: str, place: Path, jostle: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    call = [*CALL, "--seeds", str(place / "seeds.npz"), "--twin", twin, "--out", str(tmp_path / "out")]
    ended = jostle(*call)
    assert ended.code == Exit.USAGE and "pip install 'jostle[onnx]'" in ended.err, ended.err
    assert len(ended.err.splitlines()) == 1 and not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("twin", "said"),
    [
        ("nets.py:Picky", "jostle: --twin nets.py:Picky fails on a seed that the model accepts (ValueError in "),
        ("nets.py:Wider", "jostle: --twin nets.py:Wider gives outputs of shape [784], the model [10]: "),
        ("nets.py:Picky,weights16", "jostle: --twin nets.py:Picky fails on a seed"),
        ("int8-static,nets.py:Wider", "jostle: --twin nets.py:Wider gives outputs of shape [784]"),
    ],
)
def test_a_twin_that_does_not_fit_is_named(
    twin: str, said: str, place: Path, jostle: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    ended = jostle(*CALL, "--seeds", "seeds.npz", "--twin", twin, "--out", str(tmp_path / "out"))
    assert ended.code == Exit.USAGE and ended.err.startswith(said), ended.err
    assert len(ended.err.splitlines()) == 1 and not (tmp_path / "out").exists()


@pytest.fixture(scope="module")
def files(place: Path) -> Path:
    sample = mnist_sample()[0][:2]
    write_openvino(write_onnx(lenet1(), sample, place / "net.onnx"), place / "net.xml")
    return place


def test_an_onnx_file_and_its_twins_run_in_a_process_of_their_own(files: Path, jostle: Run, tmp_path: Path) -> None:
    twins = ["int8", "int8-static", "float16", "weights16", "openvino"]
    call = ["fuzz", str(files / "net.onnx"), "--seeds", str(files / "seeds.npz"), "--twin", ",".join(twins)]
    ended = jostle(*call, "--oracle", "agree", "--agree", "5", "--executions", "200", "--out", str(tmp_path), "--json")
    assert ended.code == Exit.CLEAN, ended.err
    assert set(ended.json()["inputs_per_second_by_variant"]) == {"model", *twins}
    assert {path.stem for path in (tmp_path / "twins").iterdir()} == set(twins)


@pytest.mark.parametrize("suffixes", [(".onnx",), (".xml", ".bin")])
def test_an_exact_copy_never_differs(suffixes: tuple[str, ...], files: Path, jostle: Run, tmp_path: Path) -> None:
    for suffix in suffixes:
        shutil.copyfile(files / f"net{suffix}", tmp_path / f"copy{suffix}")
    model, copy = files / f"net{suffixes[0]}", tmp_path / f"copy{suffixes[0]}"
    call = ["fuzz", str(model), "--seeds", str(files / "seeds.npz"), "--twin", str(copy), "--oracle", "agree"]
    ended = jostle(*call, "--agree", "1e-6", "--executions", "2000", "--out", str(tmp_path / "out"))
    assert ended.code == Exit.CLEAN, ended


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("isolate", ["--isolate", "--no-isolate"][: times(1, 2)])
def test_a_compiled_twin_runs_here_and_in_a_process_of_its_own(
    isolate: str, place: Path, jostle: Run, tmp_path: Path
) -> None:
    call = ["fuzz", "jostle.zoo:lenet1", "--seeds", str(place / "seeds.npz"), "--oracle", "agree", "--agree", "1e-3"]
    ended = jostle(*call, "--twin", "compile", isolate, "--executions", "200", "--out", str(tmp_path / "out"), "--json")
    assert ended.code == Exit.CLEAN, ended.err
    assert ended.err == ""


@only_in_soak
@pytest.mark.parametrize("isolate", ["--no-isolate", "--isolate"][: times(1, 2)])
def test_a_run_that_is_killed_while_it_makes_twins_leaves_nothing_broken(
    isolate: str, place: Path, tmp_path: Path
) -> None:
    temporary, out = tmp_path / "tmp", tmp_path / "out"
    temporary.mkdir()
    call = [*CALL, "--seeds", str(place / "seeds.npz"), "--twin", "onnx,int8-static", isolate, "--executions", "100"]
    environment = {**ENVIRONMENT, "TMPDIR": str(temporary)}
    command = [JOSTLE, *call, "--out", str(out)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        while not list(temporary.glob("jostle-*/tmp*")):
            assert run.poll() is None, "it ended before it made a twin"
            time.sleep(0.01)
        os.kill(run.pid, signal.SIGKILL)
    assert not out.exists()
    again = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    assert again.returncode == Exit.FINDINGS, again.stderr
    assert set(contents(out / "twins")) == {"int8-static.onnx", "onnx.onnx"}
    assert not list(temporary.glob("jostle-*"))
