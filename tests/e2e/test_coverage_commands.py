"""`jostle coverage` and `jostle profile`: what some data covers, against ranges taken from other data."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from running import Ended

from jostle.cli.terminal import Exit

Run = Callable[..., Ended]
ZOO = "jostle.zoo:lenet5"
UNRANGED = ["nc", "tknc", "bknc", "nlc", "sscov"]
ALL = ["nc", "kmnc", "nbc", "snac", "tknc", "bknc", "lsa", "dsa", "nlc", "sscov"]


def figures(ended: Ended) -> dict[str, Any]:
    """What the command measured; it says nothing else."""
    assert (ended.code, ended.err) == (Exit.CLEAN, ""), ended.err
    return ended.json()


def test_a_person_gets_a_table_and_learns_what_was_left_out(jostle: Run, in_workshop: Path) -> None:
    ended = jostle("coverage", ZOO, "ok.npy")
    assert ended.code == Exit.CLEAN
    header, *rows = [line.split() for line in ended.out.splitlines()]
    assert header == ["criterion", "covered", "more"]
    assert [row[0] for row in rows] == UNRANGED
    shares = [row[1] for row in rows if row[0] != "nlc"]  # which has no upper end
    assert all(share.endswith("%") and 0 < float(share.rstrip("%")) <= 100 for share in shares)
    counted, left_out = ended.err.splitlines()
    assert counted == "counted: 258 neurons of 7 layers: relu1, pool1, relu2, pool2, relu3, relu4, fc3"
    assert left_out == "left out without --profile: kmnc, nbc, snac, lsa, dsa"


def test_a_program_gets_one_object_with_the_figures_of_the_table(jostle: Run, in_workshop: Path) -> None:
    told = figures(jostle("coverage", ZOO, "ok.npy", "--json"))
    assert list(told) == UNRANGED
    shown = jostle("coverage", ZOO, "ok.npy").out.splitlines()
    for name, line in zip(UNRANGED, shown[1:], strict=True):
        assert name == "nlc" or f"{told[name]['covered']:.2%}" in line


def test_the_command_works_as_a_process_of_its_own(process: Run, workshop: Path) -> None:
    ended = process("coverage", ZOO, "ok.npy", "--profile", "lenet5.safetensors", "--json", cwd=workshop)
    assert list(figures(ended)) == ALL


def test_with_a_profile_all_means_all_and_the_table_tells_what_was_profiled(jostle: Run, in_workshop: Path) -> None:
    ended = jostle("coverage", ZOO, "ok.npy", "--profile", "models.py:seeds")
    assert ended.code == Exit.CLEAN
    assert [line.split()[0] for line in ended.out.splitlines()[1:]] == ALL
    assert "profiled on 60 inputs" in ended.err
    assert "left out without" not in ended.err


def test_a_saved_profile_and_the_data_it_was_taken_from_give_the_same_figures(
    jostle: Run, in_workshop: Path, tmp_path: Path
) -> None:
    saved = tmp_path / "saved.safetensors"
    made = jostle("profile", ZOO, "digits", "--out", str(saved))
    assert made.code == Exit.CLEAN, made.err
    assert "profiled on 30 inputs" in made.out and f"written to {saved}" in made.out
    from_data = figures(jostle("coverage", ZOO, "ok.npy", "--profile", "digits", "--json"))
    from_file = figures(jostle("coverage", ZOO, "ok.npy", "--profile", str(saved), "--json"))
    assert from_file == from_data
    assert from_data["nbc"]["covered"] > 0  # thirty of the sixty digits were not profiled
    assert 0 < from_data["kmnc"]["covered"] < 1


@pytest.mark.parametrize("batch", ["7", "256"])
def test_nothing_lies_beyond_the_ranges_of_the_profiled_data_itself(batch: str, jostle: Run, in_workshop: Path) -> None:
    call = ["coverage", ZOO, "ok.npy", "--profile", "ok.npy", "--json"]
    told = figures(jostle(*call, "--batch", batch))
    assert told["nbc"]["covered"] == told["nbc"]["buckets"] == told["snac"]["covered"] == 0
    assert told["kmnc"]["covered"] > 0
    assert told["nbc"]["ceiling"] < told["snac"]["ceiling"] == 1


def test_a_profile_taken_in_small_batches_holds_data_measured_in_large_ones(
    jostle: Run, in_workshop: Path, tmp_path: Path
) -> None:
    saved = str(tmp_path / "saved.safetensors")
    assert jostle("profile", ZOO, "ok.npy", "--batch", "7", "--out", saved).code == Exit.CLEAN
    told = figures(jostle("coverage", ZOO, "ok.npy", "--profile", saved, "--criteria", "nbc,snac", "--json"))
    assert (told["nbc"]["covered"], told["snac"]["covered"]) == (0, 0)


@pytest.mark.parametrize("data", ["ok.npy", "ok.npz", "digits", "models.py:seeds", "models.py:dataset"])
def test_the_size_of_the_batches_changes_no_figure(data: str, jostle: Run, in_workshop: Path) -> None:
    call = ["coverage", ZOO, data, "--profile", "lenet5.safetensors", "--sections", "50", "--json"]
    small, large = (figures(jostle(*call, "--batch", batch)) for batch in ("7", "256"))
    assert small.keys() == large.keys()
    for name in small:
        assert small[name] == pytest.approx(large[name], abs=0.002), name  # sums are rounded in another order


def test_the_same_digits_cover_the_same_from_a_file_and_a_function(jostle: Run, in_workshop: Path) -> None:
    told = [figures(jostle("coverage", ZOO, data, "--json")) for data in ("ok.npy", "ok.npz", "models.py:seeds")]
    assert told[0] == told[1] == told[2]


def test_a_folder_of_images_is_data_too(jostle: Run, in_workshop: Path) -> None:
    # Eight bits hold these digits exactly, and order matters to the spread of nlc only.
    folder = figures(jostle("coverage", ZOO, "digits", "--profile", "digits", "--json"))
    function = figures(jostle("coverage", ZOO, "models.py:dataset", "--profile", "models.py:dataset", "--json"))
    assert folder.keys() == function.keys()
    for name in folder.keys() - {"nlc"}:
        assert folder[name] == pytest.approx(function[name], abs=0.002), name


def test_layers_and_units_choose_whose_neurons_count(jostle: Run, in_workshop: Path) -> None:
    def neurons(*options: str) -> int:
        return int(figures(jostle("coverage", ZOO, "ok.npy", "--criteria", "nc", *options, "--json"))["nc"]["neurons"])

    few, one = neurons("--layers", "conv*"), neurons("--layers", "conv1")
    assert 0 < one < few < neurons()
    assert neurons("--layers", "conv1", "--units", "every") > 100 * one


def test_only_the_criteria_asked_for_are_measured_in_their_order(jostle: Run, in_workshop: Path) -> None:
    told = figures(jostle("coverage", ZOO, "ok.npy", "--criteria", "tknc,nc", "--top", "3", "--json"))
    assert list(told) == ["tknc", "nc"]
    more = figures(jostle("coverage", ZOO, "ok.npy", "--criteria", "tknc", "--top", "4", "--json"))
    assert more["tknc"]["covered"] > told["tknc"]["covered"]


def test_fewer_sections_are_easier_to_cover(jostle: Run, in_workshop: Path) -> None:
    call = ["coverage", ZOO, "ok.npy", "--profile", "lenet5.safetensors", "--criteria", "kmnc", "--json"]
    covered = [figures(jostle(*call, "--sections", k))["kmnc"]["covered"] for k in ("1", "10", "1000")]
    assert covered[0] == 1 > covered[1] > covered[2] > 0


def test_normalised_data_is_profiled_and_measured_alike(jostle: Run, in_workshop: Path, tmp_path: Path) -> None:
    saved, bytes_ = str(tmp_path / "saved.safetensors"), ["--range", "0,255", "--mean", "0", "--std", "255"]
    assert jostle("profile", ZOO, "bytes.npy", *bytes_, "--out", saved).code == Exit.CLEAN
    told = figures(jostle("coverage", ZOO, "bytes.npy", *bytes_, "--profile", saved, "--json"))
    assert told["nbc"]["covered"] == 0
    refused = jostle("coverage", ZOO, "ok.npy", "--profile", saved)
    assert refused.code == Exit.USAGE
    assert "different: mean, std" in refused.err


def test_a_profile_may_be_made_again_but_nothing_else_is_overwritten(
    jostle: Run, in_workshop: Path, tmp_path: Path
) -> None:
    saved = tmp_path / "saved.safetensors"
    assert jostle("profile", ZOO, "digits", "--out", str(saved)).code == Exit.CLEAN
    first = saved.read_bytes()
    assert jostle("profile", ZOO, "ok.npy", "--out", str(saved)).code == Exit.CLEAN
    assert saved.read_bytes() != first
    for name in ("tensors.safetensors", "garbage.safetensors"):
        precious = tmp_path / name
        precious.write_bytes((in_workshop / name).read_bytes())
        before = precious.read_bytes()
        refused = jostle("profile", ZOO, "digits", "--out", str(precious))
        assert (refused.code, refused.out) == (Exit.USAGE, "")
        (line,) = refused.err.splitlines()
        assert line.startswith("jostle: ") and "is no profile: give another name" in line
        assert precious.read_bytes() == before
    assert {path.suffix for path in tmp_path.iterdir()} == {".safetensors"}  # nothing half-written is left


def test_a_pickled_model_is_measured_once_it_is_trusted(jostle: Run, in_workshop: Path) -> None:
    refused = jostle("coverage", "pickled.pt", "ok.npy")
    assert refused.code == Exit.USAGE and "--trust-model" in refused.err
    trusted = figures(jostle("coverage", "pickled.pt", "ok.npy", "--trust-model", "--json"))
    assert trusted == figures(jostle("coverage", ZOO, "ok.npy", "--json"))


def test_a_campaign_takes_a_saved_profile(jostle: Run, in_workshop: Path, tmp_path: Path) -> None:
    call = f"fuzz {ZOO} --seeds ok.npz --recipe deephunter --profile lenet5.safetensors --executions 200 --json"
    ended = jostle(*call.split(), "--out", str(tmp_path / "out"))
    assert ended.code in (Exit.CLEAN, Exit.FINDINGS), ended.err
    measured = figures(jostle("coverage", ZOO, "ok.npz", "--profile", "lenet5.safetensors", "--json"))
    assert ended.json()["coverage"]["kmnc"]["covered"] > measured["kmnc"]["covered"]
    assert json.loads((tmp_path / "out" / "config.json").read_text())["profile"] == "lenet5.safetensors"
