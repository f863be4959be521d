"""Ids of a campaign's corpus and of one worker's: there and back, and the nearest ancestor of what a worker has not."""

from __future__ import annotations

import random

import pytest
import torch

from jostle.records import NO_PARENT
from jostle.scale.corpus_ids import CorpusIds

SEEDS = 4


def mixed_corpus(chance: random.Random) -> tuple[CorpusIds, list[int], torch.Tensor]:
    """A worker that has some of a corpus in an order of its own; its entries, and the parents of all [entries]."""
    ids, has, parents = CorpusIds(SEEDS), list(range(SEEDS)), [NO_PARENT] * SEEDS
    waiting: list[int] = []
    for entry in range(SEEDS, 60):
        parents.append(chance.randrange(entry))
        if chance.random() < 0.6:
            waiting.append(entry)
        if chance.random() < 0.3:  # news come later than what the campaign keeps meanwhile, and in their own order
            chance.shuffle(waiting)
            ids.add(torch.tensor(waiting, dtype=torch.int64))
            has += waiting
            waiting = []
    return ids, has, torch.tensor(parents)


def ancestor(entry: int, has: list[int], parents: torch.Tensor) -> int:
    while entry not in has:
        entry = int(parents[entry])
    return entry


@pytest.mark.parametrize("seed", range(20))
def test_ids_there_and_back_are_the_same(seed: int) -> None:
    ids, has, parents = mixed_corpus(random.Random(seed))
    own = torch.arange(len(has))
    assert ids.of_campaign(own).tolist() == has
    assert ids.of_worker(torch.tensor(has), parents).tolist() == own.tolist()


@pytest.mark.parametrize("seed", range(20))
def test_what_a_worker_has_not_is_its_nearest_ancestor_there(seed: int) -> None:
    ids, has, parents = mixed_corpus(random.Random(seed))
    every = torch.arange(len(parents))
    told = ids.of_campaign(ids.of_worker(every, parents)).tolist()
    assert told == [ancestor(entry, has, parents) for entry in range(len(parents))]
    assert len(set(has)) < len(parents)


def test_what_is_no_id_stays_as_it_is() -> None:
    ids, _, parents = mixed_corpus(random.Random(0))
    nobody = torch.tensor([NO_PARENT, 0, NO_PARENT])
    assert ids.of_campaign(nobody).tolist() == ids.of_worker(nobody, parents).tolist() == [NO_PARENT, 0, NO_PARENT]


def test_asking_changes_nothing() -> None:
    ids, _, parents = mixed_corpus(random.Random(1))
    asked = torch.arange(len(parents))
    assert torch.equal(ids.of_worker(asked, parents), ids.of_worker(asked, parents))
    assert asked.tolist() == list(range(len(parents)))


def test_no_entries_are_added_and_asked_for_as_well() -> None:
    ids, nothing = CorpusIds(SEEDS), torch.empty(0, dtype=torch.int64)
    ids.add(nothing)
    assert ids.of_campaign(nothing).tolist() == ids.of_worker(nothing, nothing).tolist() == []
    assert ids.of_campaign(torch.arange(SEEDS)).tolist() == list(range(SEEDS))
