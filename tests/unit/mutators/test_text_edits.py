"""Edits that a person reads over."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from jostle.code_points import UNICODE, as_code_points, as_texts
from jostle.errors import UsageError
from jostle.inputs.text import read_synonyms
from jostle.inputs.tokens import Tokens
from jostle.mutators.bounded_edits import BoundedEdits
from jostle.mutators.text import LATIN, LOOK_ALIKES, TextEdits
from jostle.randomness import randomness
from making import batch_of, texts_of

DOMAIN = Tokens(UNICODE, 0, kind="text", mutator="text")
SENTENCE = "The cat sat on a good mat"


def edited(text: str, left: int = 9, synonyms: dict[str, list[str]] | None = None, times: int = 2000) -> dict[str, str]:
    """Some edits of a text, by what was done."""
    rows = as_code_points([text] * times, 40)
    made = TextEdits(DOMAIN, synonyms).edit(rows, torch.zeros(times), torch.full((times,), left), randomness(0, 1))
    return dict(zip(made.names, as_texts(made.rows), strict=True))


def test_every_kind_of_edit_does_what_its_name_says() -> None:
    made = edited(SENTENCE, synonyms={"good": ["fine"]})
    assert made["swap letters 4"] == "The act sat on a good mat"
    assert made["drop letter 5"] == "The ct sat on a good mat"
    assert made["double letter 4"] == "The ccat sat on a good mat"
    assert made["case 4"] == "The Cat sat on a good mat"
    assert made["look-alike 5"] == "The c\u0430t sat on a good mat"
    assert made["double space 7"] == "The cat  sat on a good mat"
    assert made["no-break space 3"] == "The\u00a0cat sat on a good mat"
    assert made["capitals 4"] == "The CAT sat on a good mat"
    assert made["synonym 17"] == "The cat sat on a fine mat"


def test_a_synonym_keeps_the_capital() -> None:
    assert edited("Good cat", synonyms={"good": ["fine"]})["synonym 0"] == "Fine cat"


def test_a_word_is_left_that_would_cost_more_than_is_left() -> None:
    assert not {name.split()[0] for name in edited("wonderful wonderful", left=3)} & {"capitals"}


def test_letters_that_look_alike_are_as_many_and_none_is_itself() -> None:
    assert len(LATIN) == len(LOOK_ALIKES) == len(set(LOOK_ALIKES))
    assert not set(LATIN) & set(LOOK_ALIKES)


def test_a_text_without_anything_to_edit_is_left_and_says_so() -> None:
    rows = as_code_points(["12345", "!"], 10)
    children = BoundedEdits(DOMAIN, TextEdits(DOMAIN)).mutate(batch_of(rows), randomness(0, 1))
    assert torch.equal(children.inputs, rows) and texts_of(children) == ("unchanged", "unchanged")


def test_synonyms_are_read_in_all_directions(tmp_path: Path) -> None:
    (tmp_path / "words").write_text("good, fine ,nice\n\nalone\nbig,large\n")
    assert read_synonyms(tmp_path / "words") == {
        "good": ["fine", "nice"],
        "fine": ["good", "nice"],
        "nice": ["good", "fine"],
        "big": ["large"],
        "large": ["big"],
    }


@pytest.mark.parametrize(("content", "says"), [("alone", "has no line with two words"), (None, "cannot be read")])
def test_a_file_without_synonyms_is_refused(tmp_path: Path, content: str | None, says: str) -> None:
    if content is not None:
        (tmp_path / "words").write_text(content)
    with pytest.raises(UsageError, match=f"{says}.*give a file with a line for each meaning"):
        read_synonyms(tmp_path / "words")


def test_synonyms_are_not_read_from_a_huge_file_or_a_device(tmp_path: Path) -> None:
    with (tmp_path / "words").open("wb") as file:
        file.truncate(2**30)
    (tmp_path / "zeros").symlink_to("/dev/zero")
    for name, says in (("words", "it is larger than 16777216 bytes"), ("zeros", "not a regular file")):
        with pytest.raises(UsageError, match=says):
            read_synonyms(tmp_path / name)
