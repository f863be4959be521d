"""Tokens and texts from the command line: planted defects are found, and what is wrong is told in one line."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest
from running import Ended, in_this_process

from jostle.cli.terminal import Exit

EXAMPLE = Path(__file__).parents[2] / "examples" / "text_classifier.py"
OPTIONS = "--length 12 --executions 1500 --out OUT"
TEXTS = f"{EXAMPLE}:model --seeds {EXAMPLE}:reviews --tokenizer {EXAMPLE}:words {OPTIONS}"
TOKENS = f"{EXAMPLE}:weighted --seeds {EXAMPLE}:rows --executions 1500 --out OUT"
RAGGED = "def rows():\n    return [[1, 2, 3], [4, 5]]\n"
LINEAR = "import torch\n\ndef model():\n    return torch.nn.Linear(4, 2)\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of seeds and models, where the command runs."""
    monkeypatch.chdir(tmp_path)
    rows = np.arange(3, 27).reshape(6, 4)
    for name, array in (("rows", rows), ("large", rows + 100), ("negative", rows - 5), ("floats", rows / 30)):
        np.save(tmp_path / f"{name}.npy", array)
    (tmp_path / "own.py").write_text(RAGGED + "\n\n" + LINEAR)
    (tmp_path / "texts.txt").write_text("a great film\nquite dull\n")
    (tmp_path / "latin.txt").write_bytes("schön".encode("latin-1"))
    (tmp_path / "words.json").write_text("{}")
    return tmp_path


def fuzz(arguments: str) -> Ended:
    return in_this_process("fuzz", *shlex.split(arguments))


def changes(folder: Path, kind: str) -> list[str]:
    return [path.read_text() for path in sorted(folder.glob(f"OUT/findings/*-{kind}-*/change.txt"))]


def test_a_word_in_capitals_changes_the_class_of_a_text(folder: Path) -> None:
    ended = fuzz(f"{TEXTS} --oracle flip --minimise")
    assert ended.code == Exit.FINDINGS, ended.err
    found = changes(folder, "flip")
    assert found and all("→" in change for change in found)
    (text, *_) = folder.glob("OUT/findings/*/input.txt")
    assert text.read_text() != "" and (text.parent / "minimised-change.txt").exists()
    assert in_this_process("replay", str(text.parent)).code == Exit.FINDINGS


@pytest.mark.parametrize("isolated", ["", "--isolate"])
def test_a_word_said_twice_makes_the_scores_nan(folder: Path, isolated: str) -> None:
    ended = fuzz(f"{TOKENS} --oracle nan --minimise {isolated}")
    assert ended.code == Exit.FINDINGS, ended.err
    assert "tokens: vocabulary 29, padding 0" in ended.err
    (change,) = changes(folder, "nan")
    assert "→" in change
    assert in_this_process("cmin", "OUT").code == Exit.CLEAN


def test_gradients_find_substitutions_that_change_the_class(folder: Path) -> None:
    ended = fuzz(f"{EXAMPLE}:model --seeds {EXAMPLE}:rows --recipe dlfuzz --executions 400 --out OUT")
    assert ended.code == Exit.FINDINGS, ended.err
    assert changes(folder, "flip")


def test_a_campaign_over_texts_goes_on_where_it_was(folder: Path) -> None:
    assert fuzz(f"{TEXTS} --oracle nan").code == Exit.CLEAN
    ended = fuzz(TEXTS.replace("1500", "2000") + " --oracle nan")
    assert ended.code == Exit.CLEAN and "2,000" in ended.out


@pytest.mark.parametrize(
    ("arguments", "cause", "fix"),
    [
        (
            f"{EXAMPLE}:model --seeds large.npy",
            "token 103 at position 0 is beyond the vocabulary of 29",
            "large.npy[0]",
        ),
        (f"{EXAMPLE}:model --seeds negative.npy", "negative.npy[0] has token -2 at position 0", "number tokens from 0"),
        (f"{EXAMPLE}:model --seeds rows.npy --vocabulary 9", "rows.npy[1] has token 9", "give at least 27"),
        (f"{EXAMPLE}:model --seeds rows.npy --vocabulary 99", "the model's embedding has 29", "give at most that"),
        (f"{EXAMPLE}:model --seeds rows.npy --range 0,255", "--range is for values", "leave it out"),
        (f"{EXAMPLE}:model --seeds rows.npy --mutator noise", "the seeds are tokens", "use --mutator tokens"),
        (f"{EXAMPLE}:model --seeds rows.npy --mutator gradient", "the seeds are tokens", "use --mutator embedding"),
        (f"{EXAMPLE}:model --seeds rows.npy --mutator metamorphic", "are no images", "use --mutator tokens"),
        (f"{EXAMPLE}:model --seeds rows.npy --mutator text", "is for texts", "use --mutator tokens"),
        (f"{EXAMPLE}:model --seeds rows.npy --tokenizer bytes", "--tokenizer is for texts", "leave it out"),
        (f"{EXAMPLE}:model --seeds floats.npy --pad 0", "--pad and --special are for tokens", "leave them out"),
        (f"{EXAMPLE}:model --seeds own.py:rows", "gives rows of 2 to 3 tokens", "name it with --pad"),
        (f"{EXAMPLE}:model --seeds rows.npy --edits 0", "--edits 0", "give a share of a row"),
        ("own.py:model --seeds rows.npy", "it is given as tokens", "save values as floats"),
        (f"{EXAMPLE}:model --seeds texts.txt", "texts.txt are texts", "--tokenizer"),
        (f"{EXAMPLE}:model --seeds latin.txt --tokenizer bytes", "latin.txt is no text in UTF-8", "convert or remove"),
        (f"{EXAMPLE}:model --seeds texts.txt --tokenizer gone.json", "it does not exist", "give a tokenizer.json"),
        (f"{EXAMPLE}:model --seeds texts.txt --tokenizer own.py:gone", "own.py has no 'gone'", "check the name"),
        (
            f"{EXAMPLE}:model --seeds texts.txt --tokenizer bytes",
            "the model fails on seeds",
            "--tokenizer is the model's",
        ),
        (f"{TEXTS} --synonyms gone.txt", "--synonyms gone.txt cannot be read", "give a file with a line"),
        (f"{TEXTS} --mutator tokens", "is for tokens", "use --mutator text"),
        (f"{TEXTS} --mutator embedding", "is for tokens", "use --mutator text"),
    ],
)
def test_what_is_wrong_is_told_with_the_fix(folder: Path, arguments: str, cause: str, fix: str) -> None:
    ended = fuzz(arguments)
    assert ended.code == Exit.USAGE, ended
    (line,) = ended.err.splitlines()
    assert cause in line and fix in line
    assert "--range 0,255" not in line or "--range" in arguments


def test_a_file_that_is_no_tokenizer_is_told(folder: Path) -> None:
    ended = fuzz(f"{EXAMPLE}:model --seeds texts.txt --tokenizer words.json")
    assert ended.code == Exit.USAGE and "words.json is no tokenizer" in ended.err
