"""`jostle run` runs what jostle.toml names, and `jostle init` writes such a file."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from running import Ended

from jostle.cli.terminal import Exit
from jostle.zoo import lenet1
from model_files import write_onnx
from soaking import only_in_soak

Run = Callable[..., Ended]
ZOO = "jostle.zoo:lenet1"
EXAMPLES = Path(__file__).parents[2] / "examples"
TEXTS = EXAMPLES / "text_classifier.py"
QUICK = ("--executions", "100", "--no-confirm")

OF_BYTES = """
from jostle.zoo import lenet1
net = lenet1()
def build():
    return lambda images: net(images / 255)
"""
NORMALISED = """
import torch
from jostle.zoo import lenet1
class Normalised(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = lenet1()
    def forward(self, images):
        scores = self.net(images * 0.3081 + 0.1307)
        return torch.where(images.amin((1, 2, 3))[:, None] < -0.1, scores, 0.0)  # nothing is darker than the mean
"""


@pytest.fixture
def here(tmp_path: Path, workshop: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of one's own, with links to what is fuzzed."""
    monkeypatch.chdir(tmp_path)
    for name in ("digits", "models.py", "beside.py", "ok.npz"):
        (tmp_path / name).symlink_to(workshop / name)
    return tmp_path


def configured(here: Path, *tables: str, model: str = ZOO) -> None:
    head = f'model = "{model}"\nseeds = "ok.npz"\nexecutions = 100\nconfirm = false\n'
    (here / "jostle.toml").write_text(head + "\n".join(tables) + "\n")


def refused(ended: Ended, *told: str) -> None:
    assert ended.code == Exit.USAGE, ended.err
    assert not ended.out and len(ended.err.splitlines()) == 1
    assert all(words in ended.err for words in told), ended.err


def test_campaigns_run_one_after_another_each_in_its_folder(jostle: Run, here: Path) -> None:
    configured(here, "[campaign.few]\nexecutions = 80", "[campaign.many]\nseed = 3")
    ended = jostle("run", "many", "few", "--batch", "16", "--json")
    assert ended.code == Exit.CLEAN, ended.err
    many, few = map(json.loads, ended.out.splitlines())
    assert (many["executions"], few["executions"]) == (100, 80)
    for name, seed in (("many", 3), ("few", 0)):
        config = json.loads((here / "jostle-runs" / name / "config.json").read_text())
        assert (config["seed"], config["batch"]) == (seed, 16)


def test_the_exit_code_is_the_worst_and_one_that_is_refused_stops_no_other(jostle: Run, here: Path) -> None:
    how = 'mutator = "noise"\nsigma = 0.5\nradius = 1.0\nexecutions = 600'
    found = f'[campaign.found]\nmodel = "models.py:Overflowing"\n{how}'
    configured(here, found, "[campaign.clean]\nexecutions = 80", '[campaign.wrong]\nmodel = "nothing.onnx"')
    assert jostle("run", "found", "clean").code == Exit.FINDINGS
    ended = jostle("run", "--all")
    assert ended.code == Exit.USAGE
    assert "campaign found (1 of 3)" in ended.err and "campaign clean (2 of 3)" in ended.err
    assert "jostle: campaign wrong: model nothing.onnx does not exist" in ended.err and "Traceback" not in ended.err


def test_without_a_name_they_are_listed(jostle: Run, here: Path) -> None:
    configured(here, '[campaign.quick]\nbudget = "20s"', '[campaign.nightly]\ntwin = ["int8", "onnx"]\nout = "kept"')
    ended = jostle("run")
    assert ended.code == Exit.CLEAN
    quick, nightly = ended.out.splitlines()
    assert quick.split() == ["quick", "budget", "20s", str(Path("jostle-runs") / "quick")]
    assert "twin int8,onnx" in nightly and nightly.split()[-1] == "kept"
    assert jostle("run", "--json").json()["nightly"] == {"twin": ["int8", "onnx"], "out": "kept"}
    assert not (here / "kept").exists()


@pytest.mark.parametrize(
    ("tables", "arguments", "told"),
    [
        (["[campaign.nightly]"], "nigthly", "did you mean nightly"),
        (["[campaign.a]"], "a a", "named twice"),
        ([], "", "write [campaign.NAME] into jostle.toml"),
        ([], "nightly", "write [campaign.nightly] into jostle.toml"),
        (["[campaign.a]"], "a --all", "leave out the names, or --all"),
        (["[campaign.a]", "[campaign.b]"], "a b --out here", "--out here is the folder of one campaign"),
        (["[campaign]\na = 1"], "a", "write [campaign.a]"),
        (["[campaign.a]\nbudgt = 1"], "a", "did you mean 'budget'"),
        (["[campaign.a]\nbudget = 'soon'"], "", "campaign a: --budget soon: give a time"),
        (["[campaign.a]"], "a --budget 0s", "--budget 0s: give a time"),
    ],
)
def test_bad_input_of_run_is_one_line(tables: list[str], arguments: str, told: str, jostle: Run, here: Path) -> None:
    configured(here, *tables)
    refused(jostle("run", *arguments.split()), told)
    assert not (here / "jostle-runs").exists()


def test_what_init_writes_runs_at_once(jostle: Run, here: Path) -> None:
    ended = jostle("init", ZOO, "digits")
    assert ended.code == Exit.CLEAN, ended.err
    assert "start with: jostle run quick" in ended.out
    text = (here / "jostle.toml").read_text()
    written = tomllib.loads(text)
    assert (written["model"], written["seeds"], written["range"]) == (ZOO, "digits", [0, 1])
    assert written["campaign"] == {
        "quick": {"budget": "60s"},
        "nightly": {"budget": "1h", "recipe": "deephunter", "twin": ["int8"]},
    }
    assert "30 seeds of 1×28×28, 30 with a label; accuracy 1" in text and "# mean = [0.5]" in text
    ran = jostle("run", "quick", *QUICK, "--json")
    assert ran.code in (Exit.CLEAN, Exit.FINDINGS), ran.err
    assert ran.json()["executions"] == 100 and ran.json()["out"] == str(Path("jostle-runs") / "quick")


def test_init_reads_the_range_off_arrays(jostle: Run, here: Path) -> None:
    digits = np.load(here / "ok.npz")
    np.savez(here / "bytes.npz", x=(digits["x"] * 255).round(), y=digits["y"])
    (here / "of_bytes.py").write_text(OF_BYTES)
    assert jostle("init", "of_bytes.py:build", "bytes.npz").code == Exit.CLEAN
    assert tomllib.loads((here / "jostle.toml").read_text())["range"] == [0, 255]


def test_init_reads_normalisation_off_labels(jostle: Run, here: Path) -> None:
    (here / "normalised.py").write_text(NORMALISED)
    assert jostle("init", "normalised.py:Normalised", "ok.npz").code == Exit.CLEAN
    text = (here / "jostle.toml").read_text()
    written = tomllib.loads(text)
    assert (written["mean"], written["std"], written["range"]) == ([0.1307], [0.3081], [0, 1])
    assert "told by the labels: 0,1 is refused, 0,1 with mean and std gives 100.0%" in text


def test_init_leaves_open_what_nothing_tells(jostle: Run, here: Path) -> None:
    (here / "rows.py").write_text("def build():\n    return lambda rows: rows.sum(1, keepdim=True)\n")
    np.save(here / "rows.npy", np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32))
    ended = jostle("init", "rows.py:build", "rows.npy")
    assert ended.code == Exit.CLEAN, ended.err
    text = (here / "jostle.toml").read_text()
    written = tomllib.loads(text)
    assert "range" not in written and "recipe" not in written["campaign"]["nightly"]
    assert "without labels" in text
    assert jostle("run", "quick", *QUICK).code in (Exit.CLEAN, Exit.FINDINGS)


@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        (f"loans.py:approval {EXAMPLES}/loans.csv", {}),
        (f"text_classifier.py:model {TEXTS}:reviews --length 12 --tokenizer {TEXTS}:words", {"length": 12}),
        (f"audio.py:model {EXAMPLES}/audio.py:seeds --rate 8000", {"rate": 8000}),
        (f"tasks.py:segmenter {EXAMPLES}/tasks.py:discs", {"range": [0, 1]}),
    ],
    ids=["table", "texts", "sounds", "masks"],
)
def test_both_campaigns_run_whatever_the_inputs_are(
    arguments: str, written: dict[str, object], jostle: Run, here: Path
) -> None:
    ended = jostle("init", *f"{EXAMPLES}/{arguments}".split())
    assert ended.code == Exit.CLEAN, ended.err
    found = tomllib.loads((here / "jostle.toml").read_text())
    assert written.items() <= found.items() and "recipe" not in found["campaign"]["nightly"]
    ran = jostle("run", "quick", "nightly", *QUICK)
    assert ran.code in (Exit.CLEAN, Exit.FINDINGS) and "jostle: " not in ran.err, ran.err


def test_init_replaces_nothing_unless_it_is_told_to(jostle: Run, here: Path) -> None:
    (here / "jostle.toml").write_text("# mine\n")
    refused(jostle("init", ZOO, "digits"), "jostle.toml is there already", "--force")
    assert (here / "jostle.toml").read_text() == "# mine\n"
    assert jostle("init", ZOO, "digits", "--force").code == Exit.CLEAN
    assert "campaign.quick" in (here / "jostle.toml").read_text()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (f"{ZOO} nowhere", "seeds nowhere do not exist"),
        ("models.py:nothing digits", "nothing"),
        ("models.py:narrow digits", "the model fails on seeds of shape"),
        ("models.py:chance digits", "about chance: check --range"),
        (ZOO, "SEEDS"),
    ],
)
def test_bad_input_of_init_is_one_line_and_writes_nothing(arguments: str, told: str, jostle: Run, here: Path) -> None:
    refused(jostle("init", *arguments.split()), told)
    assert not (here / "jostle.toml").exists()


def test_doubts_stay_in_the_file_if_they_are_overruled(jostle: Run, here: Path) -> None:
    assert jostle("init", "models.py:chance", "digits", "--force").code == Exit.CLEAN
    assert tomllib.loads((here / "jostle.toml").read_text())["force"] is True
    assert jostle("run", "quick", *QUICK).code in (Exit.CLEAN, Exit.FINDINGS)


@only_in_soak
@pytest.mark.slow
def test_init_and_run_take_a_model_file_as_a_user_starts_them(process: Run, here: Path) -> None:
    write_onnx(lenet1(), torch.zeros(2, 1, 28, 28), here / "net.onnx")
    ended = process("init", "net.onnx", "digits", cwd=here)
    assert ended.code == Exit.CLEAN, ended.err
    written = tomllib.loads((here / "jostle.toml").read_text())
    assert (written["size"], written["channels"]) == ([28, 28], 1)
    assert written["campaign"]["nightly"] == {"budget": "1h", "recipe": "deephunter", "twin": ["int8"]}
    ran = process("run", "nightly", *QUICK, "--json", cwd=here)
    assert ran.code in (Exit.CLEAN, Exit.FINDINGS) and ran.json()["executions"] == 100, ran.err
    refused(process("init", "missing.onnx", "digits", "--force", cwd=here), "missing.onnx does not exist")
