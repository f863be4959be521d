"""Settings from flags, jostle.toml and [tool.jostle], checked once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jostle.config import Settings, resolve
from jostle.errors import UsageError

GIVEN = {"model": "m.py:net", "seeds": "images"}


def resolved(folder: Path, **flags: Any) -> Settings:
    return resolve({**GIVEN, **flags}, folder)


def test_flags_come_before_jostle_toml_before_pyproject_before_defaults(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.jostle]\nseed = 1\nbatch = 10\nnewest = 7\n")
    (tmp_path / "jostle.toml").write_text("seed = 2\nbatch = 20\n")
    settings = resolved(tmp_path, seed=3)
    assert (settings.seed, settings.batch, settings.newest, settings.recency) == (3, 20, 7, 0.5)


def test_a_file_alone_can_hold_everything(tmp_path: Path) -> None:
    (tmp_path / "jostle.toml").write_text(
        'model = "a.pt2"\nseeds = "s.npy"\nrange = [0, 255]\n'
        'oracle = ["nan", "flip"]\ntrust-model = true\nbudget = "2m"\n'
    )
    settings = resolve({"model": None, "seeds": None}, tmp_path)
    assert (settings.model, settings.seeds, settings.range) == ("a.pt2", "s.npy", (0.0, 255.0))
    assert (settings.oracle, settings.trust_model, settings.budget) == (("nan", "flip"), True, 120.0)


def test_a_pyproject_of_somebody_else_is_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\n[tool.ruff]\nline-length = 5\n')
    assert resolved(tmp_path).batch == 256


@pytest.mark.parametrize(
    ("file", "content", "cause"),
    [
        ("jostle.toml", "sede = 1", "unknown setting 'sede', did you mean 'seed'"),
        ("pyproject.toml", "[tool.jostle]\nbatches = 1", "unknown setting 'batches', did you mean 'batch'"),
        ("jostle.toml", "xyzzy = 1", "unknown setting 'xyzzy'"),
        ("jostle.toml", "seed = ", "cannot be read"),
        ("jostle.toml", "seed = 1.5", "--seed 1.5"),
        ("jostle.toml", 'seed = "1"', "--seed 1"),
        ("jostle.toml", "force = 1", "--force 1"),
        ("jostle.toml", "twin = 3", "--twin 3"),
    ],
)
def test_a_wrong_file_is_refused_naming_the_setting(file: str, content: str, cause: str, tmp_path: Path) -> None:
    (tmp_path / file).write_text(content)
    with pytest.raises(UsageError, match=cause):
        resolved(tmp_path)


@pytest.mark.parametrize("missing", ["model", "seeds"])
def test_model_and_seeds_are_needed(missing: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"{missing} is missing"):
        resolve({**GIVEN, missing: None}, tmp_path)


GOOD = [
    ("range", "0,1", (0.0, 1.0)),
    ("range", "-1, 1", (-1.0, 1.0)),
    ("range", [0, 255], (0.0, 255.0)),
    ("mean", "0.5", (0.5,)),
    ("mean", "0.1,0.2,0.3", (0.1, 0.2, 0.3)),
    ("mean", 0.5, (0.5,)),
    ("std", [0.2, 0.3], (0.2, 0.3)),
    ("size", "224,200", (224, 200)),
    ("budget", "60", 60.0),
    ("budget", 60, 60.0),
    ("budget", "1.5m", 90.0),
    ("budget", "2h", 7200.0),
    ("budget", "1d", 86400.0),
    ("executions", 5, 5),
    ("channels", 3, 3),
    ("oracle", "nan, crash", ("nan", "crash")),
    ("layers", ["conv*", "fc1"], ("conv*", "fc1")),
    ("sigma", 1, 1.0),
    ("coverage", "kmnc", ("kmnc",)),
    ("coverage", "kmnc, nc", ("kmnc", "nc")),
    ("coverage", ["kmnc", "nc"], ("kmnc", "nc")),
    ("transforms", "rotation=-15:15,blur", ("rotation=-15:15", "blur")),
    ("p_min", 1, 1.0),
    ("agree", "top5", "top5"),
    ("agree", 0.001, "0.001"),
]


@pytest.mark.parametrize(("name", "value", "expected"), GOOD)
def test_a_good_value_is_read(name: str, value: Any, expected: Any, tmp_path: Path) -> None:
    assert getattr(resolved(tmp_path, **{name: value}), name) == expected


COUNTS = ("executions", "findings", "batch", "newest", "sample", "tries", "sections", "buckets", "top")
BAD = [
    *[("range", value) for value in ("1,0", "0,0", "0", "0,1,2", "a,b", "nan,1", "0,inf", "")],
    *[("mean", value) for value in ("a", "0.1,,0.2", "nan")],
    *[("std", value) for value in ("0", "-1", "0.1,0")],
    *[("size", value) for value in ("224", "0,5", "1.5,2", "-1,4")],
    *[("budget", value) for value in ("0", "-5s", "soon", "5 weeks", "inf", "")],
    *[(name, value) for name in COUNTS for value in (0, -1)],
    *[("channels", value) for value in (0, 2, 4)],
    *[
        ("seed", -1),
        ("sigma", float("nan")),
        ("radius", float("inf")),
        ("oracle", "nan,,crash"),
        ("twin", ""),
        ("coverage", "kmnc,,nc"),
    ],
]


@pytest.mark.parametrize(("name", "value"), BAD)
def test_a_bad_value_is_refused_naming_the_flag_in_one_line(name: str, value: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"--{name}") as refused:
        resolved(tmp_path, **{name: value})
    assert "\n" not in str(refused.value)


def test_the_same_settings_give_the_same_folder_and_others_another(tmp_path: Path) -> None:
    assert resolved(tmp_path, seed=1).folder("") == resolved(tmp_path, seed=1).folder("")
    folders = [
        resolved(tmp_path, **flags).folder("")
        for flags in ({}, {"seed": 1}, {"radius": 0.1}, {"oracle": "nan"}, {"coverage": "nc"})
    ]
    assert len(set(folders)) == 5
    assert all(folder.parent == Path("jostle-runs") for folder in folders)


def test_a_larger_budget_is_still_the_same_campaign(tmp_path: Path) -> None:
    more = resolved(tmp_path, budget="9h", executions=9, findings=9, force=True)
    assert more.folder("") == resolved(tmp_path).folder("")
    assert more.identity("") == resolved(tmp_path).identity("")


def test_the_folder_is_where_it_was_asked_for(tmp_path: Path) -> None:
    assert resolved(tmp_path, out="here/there").folder("") == Path("here/there")


def test_a_campaign_is_another_when_the_files_it_names_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    identities = []
    for content in ("def net(): ...", "def net(): pass"):
        Path("m.py").write_text(content)
        identities.append(resolved(tmp_path).identity(""))
    assert identities[0] != identities[1]


def test_the_identity_is_plain_json(tmp_path: Path) -> None:
    identity = resolved(tmp_path, range="0,1", oracle="nan", mean="0.1").identity("")
    assert json.loads(json.dumps(identity)) == identity
