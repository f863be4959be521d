"""`jostle export-tests`: a campaign's tests as arrays, images and a torch dataset, and what is refused."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from running import Ended, in_this_process
from safetensors.torch import load_file
from test_bad_input import check_refused, snapshot

from jostle.cli.terminal import Exit
from jostle.commands.exported_tests import TEST_FORMATS, ExportedTests
from jostle.inputs.seeds import SeedForm, load_seeds
from jostle.storage.failing_tests import read_failing
from making import forget_failing

Run = Callable[..., Ended]
FUZZ = "fuzz jostle.zoo:lenet1 --executions 250 --no-minimise --no-confirm --json"


def fuzzed(out: Path, *arguments: str) -> Path:
    ended = in_this_process(*FUZZ.split(), *arguments, "--out", str(out))
    assert ended.code in (Exit.CLEAN, Exit.FINDINGS), ended.err
    return out


@pytest.fixture(scope="module")
def campaign(workshop: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign whose failing tests are images of eight bits; nobody writes there."""
    call = f"--seeds {workshop / 'few.npz'} --recipe dlfuzz --rounds 1"
    return fuzzed(tmp_path_factory.mktemp("campaign") / "flips", *call.split())


@pytest.fixture(scope="module")
def moved(workshop: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign whose tests are no images of eight bits; nobody writes there."""
    call = f"--seeds {workshop / 'few.npz'} --recipe deephunter --coverage nc --ranges paper"
    return fuzzed(tmp_path_factory.mktemp("campaign") / "moved", *call.split())


def exported(campaign: Path, format: str, out: Path, *more: str) -> Path:
    ended = in_this_process("export-tests", str(campaign), "--as", format, "--out", str(out), *more)
    assert (ended.code, ended.err) == (Exit.CLEAN, ""), ended.err
    assert str(out) in ended.out
    return out


def test_arrays_are_those_that_the_campaign_keeps_and_seeds_of_another(campaign: Path, tmp_path: Path) -> None:
    tests = read_failing(campaign).once_each()
    out = exported(campaign, "npz", tmp_path / "tests.npz")
    with np.load(out, allow_pickle=False) as arrays:
        assert len(tests) == len(arrays["labels"]) > 5
        for name in ("inputs", "labels", "answers", "roots", "steps", "confirmed"):
            assert np.array_equal(arrays[name], getattr(tests, name).numpy()), name
        assert set(arrays["kinds"]) == {"flip"}
    seeds = load_seeds(str(out), SeedForm())
    assert torch.equal(seeds.inputs, tests.inputs) and torch.equal(seeds.labels, tests.labels)


def test_images_read_back_are_the_same_inputs_under_the_same_labels(campaign: Path, tmp_path: Path) -> None:
    tests = read_failing(campaign).once_each()
    out = exported(campaign, "images", tmp_path / "images")
    seeds = load_seeds(str(out), SeedForm())
    order = [int(Path(name).stem) for name in seeds.names]
    assert sorted(order) == list(range(len(tests)))
    torch.testing.assert_close(seeds.inputs, tests.inputs[order], rtol=0, atol=1e-6)
    assert torch.equal(seeds.labels, tests.labels[order])
    header, *rows = (out / "tests.csv").read_text().splitlines()
    assert header.startswith("file,labels,answers,roots") and len(rows) == len(tests)


def test_a_torch_dataset_is_loaded_by_the_script_beside_it(campaign: Path, tmp_path: Path) -> None:
    tests = read_failing(campaign).once_each()
    out = exported(campaign, "torch-dataset", tmp_path / "dataset")
    assert torch.equal(load_file(out / "tests.safetensors")["inputs"], tests.inputs)
    ran = subprocess.run([sys.executable, "dataset.py"], cwd=out, capture_output=True, text=True, check=True)
    assert ran.stdout == f"{len(tests)} tests of shapes [1, 28, 28] []\n"


def test_the_name_of_an_input_runs_nothing_in_the_script() -> None:
    name = "x\nraise SystemExit('ran')\n#"
    tests = ExportedTests({name: torch.rand(2, 3)}, torch.zeros(2).long(), {}, (), None)
    script = TEST_FORMATS["torch-dataset"].contents(tests)["dataset.py"].decode()
    assert "SystemExit" in script and not [line for line in script.splitlines() if line.startswith("raise")]


def test_kept_tests_are_exported_with_what_is_known_of_them(moved: Path, tmp_path: Path) -> None:
    out = exported(moved, "npz", tmp_path / "kept.npz", "--tests", "kept")
    with np.load(out, allow_pickle=False) as arrays:
        assert {*arrays} == {"inputs", "labels", "roots", "made_by_jostle_export_tests"}
        assert arrays["inputs"].shape[1:] == (1, 28, 28) and len(arrays["inputs"]) > 5
    assert len(load_seeds(str(out), SeedForm())) > 5


def test_of_a_folder_that_keeps_no_failing_tests_the_findings_are_exported(
    jostle: Run, campaign: Path, tmp_path: Path
) -> None:
    old = Path(shutil.copytree(campaign, tmp_path / "old"))
    forget_failing(old)
    ended = jostle("export-tests", str(old), "--as", "npz", "--out", str(tmp_path / "tests.npz"))
    assert ended.code == Exit.CLEAN and "its findings" in ended.out
    with np.load(tmp_path / "tests.npz") as arrays:
        assert len(arrays["labels"]) == len(list(old.glob("findings/*")))
        assert (arrays["labels"] != arrays["answers"]).all()


def test_the_campaign_is_left_as_it_was(campaign: Path, tmp_path: Path) -> None:
    before = snapshot(campaign)
    exported(campaign, "images", tmp_path / "images")
    assert snapshot(campaign) == before


@pytest.mark.parametrize(("format", "name"), [("npz", "t.npz"), ("images", "t"), ("torch-dataset", "t")])
def test_an_export_is_replaced_only_if_told_so_and_nothing_else_is(
    format: str, name: str, jostle: Run, campaign: Path, tmp_path: Path
) -> None:
    out = exported(campaign, format, tmp_path / name)
    before = snapshot(tmp_path)
    call = ("export-tests", str(campaign), "--as", format, "--out", str(out))
    check_refused(jostle(*call), "exists and is not overwritten", "--overwrite")
    assert json.loads(jostle(*call, "--overwrite", "--json").out)["tests"] > 5
    assert snapshot(tmp_path).keys() == before.keys()
    if out.is_dir():
        (out / "mine.txt").write_text("precious")
        check_refused(jostle(*call, "--overwrite"), "holds something else", "give another --out")
        assert (out / "mine.txt").read_text() == "precious"
    else:
        np.savez(out, x=np.zeros(3))
        check_refused(jostle(*call, "--overwrite"), "holds something else", "give another --out")
        assert [*np.load(out)] == ["x"]


@pytest.mark.parametrize(
    ("options", "cause", "fix"),
    [
        ("--as images --out images", "between the 256 levels", "use --as npz"),
        ("--as image --out images", "--as 'image' is unknown", "did you mean images?"),
        ("--as npz --out tests.np", "--out tests.np", "ends in .npz"),
        ("--as npz --out gone/tests.npz", "its folder does not exist", "make gone first"),
        ("--as npz --out tests.npz --tests kpet", "--tests 'kpet'", "did you mean kept?"),
        ("--out tests.npz", "Missing option '--as'", "jostle --help"),
    ],
)
def test_a_mistake_gives_one_line_that_names_the_fix_and_writes_nothing(
    options: str, cause: str, fix: str, jostle: Run, moved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    check_refused(jostle("export-tests", str(moved), *options.split()), cause, fix)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_a_campaign_or_without_failing_tests_is_refused(
    jostle: Run, campaign: Path, tmp_path: Path
) -> None:
    call = ("--as", "npz", "--out", str(tmp_path / "tests.npz"))
    check_refused(jostle("export-tests", str(tmp_path / "gone"), *call), "holds no campaign")
    empty = Path(shutil.copytree(campaign, tmp_path / "empty"))
    forget_failing(empty)
    shutil.rmtree(empty / "findings")
    check_refused(jostle("export-tests", str(empty), *call), "has no failing tests", "--tests kept")
