"""`jostle evaluate`: a campaign's tests on other models, and campaigns that cannot be evaluated."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from running import Ended, in_this_process

from jostle.cli.terminal import Exit
from jostle.zoo import lenet5, mnist_sample
from making import forget_failing
from soaking import only_in_soak

Run = Callable[..., Ended]
ZOO = "jostle.zoo:lenet5"
MINE = """
import torch
from jostle.zoo import lenet5

def build():
    model = lenet5()
    model.load_state_dict(torch.load("weights.pth"))
    return model
"""


NEVER_ONE = """
import torch
from jostle.zoo import lenet5

class Never(torch.nn.Module):
    def __init__(self, shift):
        super().__init__()
        self.net, self.shift = lenet5(), shift

    def forward(self, x):
        scores = self.net(x)
        if self.shift:
            return scores.roll(1, 1)
        return scores - 1000 * torch.eye(10)[1]

def build():
    return Never(False)

def always_wrong():
    return Never(True)
"""


def check_refused(ended: Ended, *said: str) -> None:
    assert ended.code == Exit.USAGE, ended
    assert ended.out == ""
    (line,) = ended.err.splitlines()
    assert line.startswith("jostle: ")
    for words in said:
        assert words in line


def scores(ended: Ended) -> dict[str, dict[str, Any]]:
    assert (ended.code, ended.err) == (Exit.CLEAN, ""), ended.err
    return {score.pop("model"): score for score in ended.json()["scores"]}


def fuzzed(out: Path, *arguments: str) -> Path:
    ended = in_this_process("fuzz", *arguments, "--executions", "400", "--out", str(out), "--json")
    assert ended.code in (Exit.CLEAN, Exit.FINDINGS), ended.err
    return out


@pytest.fixture(scope="module")
def digits(workshop: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign that hunted flips and kept tests; nobody writes there."""
    call = f"--seeds {workshop / 'ok.npz'} --recipe deephunter --ranges paper --profile jostle.zoo:mnist_sample"
    return fuzzed(tmp_path_factory.mktemp("campaign") / "digits", ZOO, *call.split())


@pytest.fixture(scope="module")
def coarse(workshop: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign on a model that cannot do with 16 bit."""
    call = f"--seeds {workshop / 'ok.npy'} --recipe deephunter --coverage nearest --scheduler uniform"
    return fuzzed(tmp_path_factory.mktemp("campaign") / "coarse", f"{workshop / 'models.py'}:coarse", *call.split())


@pytest.fixture
def copied(digits: Path, tmp_path: Path) -> Path:
    """The first campaign, to be damaged."""
    return Path(shutil.copytree(digits, tmp_path / "copied"))


def test_the_campaigns_own_model_comes_first_and_passes_all_its_tests(jostle: Run, digits: Path) -> None:
    ended = jostle("evaluate", str(digits), "jostle.zoo:lenet1", "--json")
    told = ended.json()
    assert (told["seeds"] + told["seeds_left_out"], told["repeats"]) == (60, 5)
    assert told["tests"] > 100
    own, other = scores(ended).items()
    assert own == (
        ZOO,
        {"seeds_accuracy": 1.0, "tests_accuracy": 1.0, "seeds_unlike": 0, "tests_unlike": 0},
    )
    assert other[0] == "jostle.zoo:lenet1"
    # Right is what the own model answers, so whatever is answered otherwise is wrong.
    assert other[1]["tests_accuracy"] == pytest.approx(1 - other[1]["tests_unlike"] / told["tests"])
    assert other[1]["tests_unlike"] > 0


def test_a_person_gets_a_table_of_three_rounded_twins_unless_models_are_named(jostle: Run, digits: Path) -> None:
    ended = jostle("evaluate", str(digits))
    assert (ended.code, ended.err) == (Exit.CLEAN, "")
    header, *rows, note = ended.out.splitlines()
    assert note.startswith("left out: 0 seeds that another model gets wrong and 0 tests")
    assert "accuracy on 60 seeds" in header and "tests answered otherwise" in header
    assert [row.split()[0] for row in rows] == [ZOO, "weights16:1%", "weights16:50%", "weights16"]
    assert rows[0].split()[1:] == ["100.00%", "100.00%", "0", "0"]


def test_the_command_works_as_a_process_of_its_own(process: Run, digits: Path, tmp_path: Path) -> None:
    told = scores(process("evaluate", str(digits), ZOO, "int8", "float16", "--json", cwd=tmp_path))
    assert list(told) == [ZOO, "int8", "float16"]
    assert list(tmp_path.iterdir()) == []


def test_evaluation_changes_nothing_in_the_folder(jostle: Run, digits: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in digits.rglob("*")}
    assert jostle("evaluate", str(digits), "weights16").code == Exit.CLEAN
    assert {path: path.stat().st_mtime_ns for path in digits.rglob("*")} == before


def test_a_twin_whose_weights_are_drawn_is_averaged_and_the_same_each_time(
    jostle: Run, coarse: Path, workshop: Path
) -> None:
    call = ["evaluate", str(coarse), "weights16:50%", "weights16", "--all-seeds", "--json"]
    first, again = jostle(*call), jostle(*call)
    assert first.out == again.out
    five, one = scores(first), scores(jostle(*call, "--repeats", "1"))
    own = f"{workshop / 'models.py'}:coarse"
    assert five[own]["tests_accuracy"] == 1
    assert five["weights16:50%"]["tests_unlike"] > 0
    assert five["weights16:50%"] != one["weights16:50%"]  # other draws are in it
    assert five["weights16"] == one["weights16"]  # nothing is drawn
    assert five["weights16:50%"]["tests_unlike"] * 5 == pytest.approx(round(five["weights16:50%"]["tests_unlike"] * 5))


def test_few_rounded_weights_change_fewer_answers_than_all(jostle: Run, coarse: Path) -> None:
    told = scores(
        jostle("evaluate", str(coarse), "weights16:1%", "weights16:100%", "weights16", "--all-seeds", "--json")
    )
    assert told["weights16:1%"]["tests_unlike"] < told["weights16"]["tests_unlike"]
    assert told["weights16:100%"] == told["weights16"]


def posed(ended: Ended) -> tuple[int, int, int, int]:
    told = ended.json()
    return told["seeds"], told["tests"], told["seeds_left_out"], told["tests_left_out"]


def test_only_seeds_that_all_models_get_right_count_and_tests_made_of_them(
    jostle: Run, workshop: Path, digits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("never.py").write_text(NEVER_ONE)
    call = ["evaluate", str(digits), "never.py:build", "--json"]
    controlled, plain = jostle(*call), jostle(*call, "--all-seeds")
    labels = np.load(workshop / "ok.npz")["y"]
    ones = int((labels == 1).sum())
    seeds, tests, seeds_out, tests_out = posed(controlled)
    assert (seeds, seeds_out) == (60 - ones, ones) and tests_out > 0
    assert posed(plain) == (60, tests + tests_out, 0, 0)
    # It answers as the campaign's model does, but for ones, none of which is left among the seeds.
    own, other = scores(controlled).values()
    assert own["seeds_accuracy"] == other["seeds_accuracy"] == own["tests_accuracy"] == other["tests_accuracy"] == 1
    assert scores(plain)["never.py:build"]["seeds_accuracy"] == pytest.approx(1 - ones / 60)
    assert scores(plain)["never.py:build"]["tests_unlike"] == tests_out


def test_a_model_that_gets_no_seed_right_is_named_with_what_to_do(
    jostle: Run, digits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("never.py").write_text(NEVER_ONE)
    ended = jostle("evaluate", str(digits), "weights16", "never.py:always_wrong")
    check_refused(ended, "leave out never.py:always_wrong, which gets 0 of 60 seeds right", "or give --all-seeds")
    assert jostle("evaluate", str(digits), "never.py:always_wrong", "--all-seeds").code == Exit.CLEAN


def test_failing_tests_are_run_where_asked_for_beside_those_kept_or_alone(jostle: Run, digits: Path) -> None:
    told = {
        source: jostle("evaluate", str(digits), "weights16", "--tests", source, "--json")
        for source in ("kept", "failing", "all")
    }
    counts = {source: ended.json()["tests"] for source, ended in told.items()}
    assert counts["all"] == counts["kept"] + counts["failing"] and counts["failing"] > 0
    assert [scores(told[source])[ZOO]["tests_accuracy"] for source in ("kept", "failing")] == [1, 0]
    assert told["failing"].json()["tests_from"] == "failing"


def test_of_a_folder_that_keeps_no_failing_tests_the_findings_are_run(jostle: Run, copied: Path) -> None:
    forget_failing(copied)
    told = jostle("evaluate", str(copied), "weights16", "--tests", "failing", "--json").json()
    assert told["tests"] + told["tests_left_out"] == len(list(copied.glob("findings/*")))


def test_tests_of_an_unknown_source_are_refused(jostle: Run, digits: Path) -> None:
    check_refused(jostle("evaluate", str(digits), "--tests", "falling"), "--tests 'falling'", "did you mean failing?")


@only_in_soak
def test_a_pickled_model_needs_consent_again(
    jostle: Run, workshop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call = f"{workshop / 'pickled.pt'} --trust-model --seeds {workshop / 'ok.npz'} --recipe deephunter"
    out = str(fuzzed(tmp_path / "out", *call.split()))
    check_refused(jostle("evaluate", out, "weights16"), "can execute code", "--trust-model")
    trusted = scores(jostle("evaluate", out, "weights16", "--trust-model", "--json"))
    assert trusted[str(workshop / "pickled.pt")]["tests_accuracy"] == 1


def test_a_pickle_named_beside_a_campaign_needs_consent_too(
    jostle: Run, workshop: Path, digits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    check_refused(jostle("evaluate", str(digits), str(workshop / "canary.pt")), "can execute code", "--trust-model")
    assert not (tmp_path / "canary-fired").exists()
    trusted = scores(jostle("evaluate", str(digits), str(workshop / "pickled.pt"), "--trust-model", "--json"))
    assert trusted[str(workshop / "pickled.pt")]["tests_unlike"] == 0


def test_consent_written_into_the_folder_counts_for_nothing(
    jostle: Run, workshop: Path, copied: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = json.loads((copied / "config.json").read_text())
    planted = {**config, "model": str(workshop / "canary.pt"), "trust_model": True, "files": {}}
    (copied / "config.json").write_text(json.dumps(planted))
    check_refused(jostle("evaluate", str(copied)))
    assert not (tmp_path / "canary-fired").exists()


@pytest.mark.parametrize("changed", ["seeds", "labels", "weights", "code"])
def test_a_campaign_whose_seeds_weights_or_files_changed_is_refused(
    changed: str, jostle: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    images, labels = (array[:60].numpy() for array in mnist_sample())
    Path("mine.py").write_text(MINE)
    torch.save(lenet5().state_dict(), "weights.pth")
    np.savez("seeds.npz", x=images, y=labels)
    fuzzed(tmp_path / "out", *["mine.py:build", "--seeds", "seeds.npz", "--recipe", "deephunter"])
    assert jostle("evaluate", "out", "weights16").code == Exit.CLEAN
    if changed == "seeds":
        np.savez("seeds.npz", x=images * 0.99, y=labels)
    elif changed == "labels":
        np.savez("seeds.npz", x=images, y=labels[::-1])
    elif changed == "weights":
        torch.save({name: value * 0.99 for name, value in lenet5().state_dict().items()}, "weights.pth")
    else:
        Path("mine.py").write_text(MINE + "# other\n")
    check_refused(jostle("evaluate", "out", "weights16"), "have changed: bring them back")


def test_a_campaign_whose_model_is_gone_is_refused(jostle: Run, copied: Path) -> None:
    config = json.loads((copied / "config.json").read_text())
    (copied / "config.json").write_text(json.dumps({**config, "model": "gone.py:build"}))
    check_refused(jostle("evaluate", str(copied), "weights16"), "gone.py")


@pytest.mark.parametrize(
    ("model", "cause", "fix"),
    [
        ("models.py:narrow", "models.py:narrow fails on the campaign's inputs of shape [1, 28, 28]", "the same inputs"),
        ("models.py:scalar", "models.py:scalar gives outputs of shape [1], ", "give a model of the same classes"),
        ("models.py:flip", "models.py:flip gives outputs of shape [1, 28, 28]", "of the same classes"),
        ("models.py:raising", "raised RuntimeError in models.py:raising", "no weights here"),
        ("models.py:NUMBER", "is a int", "it must be a torch module"),
        ("gone.pt2", "gone.pt2 does not exist", "give a model file or FILE.py:function"),
        ("truncated.pt2", "cannot load truncated.pt2", "re-export it"),
        ("wieghts16", "'wieghts16' is unknown", "did you mean weights16"),
        ("weights16:0%", "weights16:0%", "give a share above 0 %"),
        ("weights16:101%", "weights16:101%", "at most 100 %"),
        ("weights16:half", "weights16:half", "such as weights16:50%"),
        (f"{ZOO} --repeats 0", "--repeats", ""),
    ],
)
def test_a_model_that_cannot_be_compared_is_refused(
    model: str, cause: str, fix: str, jostle: Run, in_workshop: Path, digits: Path
) -> None:
    check_refused(jostle("evaluate", str(digits), *model.split()), cause, fix)


def test_a_campaign_without_class_scores_is_refused(jostle: Run, in_workshop: Path, tmp_path: Path) -> None:
    fuzzed(tmp_path / "out", *["models.py:flip", "--seeds", "ok.npy"])
    check_refused(jostle("evaluate", str(tmp_path / "out"), "float16"), "this campaign's model gives no class scores")


def test_a_campaign_that_kept_only_its_seeds_is_refused(jostle: Run, in_workshop: Path, tmp_path: Path) -> None:
    fuzzed(tmp_path / "out", *f"{ZOO} --seeds ok.npy --recipe random".split())
    check_refused(jostle("evaluate", str(tmp_path / "out")), "kept no tests besides its seeds", "let it run longer")


@pytest.mark.parametrize("folder", ["gone", "empty", "foreign", "other", "note.txt", "digits"])
def test_a_folder_that_is_no_campaign_is_refused(folder: str, jostle: Run, in_workshop: Path) -> None:
    check_refused(
        jostle("evaluate", folder), f"{folder} holds no campaign", "give the folder that jostle fuzz wrote to"
    )


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe\x00",
        b"null",
        b'"text"',
        b'{"seeds and weights": 3}',
        b'{"seeds and weights": "x", "model": 5, "seeds": "ok.npy"}',
        b'{"seeds and weights": "x", "model": "", "seeds": ""}',
        b'{"seeds and weights": "x", "model": "jostle.zoo:lenet5", "seeds": "ok.npy", "files": {}, "batch": 0}',
        b'{"seeds and weights": "x", "model": "jostle.zoo:lenet5", "seeds": "ok.npy", "files": {}, "range": "wide"}',
        b'{"seeds and weights": "x", "model": "jostle.zoo:lenet5", "seeds": "ok.npy", "files": {}, "mean": [0, 0]}',
        b'{"seeds and weights": "x", "model": "jostle.zoo:lenet5", "seeds": "ok.npy", "files": {}, "seed": 1e99}',
        b'{"seeds and weights": "x", "model": "jostle.zoo:lenet5", "seeds": "ok.npy", "files": {}}',
        b'{"seeds and weights": "x", "model": "jostle.zoo:lenet5", "seeds": "ok.npy"}',
    ],
)
def test_a_damaged_configuration_is_refused(content: bytes, jostle: Run, in_workshop: Path, copied: Path) -> None:
    (copied / "config.json").write_bytes(content.replace(b'{"', b'{"folder format": 1, "', 1))
    check_refused(jostle("evaluate", str(copied), "weights16"))


@pytest.mark.parametrize(
    ("name", "value"),
    [("mean", [0.5, 0.5]), ("mean", [0.5]), ("batch", 0), ("seed", 2**64), ("range", [0, 0.5])],
)
def test_a_configuration_with_a_setting_that_cannot_be_is_refused(
    name: str, value: object, jostle: Run, copied: Path
) -> None:
    config = json.loads((copied / "config.json").read_text())
    (copied / "config.json").write_text(json.dumps({**config, name: value}))
    check_refused(jostle("evaluate", str(copied), "weights16"))


@pytest.mark.parametrize(
    "line", [b"{", b"[]", b"5", b"{}", b"\xff\xff", b'{"step": null, "executions": 1, "kept": 1}', b'{"step": 0}']
)
def test_a_damaged_journal_is_refused(line: bytes, jostle: Run, copied: Path) -> None:
    journal = copied / "journal.jsonl"
    journal.write_bytes(journal.read_bytes() + line + b"\n")
    check_refused(jostle("evaluate", str(copied), "weights16"), "journal.jsonl is damaged")


def test_a_journal_that_is_gone_is_refused_and_one_cut_off_is_read_up_to_there(
    jostle: Run, digits: Path, copied: Path
) -> None:
    journal = copied / "journal.jsonl"
    whole = scores(jostle("evaluate", str(digits), "weights16", "--json"))
    journal.write_bytes(journal.read_bytes() + b'{"step": 99, "exec')  # as if the campaign were running
    assert scores(jostle("evaluate", str(copied), "weights16", "--json")) == whole
    assert journal.read_bytes().endswith(b'"exec')
    journal.write_bytes(b"")
    check_refused(jostle("evaluate", str(copied), "weights16"), "kept no tests")
    journal.unlink()
    check_refused(jostle("evaluate", str(copied), "weights16"), "holds no campaign")


@pytest.mark.parametrize("damage", ["gone", "empty", "cut", "garbage", "foreign"])
@pytest.mark.parametrize("which", [0, -1])
def test_a_damaged_corpus_is_refused(damage: str, which: int, jostle: Run, workshop: Path, copied: Path) -> None:
    file = sorted((copied / "corpus").glob("*.safetensors"))[which]
    whole = file.read_bytes()
    if damage == "gone":
        file.unlink()
    else:
        other = (workshop / "tensors.safetensors").read_bytes()
        file.write_bytes({"empty": b"", "cut": whole[: len(whole) // 2], "garbage": b"hello", "foreign": other}[damage])
    check_refused(jostle("evaluate", str(copied), "weights16"), "the corpus in", "is damaged")


def test_a_corpus_file_of_another_campaign_is_refused(
    jostle: Run, in_workshop: Path, copied: Path, tmp_path: Path
) -> None:
    np.save(tmp_path / "small.npy", np.random.default_rng(0).random((60, 20), dtype=np.float32))
    fuzzed(tmp_path / "other", *f"models.py:vectors --seeds {tmp_path / 'small.npy'}".split())
    shutil.copy(tmp_path / "other" / "corpus" / "00000000.safetensors", copied / "corpus")
    check_refused(jostle("evaluate", str(copied), "weights16"), "the corpus in", "is damaged")
