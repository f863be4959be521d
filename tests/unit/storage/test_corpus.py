"""The inputs that earned a place, with their lineage."""

from __future__ import annotations

from dataclasses import replace

import torch

from jostle.inputs.geometry import Placements, unmoved
from jostle.mutators.noise import Noise
from jostle.randomness import randomness
from jostle.records import NO_PARENT
from jostle.storage.corpus import Corpus
from making import placements_of, seeds_of, texts_of

SEEDS = seeds_of(torch.rand(3, 2, generator=randomness(0, 0)), torch.tensor([7, 8, 9]))

STILL = unmoved(1)[0]


def planted() -> Corpus:
    corpus = Corpus(SEEDS)
    corpus.add(SEEDS.as_candidates())
    return corpus


def test_entries_come_back_as_they_went_in() -> None:
    corpus = planted()
    entries = corpus.select(torch.tensor([2, 0, 2]))
    assert torch.equal(entries.inputs, SEEDS.inputs[[2, 0, 2]])
    assert entries.labels.tolist() == [9, 7, 9] and entries.parents.tolist() == [NO_PARENT] * 3


def test_children_descend_from_their_parents_and_keep_the_root() -> None:
    corpus = planted()
    for generation in range(4):
        parents = corpus.as_parents(torch.tensor([len(corpus) - 2, len(corpus) - 1]))
        corpus.add(Noise(0.1, 0, 1).mutate(parents, randomness(0, generation)))
    entries = corpus.select(torch.arange(len(corpus)))
    assert entries.parents.tolist() == [-1, -1, -1, 1, 2, 3, 4, 5, 6, 7, 8]
    assert entries.roots.tolist() == [0, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2]
    assert torch.equal(entries.references, SEEDS.inputs[entries.roots])
    assert entries.labels.tolist() == [7, 8, 9, 8, 9, 8, 9, 8, 9, 8, 9]
    assert texts_of(entries) == ("",) * 3 + ("noise",) * 8


def test_how_entries_were_moved_is_remembered() -> None:
    corpus = planted()
    children = corpus.as_parents(torch.tensor([0, 1]))
    placements = torch.rand(2, 2, 3)
    corpus.add(replace(children, lineage=Placements(placements)))
    assert torch.equal(
        placements_of(corpus.select(torch.tensor([4, 0, 3]))), torch.stack([placements[1], STILL, placements[0]])
    )


def test_growing_beyond_its_room_changes_nothing_that_is_there() -> None:
    corpus, added = planted(), [SEEDS.inputs]
    for step in range(60):
        children = Noise(0.1, 0, 1).mutate(corpus.as_parents(torch.randint(3, (7,))), randomness(1, step))
        corpus.add(children)
        added.append(children.inputs)
    assert len(corpus) == 3 + 60 * 7
    assert torch.equal(corpus.select(torch.arange(len(corpus))).inputs, torch.cat(added))


def test_adding_nothing_adds_nothing() -> None:
    corpus = planted()
    corpus.add(SEEDS.as_candidates().select(torch.tensor([], dtype=torch.int64)))
    assert len(corpus) == 3


def test_changing_what_was_selected_leaves_the_corpus_alone() -> None:
    corpus = planted()
    corpus.select(torch.tensor([0])).inputs.zero_()
    assert torch.equal(corpus.select(torch.tensor([0])).inputs, SEEDS.inputs[:1])
