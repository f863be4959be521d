"""Rows of tokens: what seeds show of them, and what may become of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from jostle.errors import PreflightFailed, SeedsRefused
from jostle.inputs.preflight import check_inside
from jostle.inputs.seeds import SeedForm, load_seeds
from jostle.inputs.tokens import TokenForm, Tokens, edit_sizes, marked, tokens_of
from jostle.inputs.wave_files import WaveForm

CLS, SEP, PAD = 1, 2, 0


def sentences(count: int = 10) -> Tensor:
    """Rows [count, 12] that begin with CLS, end with SEP, and are filled up with zeros."""
    rng = torch.Generator().manual_seed(0)
    rows = torch.randint(3, 40, (count, 12), generator=rng)
    rows[:, 0] = CLS
    for row in range(count):
        rows[row, 5 + row % 6] = SEP
        rows[row, 6 + row % 6 :] = PAD
    return rows


def names(rows: Tensor) -> tuple[str, ...]:
    return tuple(f"s{row}" for row in range(len(rows)))


def domain_of(rows: Tensor, form: TokenForm | None = None) -> Tokens:
    return tokens_of(rows, names(rows), form or TokenForm())


def test_padding_and_marks_are_read_off_the_seeds() -> None:
    domain = domain_of(sentences())
    assert (domain.pad, domain.special, domain.vocabulary) == (PAD, (CLS, SEP), int(sentences().max()) + 1)


def test_what_the_user_says_counts_more() -> None:
    domain = domain_of(sentences(), TokenForm(100, 7, (9,)))
    assert (domain.pad, domain.special, domain.vocabulary) == (7, (9,), 100)


@pytest.mark.parametrize(
    "spoilt",
    [
        lambda rows: rows[:4],  # so few that it may be chance
        lambda rows: rows.index_put((torch.tensor(3), torch.tensor(2)), torch.tensor(CLS)),  # it stands elsewhere too
    ],
)
def test_a_mark_that_may_be_chance_is_none(spoilt: Callable[[Tensor], Tensor]) -> None:
    assert CLS not in domain_of(spoilt(sentences())).special


def test_rows_without_a_tail_have_no_padding() -> None:
    rows = torch.arange(20).reshape(2, 10)
    assert domain_of(rows).pad is None
    assert domain_of(rows).lengths(rows).tolist() == [10, 10]
    ends_alike = torch.cat([rows, torch.full((2, 1), 30)], 1)
    assert domain_of(ends_alike).pad is None  # one token at the end of every row ends it


def test_neither_padding_nor_marks_are_editable_or_ordinary() -> None:
    rows = sentences()
    domain = domain_of(rows)
    assert not domain.editable(rows)[torch.isin(rows, torch.tensor([PAD, CLS, SEP]))].any()
    assert domain.editable(rows).sum() == (rows > SEP).sum()
    assert domain.ordinary.tolist() == list(range(3, domain.vocabulary))


@settings(deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6))
def test_the_nearest_is_inside_and_the_same_where_it_was_inside(seed: int) -> None:
    domain = Tokens(30, PAD, (CLS,))
    rows = torch.randint(-5, 40, (6, 8), generator=torch.Generator().manual_seed(seed))
    inside = domain.nearest(rows, rows)
    assert domain.outside(inside) is None
    assert torch.equal(domain.nearest(inside, rows), inside)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ([4, 30, 5, 0], "token 30 at position 1 is beyond the vocabulary of 30"),
        ([4, -3, 5, 0], "token -3 at position 1 is below 0: number tokens from 0"),
        ([4, 0, 5, 0], "padding 0 at position 1 stands before other tokens"),
    ],
)
def test_what_is_outside_is_told_by_place_and_value(row: list[int], problem: str) -> None:
    outside = Tokens(30, PAD).outside(torch.tensor([[4, 5, 0, 0], row]))
    assert outside is not None and outside == (1, problem)


def test_a_models_embedding_gives_the_vocabulary_unless_the_user_does() -> None:
    assert domain_of(sentences()).of_model(500).vocabulary == 500
    assert domain_of(sentences(), TokenForm(100)).of_model(500).vocabulary == 100
    with pytest.raises(PreflightFailed, match="--vocabulary 600: the model's embedding has 500: give at most that"):
        domain_of(sentences(), TokenForm(600)).of_model(500)


def test_seeds_beyond_the_vocabulary_are_named() -> None:
    rows = sentences()
    rows[4, 3] = 77
    with pytest.raises(SeedsRefused, match="--vocabulary 50: seed s4 has token 77 at position 3: give at least 78"):
        domain_of(rows, TokenForm(50))
    with pytest.raises(SeedsRefused, match="--vocabulary 50 leaves out --pad or --special: give at least 61"):
        domain_of(sentences(), TokenForm(50, 60))
    rows[4, 3] = -2
    with pytest.raises(SeedsRefused, match="seed s4 has token -2 at position 3: number tokens from 0"):
        domain_of(rows)


def test_changes_are_marked() -> None:
    assert marked(["the", "cat", "sat"], ["the", "cot", "sat", "down"], " ") == "the [cat→cot] sat [→down]"
    files = Tokens(30, PAD).files(torch.tensor([4, 9, 6, 0]), torch.tensor([4, 5, 6, 7]))
    assert files == {"change.txt": "4 [5→9] 6 [7→]\n".encode()}


def test_a_change_is_as_large_as_its_edits() -> None:
    reference, input = torch.tensor([[4, 5, 6, 7, 0]]), torch.tensor([[9, 4, 5, 6, 7]])
    sizes = edit_sizes(input, reference, Tokens(30, PAD))
    assert {name: float(size) for name, size in sizes.items()} == {"L0": 1, "L2": 1, "relative L2": 0.5, "L∞": 1}


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8])
def test_whole_numbers_in_rows_stay_whole(tmp_path: Path, dtype: type) -> None:
    np.save(tmp_path / "rows.npy", sentences().numpy().astype(dtype))
    seeds = load_seeds(str(tmp_path / "rows.npy"), SeedForm())
    assert torch.equal(seeds.inputs, sentences()) and seeds.inputs.dtype == torch.int64
    assert isinstance(seeds.domain, Tokens)
    assert seeds.domain.vocabulary == (256 if dtype is np.uint8 else int(sentences().max()) + 1)
    check_inside(seeds, seeds.domain)


def test_whole_numbers_of_more_dimensions_are_values(tmp_path: Path) -> None:
    np.save(tmp_path / "images.npy", np.zeros((2, 1, 4, 4), dtype=np.uint8))
    seeds = load_seeds(str(tmp_path / "images.npy"), SeedForm())
    assert seeds.inputs.dtype == torch.float32 and seeds.domain is None
    with pytest.raises(SeedsRefused, match="--pad and --special are for tokens"):
        load_seeds(str(tmp_path / "images.npy"), SeedForm(tokens=TokenForm(pad=0)))


def test_rows_of_several_lengths_are_refused_with_the_fix(tmp_path: Path) -> None:
    (tmp_path / "ragged.py").write_text("def rows():\n    return [[1, 2, 3], [4, 5]]\n")
    with pytest.raises(SeedsRefused, match=r"gives rows of 2 to 3 tokens: fill them up to one length .* --pad"):
        load_seeds(f"{tmp_path / 'ragged.py'}:rows", SeedForm())


def test_whole_numbers_with_a_rate_are_waves(tmp_path: Path) -> None:
    np.save(tmp_path / "waves.npy", np.full((2, 50), -300, dtype=np.int16))
    seeds = load_seeds(str(tmp_path / "waves.npy"), SeedForm(waves=WaveForm(8000)))
    assert seeds.inputs.is_floating_point() and seeds.domain is not None and seeds.domain.kind == "audio"
