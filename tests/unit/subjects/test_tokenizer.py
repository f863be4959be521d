"""What makes tokens of texts."""

from __future__ import annotations

from pathlib import Path

import pytest
import tokenizers
import torch
from torch import Tensor, nn

from jostle.code_points import as_code_points
from jostle.errors import UsageError
from jostle.subjects.tokenizer import load_tokenizer
from jostle.subjects.torch_module import of_module

TEXTS = as_code_points(["the cat", "the cat sat on", "é"], 20)


def saved(path: Path) -> str:
    """A tokenizer of a few words, with marks at both ends."""
    known = {word: number for number, word in enumerate(["[UNK]", "[CLS]", "[SEP]", "the", "cat", "sat", "[PAD]"])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(known, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer.save(str(path / "tokenizer.json"))
    return str(path / "tokenizer.json")


def test_a_tokenizers_file_cuts_within_its_marks_and_pads_with_its_padding(tmp_path: Path) -> None:
    tokens, mask = load_tokenizer(saved(tmp_path), 5, None).tokens(TEXTS)
    assert tokens.tolist() == [[1, 3, 4, 2, 6], [1, 3, 4, 5, 2], [1, 0, 2, 6, 6]]
    assert mask.tolist() == [[1, 1, 1, 1, 0], [1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]
    assert load_tokenizer(saved(tmp_path), 5, 9).tokens(TEXTS)[0][0].tolist() == [1, 3, 4, 2, 9]


def lengths_of_words(text: str) -> list[int]:
    return [len(word) for word in text.split()]


def test_a_function_and_utf_8_make_tokens_too() -> None:
    assert load_tokenizer(f"{__file__}:lengths_of_words", 3, None).tokens(TEXTS)[0].tolist() == [
        [3, 3, 0],
        [3, 3, 3],
        [1, 0, 0],
    ]
    assert load_tokenizer("bytes", 3, None).tokens(TEXTS)[0].tolist() == [
        [116, 104, 101],
        [116, 104, 101],
        [195, 169, 0],
    ]


def no_list(text: str) -> str:
    return text


def test_a_function_that_gives_no_numbers_says_so_when_it_runs() -> None:
    with pytest.raises(ValueError, match="--tokenizer must return a list of whole numbers for a text"):
        load_tokenizer(f"{__file__}:no_list", 3, None).tokens(TEXTS)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("gone.json", "gone.json is no tokenizer .it does not exist.: give a tokenizer.json"),
        (__file__, "is no tokenizer .*: give a tokenizer.json, FILE.py:function of a text, or bytes"),
        (f"{__file__}:TEXTS", "is a Tensor: give a tokenizer.json"),
    ],
)
def test_what_is_no_tokenizer_is_refused(spec: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        load_tokenizer(spec, 3, None)


class Masked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(256, 4)

    def forward(self, tokens: Tensor, attention_mask: Tensor) -> Tensor:
        return (self.words(tokens) * attention_mask[..., None]).sum(1)


def test_a_model_reads_texts_with_a_mask_where_it_takes_one() -> None:
    subject = of_module(Masked()).reading(load_tokenizer("bytes", 10, 7))
    short, long = subject.target().predict(as_code_points(["ab", "ab\x07"], 5))
    assert torch.allclose(short, subject.module.words.weight[[97, 98]].sum(0))  # type: ignore[attr-defined]
    assert not torch.equal(short, long)
    assert [layer.name for layer in subject.layers(TEXTS)] == ["words"]
    assert subject.outputs(TEXTS) == {"": [3, 4]}


def test_a_file_too_large_for_a_tokenizer_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "tokenizer.json").open("wb") as file:
        file.truncate(2**30)
    with pytest.raises(UsageError, match="it is larger than 134217728 bytes"):
        load_tokenizer(str(tmp_path / "tokenizer.json"), 8, None)
