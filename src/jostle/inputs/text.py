"""Texts as seeds: a folder of .txt files, a .txt file with a text on each line, or a list of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from torch import Tensor

from jostle.code_points import NO_CHARACTER, UNICODE, as_code_points
from jostle.errors import SeedsRefused, UsageError
from jostle.foreign import Crash, attempt
from jostle.inputs.tokens import TEXT, Tokens
from jostle.records import Seeds
from jostle.untrusted.files import read_bounded

LARGEST_SYNONYMS = 16 * 2**20  # bytes
SUFFIX = ".txt"
LONGEST = 100_000  # characters of one text
LARGEST_TEXT = 4 * LONGEST  # bytes, because UTF-8 has up to four for a character
LARGEST = 256 * 2**20  # bytes of a file with a text on each line
MOST_LINES = 1_000_000  # each of hundreds of bytes while it is read
MOST_PLACES = 50_000_000  # of all texts together, each as wide as the longest and eight bytes large
ROOM = 0.25  # of the longest, for what is written into texts, and at least
LEAST_ROOM = 16  # characters


def text_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() == SUFFIX)


def lines_of(path: Path) -> tuple[list[str], tuple[str, ...]]:
    """The texts of a file, one on each line that is not empty, and their names."""
    content = _content(path, LARGEST)
    if content.count("\n") > MOST_LINES:
        raise SeedsRefused(f"{path} has more than {MOST_LINES:,} lines: give fewer")
    lines = [(number, line.rstrip("\r")) for number, line in enumerate(content.split("\n"), 1)]
    full = [(number, line) for number, line in lines if line.strip()]
    if not full:
        raise SeedsRefused(f"{path} holds no text: write one on each line")
    return [line for _, line in full], tuple(f"{path}:{number}" for number, _ in full)


def read_text(path: Path) -> str:
    """The text of a file that holds one."""
    return _content(path, LARGEST_TEXT)


def _content(path: Path, limit: int) -> str:
    content = attempt(partial(_decoded, path, limit))
    if isinstance(content, Crash):
        raise SeedsRefused(f"{path} is no text in UTF-8: convert or remove it ({content.message or content.error})")
    return content


def _decoded(path: Path, limit: int) -> str:
    return read_bounded(path, limit).decode("utf-8")


def seeds_of_texts(texts: Sequence[str], labels: Tensor, names: tuple[str, ...]) -> Seeds:
    """Texts as rows of code points, with room for a few more characters."""
    for text, name in zip(texts, names, strict=True):
        if not 0 < len(text) <= LONGEST:
            raise SeedsRefused(f"seed {name} has {len(text):,} characters: give texts of 1 to {LONGEST:,}")
        if "\0" in text or any("\ud800" <= sign <= "\udfff" for sign in text):
            raise SeedsRefused(f"seed {name} holds a NUL or half a character: remove it")
    lengths = [len(text) for text in texts]
    longest = max(lengths)
    width = longest + max(LEAST_ROOM, round(ROOM * longest))
    if len(texts) * width > MOST_PLACES:
        raise SeedsRefused(
            f"{len(texts):,} seeds as wide as {names[lengths.index(longest)]}, the longest with {longest:,}, "
            f"are more than {MOST_PLACES:,} characters: shorten that one, or give fewer"
        )
    domain = Tokens(UNICODE, NO_CHARACTER, stated=True, kind=TEXT, mutator="text")
    return Seeds(as_code_points(texts, width), labels, names, domain)


def read_synonyms(path: Path) -> dict[str, list[str]]:
    """By word, the others of its line."""
    content = attempt(lambda: read_bounded(path, LARGEST_SYNONYMS).decode("utf-8"))
    fix = "give a file with a line for each meaning, such as good, fine"
    if isinstance(content, Crash):
        raise UsageError(f"--synonyms {path} cannot be read ({content.message or content.error}): {fix}")
    groups = [[word.strip() for word in line.split(",") if word.strip()] for line in content.splitlines()]
    found: dict[str, list[str]] = {}
    for group in groups:
        for word in group if len(group) > 1 else []:
            found.setdefault(word.lower(), []).extend(other for other in group if other != word)
    if not found:
        raise UsageError(f"--synonyms {path} has no line with two words: {fix}")
    return found
