"""`jostle compare`: campaigns of one model side by side."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from running import Ended, in_this_process
from test_bad_input import check_refused, snapshot

from jostle.cli.terminal import Exit
from jostle.storage.journal import JOURNAL, encode_line, read_journal

Run = Callable[..., Ended]
Make = Callable[..., Path]


@pytest.fixture(scope="module")
def first(workshop: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign, of which others are made by changing what its folder says; nobody writes there."""
    out = tmp_path_factory.mktemp("campaign") / "first"
    call = f"fuzz jostle.zoo:lenet1 --seeds {workshop / 'few.npz'} --recipe deephunter --coverage nc --ranges paper"
    ended = in_this_process(
        *call.split(), *["--executions", "150", "--no-minimise", "--no-confirm", "--json", "--out"], str(out)
    )
    assert ended.code in (Exit.CLEAN, Exit.FINDINGS), ended.err
    return out


@pytest.fixture
def make(first: Path, tmp_path: Path) -> Make:
    """Makes a campaign as if it had been run with these settings and had covered so much."""

    def made(name: str, covered: float = 0.5, failing: int = 0, executions: int | None = None, **settings: Any) -> Path:
        folder = Path(shutil.copytree(first, tmp_path / name))
        config, status = (folder / file for file in ("config.json", "status.json"))
        config.write_text(json.dumps({**json.loads(config.read_text()), **settings}))
        told = json.loads(status.read_text())
        status.write_text(json.dumps({**told, "coverage": {"nc": {"covered": covered, "neurons": 58}}}))
        *lines, last = read_journal(folder / JOURNAL).lines
        ended = replace(last, executions=executions or last.executions, violations={"flip": failing})
        (folder / JOURNAL).write_bytes(
            b"".join(map(encode_line, (*(replace(one, violations={}) for one in lines), ended)))
        )
        return folder

    return made


def groups(make: Make, *, repeats: int = 4) -> list[str]:
    """Two groups that differ in their scheduler: the second covers more."""
    folders = [make(f"pool-{n}", 0.4 + n / 100, failing=3, seed=n) for n in range(repeats)]
    others = [make(f"seldom-{n}", 0.6 + n / 100, failing=3, seed=n, scheduler="seldom") for n in range(repeats)]
    return [str(folder) for folder in (*folders, *others)]


def test_groups_are_what_differs_and_seeds_are_repeats(jostle: Run, make: Make) -> None:
    ended = jostle("compare", *groups(make), "--json")
    assert (ended.code, ended.err) == (Exit.CLEAN, "")
    told = ended.json()
    assert [group["name"] for group in told["groups"]] == ["scheduler pool", "scheduler seldom"]
    assert [[run["seed"] for run in group["runs"]] for group in told["groups"]] == [[0, 1, 2, 3]] * 2
    spread = told["groups"][0]["figures"]["nc: covered"]
    assert spread == pytest.approx({"median": 0.415, "smallest": 0.4, "largest": 0.43})
    by_figure = {pair["figure"]: pair for pair in told["comparisons"]}
    covered, failing = by_figure["nc: covered"], by_figure["failing tests"]
    assert covered["p"] == pytest.approx(2 / 70) and (covered["a12"], covered["verdict"]) == (0, "less")
    assert (failing["p"], failing["a12"], failing["verdict"]) == (1, 0.5, "no difference shown")


def test_a_person_reads_medians_and_what_the_test_says(jostle: Run, make: Make) -> None:
    ended = jostle("compare", *groups(make))
    assert (ended.code, ended.err) == (Exit.CLEAN, "")
    for words in ("scheduler pool", "41.5% (40.0% to 43.0%)", "distinct defects", "0.029", "less"):
        assert words in ended.out
    assert "too few" not in ended.out


def test_too_few_runs_are_said_to_tell_nothing(jostle: Run, make: Make) -> None:
    ended = jostle("compare", *groups(make, repeats=3))
    assert ended.code == Exit.CLEAN
    assert "too few runs to tell" in ended.out and "give four or more of each" in ended.out


def test_repeats_of_one_campaign_are_shown_and_not_compared(jostle: Run, make: Make) -> None:
    ended = jostle("compare", *(str(make(f"c{n}", seed=n)) for n in range(2)))
    assert ended.code == Exit.CLEAN and "differ in their random seed only" in ended.out


def test_coverage_of_other_inputs_is_another_figure(jostle: Run, make: Make) -> None:
    one, other = make("one"), make("other", scheduler="seldom", count_coverage="run")
    told = jostle("compare", str(one), str(other), "--json").json()
    assert [[*group["figures"]][1] for group in told["groups"]] == ["nc: covered", "nc (run): covered"]
    assert {pair["figure"] for pair in told["comparisons"]} == {"distinct defects", "failing tests"}


def test_comparing_reads_only(jostle: Run, make: Make, tmp_path: Path) -> None:
    folders = groups(make, repeats=1)
    before = snapshot(tmp_path)
    assert jostle("compare", *folders).code == Exit.CLEAN
    assert snapshot(tmp_path) == before


def test_campaigns_that_ran_unlike_long_are_warned_of(jostle: Run, make: Make) -> None:
    one, other = make("one", executions=150), make("other", executions=900, scheduler="seldom")
    ended = jostle("compare", str(one), str(other))
    assert ended.code == Exit.CLEAN and "ran 150 inputs and" in ended.err and "give both the same" in ended.err
    assert jostle("compare", str(one), str(other), "--json").json()["warnings"]


OTHER_SEEDS, OTHER_MODEL = "seeds", "model"


@pytest.mark.parametrize(
    ("changed", "cause", "fix"),
    [
        (OTHER_SEEDS, "began from different seeds", "that begin from the same"),
        (OTHER_MODEL, "are of different models", "compare campaigns of one"),
        ("budget", "different budgets (--executions 150 and 900)", "run both with the same"),
        ("nothing", "are one campaign run twice", "a --seed of its own"),
    ],
)
def test_campaigns_that_cannot_be_compared_are_refused(
    changed: str, cause: str, fix: str, jostle: Run, make: Make, first: Path
) -> None:
    digest = json.loads((first / "config.json").read_text())["seeds and weights"]
    settings: dict[str, dict[str, Any]] = {
        OTHER_SEEDS: {"seeds and weights": "0" * 16 + digest[16:]},
        OTHER_MODEL: {"seeds and weights": digest[:16] + "0" * 16},
        "budget": {"executions": 900},
        "nothing": {},
    }
    other = make("other")
    config = other / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), **settings[changed]}))
    check_refused(jostle("compare", str(make("one")), str(other)), cause, fix)


def test_one_campaign_the_same_twice_and_none_are_refused(jostle: Run, make: Make, tmp_path: Path) -> None:
    one = str(make("one"))
    check_refused(jostle("compare", one), "one campaign cannot be compared", "give the folders of several")
    check_refused(jostle("compare", one, one), "is given twice", "name each campaign once")
    check_refused(jostle("compare", one, str(tmp_path / "gone")), "holds no campaign")
    (Path(one) / JOURNAL).write_bytes(b"{}\n")
    check_refused(jostle("compare", one, str(make("other"))), "is damaged", "go on")
