"""Ids of one worker's corpus, and which they are in the campaign's."""

from __future__ import annotations

import random

import pytest
import torch

from jostle.records import NO_PARENT
from jostle.scale.corpus_ids import CorpusIds

SEEDS = 4


def mixed_corpus(chance: random.Random) -> tuple[CorpusIds, list[int]]:
    """A worker that kept some entries of a corpus, several of which others kept in between, and all that it has."""
    ids, has, entries = CorpusIds(SEEDS), list(range(SEEDS)), SEEDS
    for _ in range(20):
        entries += chance.randrange(5)  # of others
        kept = list(range(entries, entries := entries + chance.randrange(4)))
        ids.add(torch.tensor(kept, dtype=torch.int64))
        has += kept
    return ids, has


@pytest.mark.parametrize("seed", range(20))
def test_the_entries_of_a_worker_have_the_ids_that_the_campaign_gave_them(seed: int) -> None:
    ids, has = mixed_corpus(random.Random(seed))
    assert ids.of_campaign(torch.arange(len(has))).tolist() == has
    some = torch.randperm(len(has))
    assert ids.of_campaign(some).tolist() == [has[own] for own in some.tolist()]


def test_what_is_no_id_stays_as_it_is() -> None:
    ids, _ = mixed_corpus(random.Random(0))
    assert ids.of_campaign(torch.tensor([NO_PARENT, 0, NO_PARENT])).tolist() == [NO_PARENT, 0, NO_PARENT]


def test_no_entries_are_added_and_asked_for_as_well() -> None:
    ids, nothing = CorpusIds(SEEDS), torch.empty(0, dtype=torch.int64)
    ids.add(nothing)
    assert ids.of_campaign(nothing).tolist() == []
    assert ids.of_campaign(torch.arange(SEEDS)).tolist() == list(range(SEEDS))
