"""`jostle status` and `jostle cmin` on running, finished and wrong folders."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from running import Ended, in_this_process

from jostle.cli.terminal import Exit
from jostle.storage.archive import open_archive
from jostle.storage.findings import FLAKY

Run = Callable[..., Ended]
BASE = ["fuzz", "jostle.zoo:lenet5", "--executions", "700", "--batch", "64"]
CHOICES = {
    "nearest": "--seeds ok.npz --oracle nan",
    "several": "--seeds ok.npy --coverage nearest,magnitude,nc",
    "neurons": "--seeds ok.npz --recipe deephunter --ranges paper --coverage kmnc,tknc --sections 100",
    "list": "--seeds ok.npz --scheduler list --coverage nc",
    "gradient": "--seeds ok.npz --recipe dlfuzz --no-minimise",
}


@pytest.fixture(scope="module")
def campaigns(workshop: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("campaigns")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(workshop)
        for name, options in CHOICES.items():
            assert in_this_process(*BASE, *options.split(), "--out", str(folder / name)).code in (0, 1)
    return folder


def files(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in sorted(folder.rglob("*")) if path.is_file()
    }


@pytest.mark.parametrize("name", list(CHOICES))
def test_status_tells_what_the_summary_told_and_touches_nothing(name: str, jostle: Run, campaigns: Path) -> None:
    out = campaigns / name
    before = files(out)
    told = jostle("status", str(out), "--json").json()
    summary = json.loads((out / "status.json").read_text())
    assert told["statistics"] == summary and told["findings"] == summary["findings"]
    assert (told["executions"], told["steps"]) == (summary["executions"], summary["steps"])
    assert not told["at_work"] and told["quarantined"] == 0
    shown = jostle("status", str(out))
    assert shown.code == Exit.CLEAN and "no process is at work" in shown.out and "last written" in shown.out
    assert files(out) == before


def test_status_sees_a_process_at_work_without_disturbing_it(jostle: Run, campaigns: Path, tmp_path: Path) -> None:
    with open_archive(tmp_path / "run", {"model": "m"}):
        told = jostle("status", str(tmp_path / "run"), "--json").json()
        assert told["at_work"] and told["executions"] == 0 and told["newest"] is None
        assert "not known yet" in jostle("status", str(tmp_path / "run")).out
    assert not jostle("status", str(tmp_path / "run"), "--json").json()["at_work"]


@pytest.mark.parametrize("folder", ["gone", "foreign", "other", "note.txt"])
@pytest.mark.parametrize("command", ["status", "cmin"])
def test_a_folder_without_a_campaign_is_refused_in_one_line(
    command: str, folder: str, jostle: Run, in_workshop: Path
) -> None:
    ended = jostle(command, folder)
    (line,) = ended.err.splitlines()
    assert ended.code == Exit.USAGE and "holds no campaign" in line


@pytest.mark.parametrize("name", list(CHOICES))
def test_a_reduced_corpus_covers_the_same_and_serves_as_seeds(
    name: str, jostle: Run, in_workshop: Path, campaigns: Path, tmp_path: Path
) -> None:
    out = tmp_path / "smaller.npz"
    told = jostle("cmin", str(campaigns / name), "--out", str(out), "--json").json()
    assert 0 < told["chosen"] < told["entries"] and told["lost"] == 0
    for criterion, figures in told["before"].items():
        if criterion not in ("nearest", "magnitude"):
            assert told["after"][criterion] == figures
    with np.load(out) as arrays:
        assert arrays["x"].shape == (told["chosen"], 1, 28, 28)
        assert ("y" in arrays) == ("ok.npz" in CHOICES[name])
    again = jostle(
        "fuzz", "jostle.zoo:lenet5", "--seeds", str(out), "--executions", "2000", "--out", str(tmp_path / "c")
    )
    assert again.code in (Exit.CLEAN, Exit.FINDINGS), again.err


def test_cmin_overwrites_only_what_it_wrote(jostle: Run, in_workshop: Path, campaigns: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(campaigns / "nearest", tmp_path / "run"))
    assert jostle("cmin", str(folder)).code == Exit.CLEAN
    first = (folder / "reduced.npz").read_bytes()
    assert jostle("cmin", str(folder)).code == Exit.CLEAN and (folder / "reduced.npz").read_bytes() == first
    np.savez(tmp_path / "mine.npz", x=np.zeros(3))
    for out, cause in (
        ("mine.npz", "not ours to overwrite"),
        ("a.txt", "ends in .npz"),
        ("no/a.npz", "does not exist"),
    ):
        ended = jostle("cmin", str(folder), "--out", str(tmp_path / out))
        assert ended.code == Exit.USAGE and cause in ended.err
    assert np.load(tmp_path / "mine.npz").files == ["x"]


def test_cmin_refuses_a_damaged_corpus_and_an_unguided_campaign(
    jostle: Run, in_workshop: Path, campaigns: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(campaigns / "nearest", tmp_path / "run"))
    (folder / "corpus" / "00000000.safetensors").write_bytes(b"short")
    ended = jostle("cmin", str(folder))
    assert ended.code == Exit.USAGE and "is damaged at step 0" in ended.err
    jostle(*BASE, "--seeds", "ok.npz", "--recipe", "random", "--out", str(tmp_path / "random"))
    ended = jostle("cmin", str(tmp_path / "random"))
    assert ended.code == Exit.USAGE and "unguided" in ended.err


def test_cmin_refuses_a_corpus_whose_inputs_cover_in_pairs(jostle: Run, in_workshop: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "pairs")
    jostle(*BASE, "--seeds", "ok.npz", "--recipe", "deephunter", "--coverage", "sscov", "--out", out)
    ended = jostle("cmin", out)
    assert ended.code == Exit.USAGE and "sscov counts pairs of inputs" in ended.err


def test_a_share_of_what_a_corpus_covers_takes_far_fewer_inputs(jostle: Run, in_workshop: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "kmnc")
    jostle(*BASE, "--seeds", "ok.npz", "--recipe", "deephunter", "--executions", "1500", "--out", out)
    chosen = {}
    for keep in ("100%", "95%", "0.5"):
        told = jostle("cmin", out, "--keep", keep, "--json").json()
        chosen[keep] = told["chosen"]
        share = told["after"]["kmnc"]["covered"] / told["before"]["kmnc"]["covered"]
        assert share >= told["keep"] - 1e-3
    assert chosen["0.5"] < chosen["100%"] / 3 < chosen["95%"] < 0.9 * chosen["100%"]
    assert "cover 95% of the units" in jostle("cmin", out, "--keep", "95%").out


@pytest.mark.parametrize("keep", ["0%", "101%", "most", "nan"])
def test_a_share_that_is_none_is_refused_in_a_line(keep: str, jostle: Run, in_workshop: Path, campaigns: Path) -> None:
    ended = jostle("cmin", str(campaigns / "nearest"), "--keep", keep)
    assert ended.code == Exit.USAGE and ended.err.startswith(f"jostle: --keep {keep}: give a share")


def test_a_share_of_what_nobody_counts_is_refused(jostle: Run, in_workshop: Path, campaigns: Path) -> None:
    ended = jostle("cmin", str(campaigns / "nearest"), "--keep", "95%")
    assert ended.code == Exit.USAGE and "--keep is for neuron criteria" in ended.err


COMPANY = """
import torch
from jostle.zoo import lenet5

class Shy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.digits = lenet5()

    def forward(self, x):
        lit = (x[:, 0, 0, 0] > 0.1) & (len(x) > 1)
        return torch.where(lit[:, None], torch.nan, self.digits(x))
"""


def test_a_bug_shown_only_in_company_is_flaky_and_no_finding(jostle: Run, in_workshop: Path, tmp_path: Path) -> None:
    (tmp_path / "company.py").write_text(COMPANY)
    out = tmp_path / "out"
    call = ["fuzz", f"{tmp_path / 'company.py'}:Shy", "--seeds", "ok.npz", "--oracle", "nan", "--executions", "700"]
    ended = jostle(*call, "--out", str(out))
    assert (
        ended.code == Exit.CLEAN and "flaky" in ended.out and "1 nan: in a batch, but not when run alone" in ended.out
    )
    (place,) = (out / FLAKY).iterdir()
    assert json.loads((place / "finding.json").read_text())["shown again alone"] is False
    assert {"finding.json", "input.npy", "reference.npy", "picture.png"} <= {path.name for path in place.iterdir()}
    assert not list((out / "findings").iterdir())
    told = jostle("status", str(out), "--json").json()
    assert told["flaky"] == {"nan": 1} and told["findings"] == {}
