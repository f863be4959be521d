"""Texts as seeds."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from jostle.code_points import as_code_points, as_texts
from jostle.errors import SeedsRefused
from jostle.inputs.seeds import SeedForm, load_seeds, stream_seeds

TEXTS = SeedForm(texts=True)


def test_code_points_give_texts_back() -> None:
    texts = ["", "ein Baum", "дерево 🌳"]
    assert as_texts(as_code_points(texts, 9)) == texts


def test_a_folder_has_a_text_in_each_file_and_a_class_in_each_subfolder(tmp_path: Path) -> None:
    for place, text in (("bad/x.txt", "dull\n"), ("good/y.txt", "fine"), ("good/z.TXT", "schön")):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_text(text, encoding="utf-8")
    seeds = load_seeds(str(tmp_path), TEXTS)
    assert as_texts(seeds.inputs) == ["dull\n", "fine", "schön"]
    assert (seeds.labels.tolist(), seeds.names[1]) == ([0, 1, 1], "good/y.txt")
    assert seeds.domain is not None and (seeds.domain.kind, seeds.domain.mutator) == ("text", "text")
    parts = list(stream_seeds(str(tmp_path), TEXTS, 2).parts)
    assert [len(part) for part in parts] == [2, 1] and parts[1].domain == seeds.domain


def test_a_file_has_a_text_on_each_line(tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_bytes(b"one\r\n\ntwo \n")
    seeds = load_seeds(str(tmp_path / "texts.txt"), TEXTS)
    assert as_texts(seeds.inputs) == ["one", "two "]
    assert seeds.names[1] == f"{tmp_path / 'texts.txt'}:3"


def test_a_text_and_its_change_are_files() -> None:
    domain = load_seeds(f"{__file__}:two_texts", TEXTS).domain
    assert domain is not None
    after, before = as_code_points(["the cot sаt", "the cat sat"], 20)
    files = domain.files(after, before)
    assert files["input.txt"].decode() == "the cot sаt"
    assert files["change.txt"].decode() == "the [cat→cot] [sat→sаt U+0430]\n"


def two_texts() -> tuple[list[str], list[int]]:
    return ["good", "bad"], [1, 0]


def test_a_function_may_return_texts_with_labels() -> None:
    seeds = load_seeds(f"{__file__}:two_texts", TEXTS)
    assert as_texts(seeds.inputs) == ["good", "bad"] and torch.equal(seeds.labels, torch.tensor([1, 0]))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\xff\xfe\x00", "is no text in UTF-8: convert or remove it"),
        (b"\n \n", "holds no text: write one on each line"),
        (b"a\0b", "holds a NUL or half a character: remove it"),
        (b"", "it is empty"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "texts.txt").write_bytes(content)
    with pytest.raises(SeedsRefused, match=says):
        load_seeds(str(tmp_path / "texts.txt"), TEXTS)


def test_texts_need_a_tokenizer_and_a_tokenizer_texts(tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("one")
    with pytest.raises(SeedsRefused, match="are texts: name what makes tokens of them with --tokenizer"):
        load_seeds(str(tmp_path / "texts.txt"), SeedForm())
    with pytest.raises(SeedsRefused, match="--tokenizer is for texts"):
        load_seeds("jostle.zoo:mnist_sample", TEXTS)


def test_one_long_text_among_many_is_refused_before_all_are_as_wide(tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("short\n" * 20_000 + "x" * 100_000)
    with pytest.raises(SeedsRefused, match=r"as wide as .*:20001, the longest with 100,000, .* shorten that one"):
        load_seeds(str(tmp_path / "texts.txt"), TEXTS)


def test_a_file_too_large_for_a_text_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_bytes(b"x" * 400_001)
    with pytest.raises(SeedsRefused, match="it is larger than 400000 bytes"):
        load_seeds(str(tmp_path), TEXTS)
    with (tmp_path / "one.txt").open("wb") as file:
        file.truncate(300 * 2**20)
    with pytest.raises(SeedsRefused, match="it is larger than 268435456 bytes"):
        load_seeds(str(tmp_path / "one.txt"), TEXTS)
