"""A small perturbation may not change the label."""

from __future__ import annotations

import torch

from jostle.oracles.labels import LabelKept
from jostle.records import NO_BUG, NO_LABEL
from making import batch_of, seeds_of, trace_of

SCORES = torch.tensor([[0.1, 0.9, 0.0], [0.9, 0.1, 0.0], [0.0, 0.1, 0.9]])


def test_only_a_label_other_than_the_roots_is_a_flip() -> None:
    batch = batch_of(torch.zeros(3, 2), labels=torch.tensor([1, 1, 0]))
    verdicts = LabelKept().judge(batch, trace_of(SCORES))
    assert (verdicts.bugs != NO_BUG).tolist() == [False, True, True]
    violation = verdicts.describe(2)
    assert violation.fingerprint == "flip:2:0:2"
    assert violation.summary == "label 0 became 2"
    assert violation.details["taken for"] == 2


def test_without_a_label_nothing_is_a_flip() -> None:
    batch = batch_of(torch.zeros(3, 2), labels=torch.full((3,), NO_LABEL))
    assert (LabelKept().judge(batch, trace_of(SCORES)).bugs == NO_BUG).all()


def test_scores_that_are_not_finite_are_not_a_flip() -> None:
    batch = batch_of(torch.zeros(2, 2), labels=torch.tensor([2, 2]))
    scores = torch.tensor([[torch.nan, 0.0, 0.0], [torch.inf, 0.0, 0.0]])
    assert (LabelKept().judge(batch, trace_of(scores)).bugs == NO_BUG).all()


def test_the_same_flip_of_two_mutants_of_one_seed_is_one_bug_and_of_two_seeds_two() -> None:
    batch = batch_of(torch.zeros(2, 2), labels=torch.tensor([1, 1])).select(torch.tensor([0, 0, 1]))
    bugs = LabelKept().judge(batch, trace_of(SCORES[[1, 1, 1]])).bugs.tolist()
    assert bugs[0] == bugs[1] != bugs[2]


def test_a_seed_that_is_misclassified_itself_is_told_so() -> None:
    seeds = seeds_of(torch.zeros(1, 2), torch.tensor([2])).as_candidates()
    assert (
        "the seed itself, labelled 2, is taken for 1"
        in LabelKept().judge(seeds, trace_of(SCORES[:1])).describe(0).summary
    )
