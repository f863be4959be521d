"""Wherever rows lie, in memory or on disk, they are the same."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from fragile_campaign import SEEDS, Run, Sturdy, interrupted
from jostle.campaign import Budget
from jostle.mutators.noise import Noise
from jostle.randomness import randomness
from jostle.schedulers.recent import Uniform
from jostle.storage.corpus import Corpus
from jostle.storage.stored_rows import StoredRows
from making import texts_of

TYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.uint8, torch.bool)
WHOLE = Budget(executions=12 + 16 * 40)


def any_rows(count: int, like: Tensor, seed: int) -> Tensor:
    """Rows of any bits."""
    bits = 2 if like.dtype is torch.bool else 256
    size = like.element_size() * like.shape[1:].numel()
    drawn = torch.randint(bits, (count, size), generator=randomness(seed, count), dtype=torch.uint8)
    return drawn.view(like.dtype).reshape(count, *like.shape[1:])


def bytes_of(rows: Tensor) -> bytes:
    return rows.contiguous().flatten().view(torch.uint8).numpy().tobytes()


@settings(deadline=None, max_examples=60)
@given(
    dtype=st.sampled_from(TYPES),
    shape=st.sampled_from([(), (3,), (1, 5), (2, 2, 2)]),
    memory=st.none() | st.integers(1, 600),
    steps=st.lists(st.tuples(st.integers(0, 25), st.integers(0, 12)), min_size=1, max_size=12),
)
def test_any_sequence_of_additions_and_selections_gives_the_rows_that_were_added(
    dtype: torch.dtype, shape: Sequence[int], memory: int | None, steps: list[tuple[int, int]]
) -> None:
    like = torch.empty(0, *shape, dtype=dtype)
    stored, expected = StoredRows(like, memory), like
    for number, (added, selected) in enumerate(steps):
        rows = any_rows(added, like, number)
        stored.add(rows)
        expected = torch.cat([expected, rows])
        assert len(stored) == len(expected)
        if len(expected):
            ids = torch.randint(len(expected), (selected,), generator=randomness(number, 1))
            assert bytes_of(stored.select(ids)) == bytes_of(expected[ids])
    assert bytes_of(stored.select(torch.arange(len(expected)))) == bytes_of(expected)
    stored.close()


@pytest.mark.parametrize("memory", [1, 64, 333, 100_000])
def test_no_more_is_in_memory_than_may_be_and_one_row(memory: int, tmp_path: Path) -> None:
    stored = StoredRows(torch.empty(0, 10), memory, tmp_path)
    for step in range(30):
        stored.add(torch.rand(17, 10, generator=randomness(0, step)))
        assert len(stored) * 40 - stored.on_disk <= max(memory, 40)
    assert (stored.on_disk > 0) == (memory < 30 * 17 * 40)


@pytest.mark.parametrize("memory", [1, 40, 200])
def test_entries_have_the_same_lineage_wherever_their_inputs_lie(memory: int, tmp_path: Path) -> None:
    corpora = [Corpus(SEEDS), Corpus(SEEDS, memory, tmp_path)]
    for corpus in corpora:
        corpus.add(SEEDS.as_candidates())
        for step in range(20):
            ids = torch.randint(len(corpus), (5,), generator=randomness(1, step))
            corpus.add(Noise(0.1, 0, 1).mutate(corpus.as_parents(ids), randomness(2, step)))
    ours, theirs = (corpus.select(torch.arange(len(corpus)).flip(0)) for corpus in corpora)
    assert torch.equal(ours.inputs, theirs.inputs) and torch.equal(ours.parents, theirs.parents)
    assert torch.equal(ours.roots, theirs.roots) and texts_of(ours) == texts_of(theirs)
    assert not corpora[0].on_disk and corpora[1].on_disk


@pytest.mark.parametrize("memory", [1, 100, 500])
def test_a_campaign_is_the_same_with_little_memory(memory: int, tmp_path: Path) -> None:
    plenty = Run(WHOLE, scheduler=Uniform).to_the_end()
    little = Run(WHOLE, scheduler=Uniform, corpus_memory=memory, scratch_folder=tmp_path).to_the_end()
    assert little.campaign.corpus.on_disk and little.journal() == plenty.journal()


def test_an_interruption_changes_nothing_with_little_memory(tmp_path: Path) -> None:
    choices = {"scheduler": Uniform, "module": Sturdy()}
    at_once = Run(WHOLE, **choices).to_the_end()
    run, history = interrupted(tmp_path, 12 + 16 * 15, WHOLE, **choices, corpus_memory=64, scratch_folder=tmp_path)
    run.to_the_end(history)
    assert run.campaign.corpus.on_disk and run.journal() == at_once.journal()[16:]
