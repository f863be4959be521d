"""Calls that work: every kind of model, seeds, twin and oracle, from the flags to the folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from running import Ended

from jostle.cli.terminal import Exit

Run = Callable[..., Ended]
ZOO = "jostle.zoo:lenet5"
PROMISED = {"executions", "seconds", "executions_per_second", "corpus", "coverage", "findings", "out"}


def findings_in(out: Path) -> list[dict[str, object]]:
    return [json.loads(path.read_text()) for path in sorted(out.glob("findings/*/finding.json"))]


def test_the_first_call_of_the_readme_prints_one_object(process: Run, tmp_path: Path) -> None:
    ended = process(
        *["fuzz", ZOO, "--seeds", "jostle.zoo:mnist_sample", "--executions", "2000", "--json"], cwd=tmp_path
    )
    told = ended.json()
    assert ended.code == (Exit.FINDINGS if told["findings"] else Exit.CLEAN)
    assert ended.err == ""
    assert told.keys() >= PROMISED
    assert told["executions"] == 2000
    assert told["seconds"] > 0
    assert told["executions_per_second"] == pytest.approx(2000 / told["seconds"], rel=0.01)
    assert told["corpus"] >= 500
    assert told["coverage"]["nearest"]["points"] > 1
    assert told["sought"] == ["flip", "nan", "crash"] and set(told["findings"]) <= {"flip"}
    assert (tmp_path / told["out"] / "config.json").exists()


def test_a_person_gets_a_summary_and_the_path(jostle: Run, in_workshop: Path, tmp_path: Path) -> None:
    out = tmp_path / "with [/brackets] in it"
    call = f"fuzz {ZOO} --seeds ok.npz --oracle flip --radius 1 --sigma 0.5 --executions 600 --out"
    ended = jostle(*call.split(), str(out))
    assert ended.code == Exit.FINDINGS
    assert "600 in" in ended.out
    assert "distinct, shown by" in ended.out
    assert str(out) in ended.out
    assert " taken for " in ended.out and "flip-" in ended.out
    assert "60 seeds, accuracy 100.0%, layers watched: 5" in ended.err
    assert "findings" in ended.err and "time left" in ended.err


@pytest.mark.parametrize(
    ("seeds", "count", "labelled"),
    [
        ("ok.npy", 60, False),
        ("ok.npz", 60, True),
        ("swapped.npy", 60, False),
        ("digits", 30, True),
        ("digits/0/0.png --threshold 1", 1, False),
        ("mixed --size 28,28", 2, False),
        ("models.py:seeds", 60, True),
        ("models.py:dataset", 30, True),
        ("models.py:one_seed --recipe random", 1, False),
    ],
)
def test_seeds_of_every_kind(
    seeds: str, count: int, labelled: bool, jostle: Run, in_workshop: Path, tmp_path: Path
) -> None:
    call = ["fuzz", ZOO, "--seeds", *seeds.split(), "--oracle", "nan", "--executions", str(count + 100)]
    ended = jostle(*call, "--out", str(tmp_path))
    assert ended.code == Exit.CLEAN, ended.err
    assert f"{count} seed{'' if count == 1 else 's'}, " in ended.err
    assert ("accuracy" in ended.err) == labelled


def test_bytes_are_fuzzed_in_their_own_range(jostle: Run, in_workshop: Path, tmp_path: Path) -> None:
    call = f"fuzz {ZOO} --seeds bytes.npy --range 0,255 --mean 0 --std 255 --oracle flip --radius 255"
    ended = jostle(*call.split(), "--sigma", "100", "--executions", "600", "--out", str(tmp_path))
    assert ended.code == Exit.FINDINGS, ended.err
    found = np.load(next(tmp_path.glob("findings/*/input.npy")))
    assert found.min() >= 0 and 1 < found.max() <= 255


@pytest.mark.parametrize(
    "model",
    ["models.py:build", "dynamic.pt2", "static.pt2", "pickled.pt --trust-model", "models.py:flip", "torch:relu"],
)
def test_models_of_every_kind(model: str, jostle: Run, in_workshop: Path, tmp_path: Path) -> None:
    ended = jostle("fuzz", *model.split(), "--seeds", "ok.npy", "--executions", "300", "--json", "--out", str(tmp_path))
    assert ended.code == Exit.CLEAN, ended.err
    assert ended.err == ""
    assert ended.json()["executions"] == 300


def test_an_exported_model_is_the_model_it_was(jostle: Run, in_workshop: Path, tmp_path: Path) -> None:
    for twin in ("static.pt2", "dynamic.pt2"):
        call = f"fuzz {ZOO} --seeds ok.npy --twin {twin} --agree 1e-4 --executions 300 --json"
        ended = jostle(*call.split(), "--out", str(tmp_path / twin))
        assert ended.code == Exit.CLEAN, ended.err
        assert set(ended.json()["inputs_per_second_by_variant"]) == {"model", "twin"}


@pytest.mark.parametrize("twin", ["float16", "bfloat16", "weights16", "int8", "jostle.zoo:lenet1"])
def test_a_twin_that_computes_less_exactly_is_told_from_the_model(
    twin: str, jostle: Run, in_workshop: Path, tmp_path: Path
) -> None:
    call = ["fuzz", ZOO, "--seeds", "ok.npy", "--twin", twin, "--executions", "300", "--json"]
    strict = jostle(*call, "--agree", "1e-6", "--out", str(tmp_path / "strict"))
    assert strict.code == Exit.FINDINGS, strict.err
    assert strict.json()["findings"] == {"agree": 1}
    lenient = jostle(*call, "--agree", "1000", "--out", str(tmp_path / "lenient"))
    assert lenient.code == Exit.CLEAN, lenient.err


def test_a_refactored_function_is_compared_and_timed(jostle: Run, in_workshop: Path, tmp_path: Path) -> None:
    call = ["fuzz", "models.py:flip", "--seeds", "ok.npy", "--executions", "600"]
    right = jostle(*call, "--twin", "models.py:flip_in_numpy", "--out", str(tmp_path / "right"))
    assert right.code == Exit.CLEAN, right.err
    assert "speed" in right.out and "times as fast" in right.out
    wrong = jostle(*call, "--twin", "models.py:flip_wrongly", "--radius", "1", "--out", str(tmp_path / "wrong"))
    assert wrong.code == Exit.FINDINGS, wrong.err
    (found,) = tmp_path.glob("wrong/findings/*/input.npy")
    assert np.load(found)[0, 0, 0] > 0.1


@pytest.mark.parametrize(
    ("model", "oracle", "kind", "said"),
    [
        ("models.py:Overflowing", "nan", "nan", "infinity first in output"),
        ("models.py:Picky", "crash", "crash", "ArithmeticError in models.py:forward: the corner is lit"),
        (ZOO, "models.py:corner_lit", "property", "property corner_lit is violated"),
        (ZOO, "models.py:corner_lit_in_one", "property", "property corner_lit_in_one is violated"),
    ],
)
def test_each_oracle_finds_its_planted_bug(
    model: str, oracle: str, kind: str, said: str, jostle: Run, in_workshop: Path, tmp_path: Path
) -> None:
    call = f"fuzz {model} --seeds ok.npy --oracle {oracle} --executions 600 --json"
    ended = jostle(*call.split(), "--sigma", "100", "--executions", "600", "--out", str(tmp_path))
    assert ended.code == Exit.FINDINGS, ended.err
    assert ended.json()["findings"] == {kind: 1}
    (finding,) = findings_in(tmp_path)
    assert finding["kind"] == kind
    assert finding["summary"] == said
    (input,) = tmp_path.glob("findings/*/input.npy")
    assert np.load(input)[0, 0, 0] > 0.1
    assert input.with_name("reference.npy").exists() and input.with_name("picture.png").exists()


def test_the_loss_and_its_gradient_reach_a_property(jostle: Run, in_workshop: Path, tmp_path: Path) -> None:
    call = f"fuzz {ZOO} --seeds ok.npz --metadata models.py:loss --gradients --oracle nan,models.py:steep"
    ended = jostle(*call.split(), "--executions", "300", "--json", "--out", str(tmp_path))
    assert ended.code == Exit.FINDINGS, ended.err
    assert ended.json()["findings"] == {"property": 1}
    (finding,) = findings_in(tmp_path)
    assert isinstance(finding["details"], dict) and "loss" in finding["details"]


def test_the_campaign_stops_at_so_many_findings(jostle: Run, in_workshop: Path, tmp_path: Path) -> None:
    call = "fuzz models.py:Picky --seeds ok.npy --findings 1 --executions 100000 --json"
    ended = jostle(*call.split(), "--out", str(tmp_path))
    assert ended.code == Exit.FINDINGS
    assert ended.json()["executions"] < 2000


@pytest.mark.parametrize(
    "options",
    [
        "--coverage nearest --distance cosine --scheduler uniform --units every --layers conv*,fc1",
        "--coverage magnitude --scheduler smooth --recency 0.9 --threshold 0.5 --sigma 0.2 --radius 0.3 --batch 64",
        "--recipe random --seed 7",
        "--recipe random --mutator metamorphic --oracle nan --ranges paper --border edge",
        "--recipe deephunter --oracle nan",
        "--recipe deephunter --oracle nan --coverage nbc,nc,nearest --buckets 5 --gamma 3",
        "--coverage tknc --scheduler seldom --top 3",
    ],
)
def test_parts_can_be_chosen(options: str, jostle: Run, in_workshop: Path, tmp_path: Path) -> None:
    ended = jostle("fuzz", ZOO, "--seeds", "ok.npy", *options.split(), "--executions", "400", "--out", str(tmp_path))
    assert ended.code == Exit.CLEAN, ended.err
    assert "400 in" in ended.out


def test_volumes_are_moved_slice_by_slice_and_their_findings_have_pictures(
    jostle: Run, in_workshop: Path, tmp_path: Path
) -> None:
    call = "fuzz models.py:MiddleSlice --seeds volumes.npz --recipe deephunter --ranges paper --border reflect"
    ended = jostle(*call.split(), "--executions", "1500", "--out", str(tmp_path))
    assert ended.code == Exit.FINDINGS, ended.err
    moved = [path.parent for path in tmp_path.glob("findings/*-flip-*/seed.npy")]
    assert moved and all((folder / "picture.png").exists() for folder in moved)
    seed, reference, mutant = (np.load(moved[0] / f"{name}.npy") for name in ("seed", "reference", "input"))
    assert seed.shape == reference.shape == mutant.shape == (1, 5, 28, 28)
    assert np.abs(mutant - reference).max() < 0.2 < np.abs(seed - reference).max()
    assert np.allclose(reference[:, 0] * 5, reference[:, 2], atol=1e-4)  # each slice as the others


def test_doubts_can_be_overruled_and_are_told(jostle: Run, in_workshop: Path, tmp_path: Path) -> None:
    call = "fuzz models.py:Noisy --seeds ok.npy --oracle nan --force --executions 200 --json"
    ended = jostle(*call.split(), "--out", str(tmp_path))
    assert ended.code == Exit.CLEAN
    assert ended.err.startswith("warning: the model answers differently each time")
    assert ended.json()["executions"] == 200


@pytest.mark.parametrize("isolate", ["", " --isolate"])
@pytest.mark.parametrize(
    ("model", "told"), [("Writing", "changes its input in place"), ("OneByOne", "one input at a time only")]
)
def test_a_model_with_ways_of_its_own_is_fuzzed_and_told_of(
    model: str, told: str, isolate: str, jostle: Run, in_workshop: Path, tmp_path: Path
) -> None:
    call = f"fuzz models.py:{model} --seeds ok.npz --executions 100 --out {tmp_path / 'out'}{isolate}"
    ended = jostle(*call.split())
    assert ended.code == Exit.CLEAN, ended.err
    assert told in " ".join(ended.err.split())
    assert "accuracy 100.0%, layers watched: 5" in ended.err


def test_files_set_what_flags_leave_open(
    jostle: Run, workshop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pyproject = f'[tool.jostle]\nmodel = "{ZOO}"\nseeds = "{workshop / "ok.npy"}"\nexecutions = 5000\nseed = 1\n'
    (tmp_path / "pyproject.toml").write_text(pyproject)
    (tmp_path / "jostle.toml").write_text('executions = 500\nseed = 2\noracle = ["nan", "flip"]\nrange = [0, 1]\n')
    ended = jostle("fuzz", "--seed", "3", "--out", "out", "--json")
    assert ended.code == Exit.CLEAN, ended.err
    assert ended.json()["executions"] == 500
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert (config["model"], config["seed"], config["oracle"]) == (ZOO, 3, ["nan", "flip", "crash"])


def test_the_folder_of_a_campaign_follows_from_its_settings(
    jostle: Run, workshop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call = ["fuzz", ZOO, "--seeds", str(workshop / "ok.npy"), "--executions", "200", "--json"]
    first, again, other = (jostle(*call, *more).json()["out"] for more in ([], [], ["--seed", "1"]))
    assert first == again != other
    assert sorted(path.name for path in (tmp_path / "jostle-runs").iterdir()) == sorted(
        Path(out).name for out in (first, other)
    )


def test_a_transformation_tried_in_vain_is_warned_of_once_and_told_in_the_end(
    jostle: Run, in_workshop: Path, tmp_path: Path
) -> None:
    np.savez(tmp_path / "black.npz", x=np.zeros((20, 1, 28, 28), np.float32))
    hunt = f"fuzz jostle.zoo:lenet5 --seeds {tmp_path}/black.npz --recipe random --mutator metamorphic".split()
    hunt += ["--transforms", "blur,brightness", "--range", "0,1", "--executions", "1500", "--force"]
    line = "tries changed anything: it has no effect on these images"
    shown = jostle(*hunt, "--out", str(tmp_path / "shown"))
    assert shown.err.count(line) == 1 and "warning: blur: 0 of " in shown.err
    assert "in vain" in shown.out and line in shown.out
    told = jostle(*hunt, "--json", "--out", str(tmp_path / "told")).json()
    assert told["tries"]["blur"]["succeeded"] == 0 < told["tries"]["brightness"]["succeeded"]
    (blur,) = told["in_vain"]
    status = json.loads((tmp_path / "told" / "status.json").read_text())
    assert blur.startswith("blur: 0 of ") and status["in_vain"] == [blur]
