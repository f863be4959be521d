"""`jostle fuzz` with gradients and `jostle retrain`: calls that work, going on, and whatever the user gets wrong."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from running import Ended, in_this_process
from test_bad_input import check_refused, snapshot

from jostle.cli.terminal import Exit
from jostle.composition.settle import FUZZ
from jostle.zoo import mnist_sample
from making import forget_failing

Run = Callable[..., Ended]
ZOO = "jostle.zoo:lenet1"
PANEL = "--models jostle.zoo:lenet4,jostle.zoo:lenet5"
DLFUZZ = f"fuzz {ZOO} --seeds few.npz --recipe dlfuzz"


def findings_in(out: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(out.glob("findings/*/finding.json"))]


def journal(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "journal.jsonl").read_text().splitlines()]


# Calls that work


NEVER_FLIPS = """
import torch

def build():
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 10))
    torch.nn.init.constant_(net[1].weight, 1e-3)
    net[1].bias.data = 1000 - 100 * torch.arange(10.0)
    return net
"""


@pytest.mark.slow
def test_a_budget_of_time_holds_with_the_most_steps_that_an_entry_may_get(process: Run, tmp_path: Path) -> None:
    """Where no step leads anywhere, all of them are made before the budget is looked at."""
    (tmp_path / "net.py").write_text(NEVER_FLIPS)
    most = FUZZ.options["iterations"].kind.bounds
    assert most is not None
    call = (
        f"fuzz {tmp_path / 'net.py'}:build --seeds jostle.zoo:mnist_sample --recipe dlfuzz --force --json --budget 1s"
    )
    more = f"--iterations {most.high:.0f} --no-minimise --no-confirm --out {tmp_path / 'out'}"
    ended = process(*call.split(), *more.split())  # within the patience of `process`
    assert ended.code in (Exit.CLEAN, Exit.FINDINGS) and ended.json()["executions"] > 500, ended.err


def test_dlfuzz_finds_flips_and_leaves_them_as_images_before_and_after_minimising(
    jostle: Run, in_workshop: Path, tmp_path: Path
) -> None:
    ended = jostle(*DLFUZZ.split(), "--rounds", "1", "--json", "--out", str(tmp_path))
    assert (ended.code, ended.err) == (Exit.FINDINGS, "")
    told = ended.json()
    assert told["findings"]["flip"] > 5 and told["findings"].keys() == {"flip"}
    assert told["violating_inputs"]["flip"] >= told["findings"]["flip"]
    assert told["unconfirmed_inputs"] == {}  # each mutant is an image of eight bits to begin with
    assert told["coverage"]["nc"]["covered"] > 0
    found = findings_in(tmp_path)
    assert len(found) == told["findings"]["flip"]
    for finding in found:
        assert finding["shown again alone"] is True
        assert finding["minimised"]["L2"] <= finding["change"]["L2"] <= 0.35 * 15
        assert finding["answers"]["minimised"]["model"]["label"] == finding["details"]["taken for"]
    for folder in (tmp_path / "findings").iterdir():
        names = {path.name for path in folder.iterdir()}
        assert names >= {"input.png", "minimised.png", "minimised.npy", "picture.png"}


def test_a_person_is_told_how_small_the_changes_are(jostle: Run, in_workshop: Path, tmp_path: Path) -> None:
    ended = jostle(*DLFUZZ.split(), "--rounds", "1", "--out", str(tmp_path))
    assert ended.code == Exit.FINDINGS
    assert "when minimised" in ended.out and "median relative L2" in ended.out
    assert "distinct, shown by" in ended.out


def test_the_list_ends_the_run_long_before_the_budget_and_going_on_has_nothing_to_do(
    jostle: Run, in_workshop: Path, tmp_path: Path
) -> None:
    call = [*DLFUZZ.split(), "--rounds", "1", "--executions", "100000", "--json", "--out", str(tmp_path)]
    first = jostle(*call)
    assert first.json()["executions"] < 1000
    before = snapshot(tmp_path)
    again = jostle(*call)
    assert again.code == Exit.FINDINGS and "nothing more ran" in again.err
    changed = {name for name, content in snapshot(tmp_path).items() if before.get(name) != content}
    assert changed <= {"status.json"}


@pytest.mark.parametrize(
    "options",
    [
        "--strategy rare,near,heavy --neurons 6 --balance 1 --others 2",
        "--perturbation sign --limit 0.05 --reach 0.2 --iterations 2",
        "--perturbation occlusion --neurons 0",
        "--perturbation blackout --not-as-images --no-minimise",
        "--mutator gradient,metamorphic --scheduler adaptive --coverage nc,nearest",
        "--mutator gradient --scheduler uniform --units every --layers conv*,fc1",
    ],
)
def test_parts_of_dlfuzz_can_be_chosen(options: str, jostle: Run, in_workshop: Path, tmp_path: Path) -> None:
    ended = jostle(*DLFUZZ.split(), *options.split(), "--executions", "70", "--json", "--out", str(tmp_path))
    assert ended.code in (Exit.CLEAN, Exit.FINDINGS), ended.err
    assert ended.err == "" and ended.json()["executions"] == 70
    minimised = list(tmp_path.glob("findings/*/minimised.npy"))
    assert bool(minimised) == (bool(ended.json()["findings"]) and "--no-minimise" not in options)


def test_an_exported_program_is_differentiated_too(jostle: Run, in_workshop: Path, tmp_path: Path) -> None:
    call = "fuzz static.pt2 --seeds few.npz --recipe dlfuzz --rounds 1 --no-minimise --json --out"
    ended = jostle(*call.split(), str(tmp_path))
    assert (ended.code, ended.err) == (Exit.FINDINGS, "")
    assert ended.json()["findings"]["flip"] > 5


def test_deepxplore_finds_where_models_of_one_task_differ(jostle: Run, in_workshop: Path, tmp_path: Path) -> None:
    call = f"fuzz {ZOO} --seeds ok.npz --recipe deepxplore {PANEL} --rounds 1 --json --out"
    ended = jostle(*call.split(), str(tmp_path))
    assert (ended.code, ended.err) == (Exit.FINDINGS, "")
    assert ended.json()["findings"]["differ"] > 0
    assert ended.json()["inputs_per_second_by_variant"].keys() == {"model", "model 2", "model 3"}
    for finding in findings_in(tmp_path):
        labels = finding["details"]["labels"]
        assert labels.keys() == {"model", "model 2", "model 3"} and len(set(labels.values())) > 1
        assert finding["summary"].count(" says ") == 3


# Going on


@pytest.mark.parametrize(
    "options", ["--mutator gradient,noise", "", "--mutator metamorphic,gradient --strategy near,rare"]
)
def test_a_campaign_in_two_parts_is_the_campaign_in_one(
    options: str, jostle: Run, in_workshop: Path, tmp_path: Path
) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    call = [*DLFUZZ.split(), *options.split(), "--batch", "32", "--executions", "250"]
    jostle(*call, "--out", str(whole))
    jostle(*call, "--findings", "3", "--out", str(parts))
    first = journal(parts)
    ended = jostle(*call, "--out", str(parts))
    assert 2 <= len(first) < len(journal(whole)) - 2  # so that the first part ended on the way
    assert f"going on after {first[-1]['executions']} executions" in ended.err
    assert (whole / "journal.jsonl").read_bytes() == (parts / "journal.jsonl").read_bytes()
    one, other = findings_in(whole), findings_in(parts)
    assert [finding["fingerprint"] for finding in one] == [finding["fingerprint"] for finding in other]
    assert all("minimised" in finding for finding in other)


# Retraining


@pytest.fixture(scope="module")
def campaign(workshop: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign that found flips; nobody writes there."""
    out = tmp_path_factory.mktemp("campaign") / "flips"
    call = f"fuzz {ZOO} --seeds {workshop / 'few.npz'} --recipe dlfuzz --rounds 1 --json --out"
    assert in_this_process(*call.split(), str(out)).code == Exit.FINDINGS
    return out


@pytest.fixture
def copied(campaign: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(campaign, tmp_path / "copied"))


RETRAIN = "--data jostle.zoo:mnist_sample --epochs 1 --repeats 2"


def test_retraining_tells_what_it_did_and_saves_the_weights(jostle: Run, copied: Path) -> None:
    ended = jostle("retrain", str(copied), *RETRAIN.split(), "--rate", "1e-3", "--json")
    assert (ended.code, ended.err) == (Exit.CLEAN, "")
    told = ended.json()
    counts = {"data", "held_out", "met", "findings", "unseen", "findings_only"}
    assert told.keys() == counts | {"before", "after", "control", "repeats", "difference", "verdict", "out"}
    assert len(told["repeats"]) == 2 and told["repeats"][0]["after"] == told["after"]
    assert told["difference"]["clean"].keys() == {"median", "smallest", "largest"}
    assert (told["data"], told["held_out"]) == (400, 100)
    assert told["before"]["trained"] == 0 < told["after"]["trained"]
    assert Path(told["out"]) == copied / "retrained.safetensors" and Path(told["out"]).is_file()
    again = jostle("retrain", str(copied), *RETRAIN.split())
    check_refused(again, "exists and is not overwritten", "give another --out")


def test_a_person_gets_a_table_of_accuracies_and_a_model_to_fuzz_again(
    jostle: Run, copied: Path, in_workshop: Path, tmp_path: Path
) -> None:
    out, others = tmp_path / "mine.pt2", tmp_path / "others.npz"
    images, labels = mnist_sample()
    np.savez(others, x=images.clamp(max=0.9).numpy(), y=labels.numpy())
    ended = jostle("retrain", str(copied), *RETRAIN.split(), "--test", str(others), "--out", str(out))
    assert ended.code == Exit.CLEAN, ended.err
    told = (
        "held-out data",
        "failing tests from held-out seeds",
        "failing tests trained on",
        "control",
        "difference",
        str(out),
    )
    for words in told:
        assert words in ended.out
    assert not (copied / "retrained.safetensors").exists()
    call = f"fuzz {out} --seeds few.npz --recipe dlfuzz --executions 60 --json --out {tmp_path / 'again'}"
    again = jostle(*call.split())
    assert again.err == "" and again.json()["executions"] == 60


# Whatever the user gets wrong

WITH_ZOO = [
    ("--mutator gradient --others 10", "--others 10: the model tells 10 classes apart", "give 1 to 9 others"),
    ("--others 0", "--others 0", "at least 1"),
    ("--neurons 9999", "--neurons 9999: the layers chosen have", "give fewer"),
    ("--neurons -1", "--neurons -1", "a whole number from 0"),
    ("--neurons 1 --strategy rare,near", "--neurons 1 for 2 strategies", "at least one for each"),
    ("--strategy rear", "--strategy 'rear' is unknown", "did you mean rare"),
    ("--strategy rare,", "--strategy rare,", "give names"),
    ("--perturbation ligth", "--perturbation 'ligth' is unknown", "did you mean light"),
    ("--limit 0.5", "--limit 0.5 and --reach 0.3", "a limit not above it"),
    ("--limit -1", "--limit -1", "not negative"),
    ("--reach 0", "--reach 0", "a reach above 0"),
    ("--reach nan", "--reach nan", "give a number"),
    ("--balance -1", "--balance -1", "not negative"),
    ("--desired 1", "--desired 1", "give the share of all coverage"),
    ("--rounds 0", "--rounds 0", "at least 1"),
    ("--depth 0", "--depth 0", "at least 1"),
    ("--scheduler uniform --depth 2", "--depth", "needs --scheduler list"),
    ("--neurons 0 --strategy rare", "--neurons 0 are none", "leave it out"),
    ("--iterations 0", "--iterations 0", "at least 1"),
    ("--scheduler uniform --rounds 2", "--rounds", "needs --scheduler list"),
    ("--mutator noise --reach 0.2", "--reach", "needs --mutator gradient"),
    ("--mutator gradient,gradient", "names a mutator twice", "name each once"),
    ("--mutator gradient,noize", "--mutator 'noize' is unknown", "did you mean noise"),
    ("--models jostle.zoo:lenet5", "--models", "needs --oracle differ"),
    ("--oracle differ", "--oracle differ compares models of one task", "name the others with --models"),
    ("--recipe deepxplore", "--recipe deepxplore compares models of one task", "or use --recipe dlfuzz"),
    (f"--recipe deepxplore {PANEL} --twin int8", "--models and --twin", "not both"),
    (f"--recipe deepxplore {PANEL} --others 2", "--others", "leave it out beside --models"),
    ("--recipe deepxplore --models jostle.zoo:lenet6", "has no 'lenet6'", "lenet"),
    ("--recipe deepxplore --models gone.pt2", "gone.pt2 does not exist", "give a model file"),
    ("--recipe deepxplore --models models.py:scalar", "gives outputs of shape [1]", "models of the same task"),
    ("--recipe deepxplore --models models.py:narrow", "--models models.py:narrow", "same task"),
]  # fmt: skip
OTHERS = [
    ("models.py:in_numpy --seeds few.npz --force", "the model cannot be differentiated", "use --recipe deephunter"),
    ("models.py:Largest --seeds few.npz", "the model cannot be differentiated", "which need no gradients"),
    ("models.py:scalar --seeds ok.npy", "needs a model that gives class scores", "use --recipe deephunter"),
    ("models.py:flip --seeds ok.npy", "needs a model that gives class scores", "use --recipe deephunter"),
    ("models.py:vectors --seeds vectors.npy --others 2 --neurons 2 --perturbation occlusion", "images", "gradient"),
    ("models.py:vectors --seeds vectors.npy --others 2 --neurons 2 --as-images", "--as-images", "leave it out"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "cause", "fix"),
    [*((f"{ZOO} --seeds few.npz {options}", cause, fix) for options, cause, fix in WITH_ZOO), *OTHERS],
)
def test_a_mistake_about_gradients_gives_one_line_that_names_the_fix(
    arguments: str, cause: str, fix: str, jostle: Run, in_workshop: Path, tmp_path: Path
) -> None:
    before = snapshot(in_workshop)
    recipe = [] if "--recipe" in arguments else ["--recipe", "dlfuzz"]
    ended = jostle("fuzz", *arguments.split(), *recipe, "--executions", "100", "--out", str(tmp_path / "out"))
    check_refused(ended, cause, fix)
    assert list(tmp_path.iterdir()) == []
    assert snapshot(in_workshop) == before


WRONG_TRAINING = [
    ("--data gone.npz", "gone.npz do not exist", "give a folder of images"),
    ("--data ok.npy", "has inputs without labels", "give an .npz with x and y"),
    ("--data ok.npz --test ok.npy", "--test ok.npy has inputs without labels", "give an .npz with x and y"),
    ("--data beyond.npz", "labels up to 1", "data of its classes"),
    ("--data ok.npz --test ok.npz", "holds nothing but what is trained on", "give inputs that are not in --data"),
    ("", "Missing option '--data'", "jostle --help"),
    ("--data ok.npz --share 0", "--share 0.0", "above 0 and below 1"),
    ("--data ok.npz --share 1", "--share 1.0", "above 0 and below 1"),
    ("--data ok.npz --held-out 0", "--held-out 0.0", "above 0 and below 1"),
    ("--data ok.npz --rate 0", "--rate 0.0", "above 0"),
    ("--data ok.npz --rate inf", "--rate inf", "give"),
    ("--data ok.npz --rate 1e30", "training diverged after step", "give a --rate below 1e+30"),
    ("--data ok.npz --repeats 0", "--repeats", "jostle --help"),
    ("--data ok.npz --epochs 0", "--epochs", "jostle --help"),
    ("--data ok.npz --batch 1", "--batch", "jostle --help"),
    ("--data ok.npz --out note.txt", "--out note.txt", "ends in .safetensors or .pt2"),
    ("--data ok.npz --out gone/weights.pt2", "its folder does not exist", "make it first"),
    ("--data ok.npz --out tensors.safetensors", "exists and is not overwritten", "give another --out"),
    ("--data ok.npz --model gone.py:build", "gone.py does not exist", "check the path"),
    ("--data ok.npz --model models.py:scalar", "gives outputs of shape [1]", "give a classifier"),
    ("--data ok.npz --model models.py:untrained", "no weights that can be trained", ""),
    ("--data ok.npz --model pickled.pt", "can execute code", "--trust-model"),
    ("--data ok.npz --model static.pt2", "static.pt2", "batch"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "cause", "fix"), WRONG_TRAINING)
def test_a_mistake_about_retraining_gives_one_line_that_names_the_fix(
    options: str, cause: str, fix: str, jostle: Run, in_workshop: Path, copied: Path
) -> None:
    before, campaign = snapshot(in_workshop), snapshot(copied)
    check_refused(jostle("retrain", str(copied), *options.split()), cause, fix)
    assert snapshot(in_workshop) == before and snapshot(copied) == campaign


@pytest.mark.parametrize(
    ("folder", "cause"), [("gone", "holds no campaign"), ("foreign", "holds no campaign"), ("other", "no campaign")]
)
def test_a_folder_without_a_campaign_cannot_be_retrained_from(
    folder: str, cause: str, jostle: Run, in_workshop: Path
) -> None:
    check_refused(jostle("retrain", folder, "--data", "ok.npz"), cause)


def test_a_campaign_without_flips_cannot_be_retrained_from(jostle: Run, in_workshop: Path, tmp_path: Path) -> None:
    call = f"fuzz {ZOO} --seeds few.npz --executions 20 --out {tmp_path / 'out'}"
    assert jostle(*call.split()).code == Exit.CLEAN
    ended = jostle("retrain", str(tmp_path / "out"), "--data", "ok.npz")
    check_refused(ended, "found changed labels from 0 seeds", "jostle fuzz --recipe dlfuzz with more seeds")


def test_a_finding_that_lost_its_arrays_is_refused(jostle: Run, in_workshop: Path, copied: Path) -> None:
    forget_failing(copied)
    next(iter(sorted(copied.glob("findings/*/input.npy")))).unlink()
    check_refused(jostle("retrain", str(copied), "--data", "ok.npz"), "has no input.npy", "move the folder away")


@pytest.mark.parametrize("damage", ["cut", "of another shape"])
def test_a_finding_whose_array_is_damaged_is_refused(damage: str, jostle: Run, in_workshop: Path, copied: Path) -> None:
    forget_failing(copied)
    path = next(iter(sorted(copied.glob("findings/*/input.npy"))))
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:100])
    else:
        np.save(path, np.zeros((3, 3), np.float32))
    check_refused(jostle("retrain", str(copied), "--data", "ok.npz"), path.parent.name)
