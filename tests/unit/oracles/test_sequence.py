"""A change that should not matter may not rewrite a sequence of tokens."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from jostle.oracles.sequence import NO_TOKEN, SequenceKept, answered_tokens, ended
from jostle.records import NO_BUG, NO_LABEL, Verdicts
from making import answered, batch_of, seeds_of, trace_of

SAID = [5, 3, 7, 7, 1, 2, 9, 9, 4, 6]


def judged(
    oracle: SequenceKept, said: list[int], output: list[int], labels: list[int] | None = None, **others: list[list[int]]
) -> Verdicts:
    before, after = (
        {f"output.{name}": torch.tensor([each[i]]).float() for name, each in others.items()} for i in (0, 1)
    )
    known = None if labels is None else torch.tensor([labels])
    batch = answered(batch_of(torch.zeros(1, 2)), torch.tensor([said]).float(), before, known)
    return oracle.judge(batch, trace_of(torch.tensor([output]).float(), others=after))


def told(oracle: SequenceKept, said: list[int], output: list[int], labels: list[int] | None = None) -> str | None:
    verdicts = judged(oracle, said, output, labels)
    return None if verdicts.bugs[0] == NO_BUG else verdicts.describe(0).fingerprint


texts = st.lists(st.integers(0, 2), max_size=5)


def slowly(some: list[int], others: list[int]) -> int:
    """Levenshtein's distance by its definition."""
    if not some or not others:
        return len(some) + len(others)
    if some[0] == others[0]:
        return slowly(some[1:], others[1:])
    return 1 + min(slowly(some[1:], others), slowly(some, others[1:]), slowly(some[1:], others[1:]))


def padded(tokens: list[int], width: int = 5) -> list[int]:
    return [*tokens, *[NO_TOKEN] * (width - len(tokens))]


@settings(deadline=None, derandomize=True, max_examples=60)
@given(said=texts, output=texts)
def test_the_tokens_that_changed_are_counted_by_levenshtein(said: list[int], output: list[int]) -> None:
    verdicts, edits = judged(SequenceKept("0"), padded(said), padded(output)), slowly(said, output)
    assert (verdicts.bugs[0] == NO_BUG) == (edits == 0)
    assert not edits or verdicts.describe(0).summary == f"{edits} tokens changed"


def test_a_share_of_the_tokens_may_change() -> None:
    one, two = [5, 3, 7, 7, 1, 2, 9, 9, 4, 0], [5, 3, 7, 7, 1, 2, 9, 9, 0, 0]
    assert told(SequenceKept("10%"), SAID, one) is None
    assert told(SequenceKept("10%"), SAID, two) == "sequence:edits:0"
    assert told(SequenceKept("2"), SAID, two) is None
    assert judged(SequenceKept("10%"), SAID, two).describe(0).summary == "2 tokens changed"


def test_a_token_that_is_inserted_counts_once_where_the_end_is_known() -> None:
    said, longer = [5, 3, 7, 0, 8], [1, 5, 3, 7, 0]
    assert told(SequenceKept("1", end_token=0), said, longer) is None
    assert told(SequenceKept("1"), said, longer) == "sequence:edits:0"


def test_tokens_of_a_field_must_all_be_kept() -> None:
    one = [5, 3, 7, 7, 1, 2, 9, 9, 4, 0]
    assert told(SequenceKept("10%", "8:"), SAID, one) == "sequence:field:0"
    assert told(SequenceKept("10%", "0:8"), SAID, one) is None
    assert judged(SequenceKept("10%", "8:"), SAID, one).describe(0).summary == "the field 8: changed"


def test_a_field_may_be_an_output_of_its_own() -> None:
    oracle = SequenceKept("10%", "amount")
    assert judged(oracle, SAID, SAID, amount=[[4, 2], [4, 2]]).bugs[0] == NO_BUG
    assert judged(oracle, SAID, SAID, amount=[[4, 2], [4, 3]]).describe(0).fingerprint == "sequence:field:0"


def test_scores_of_tokens_stand_for_the_best_token() -> None:
    scores = torch.nn.functional.one_hot(torch.tensor([[2, 0, 1]]), 3).float()
    assert answered_tokens(scores).tolist() == [[2, 0, 1]]


def test_behind_the_end_there_is_nothing() -> None:
    assert ended(torch.tensor([[3, 0, 4], [3, -100, 4]]), 0).tolist() == [[3, NO_TOKEN, NO_TOKEN]] * 2
    assert ended(torch.tensor([[3, 0, 4]]), None).tolist() == [[3, 0, 4]]


def test_a_label_stands_above_what_the_model_said() -> None:
    assert told(SequenceKept("0"), [1, 2, 3], [4, 5, 3], labels=[4, 5]) == "sequence:edits:0"
    assert told(SequenceKept("0", end_token=3), [1, 2, 3], [4, 5, 3], labels=[4, 5]) is None
    assert told(SequenceKept("0"), [1, 2, 3], [1, 2, 3], labels=[NO_LABEL, NO_LABEL]) is None


def test_sequences_are_compared_with_labels_where_there_are_any() -> None:
    seeds = replace(
        seeds_of(torch.zeros(3, 2), torch.tensor([[1, 2], [1, 3], [NO_LABEL, NO_LABEL]])),
        answers=torch.tensor([[1.0, 2.0]] * 3),
    )
    on_seeds = SequenceKept("0").on_seeds(seeds)
    assert on_seeds is not None and on_seeds.wrong.tolist() == [False, True, False]
    assert on_seeds.figure == 0.5
    assert SequenceKept("0").on_seeds(replace(seeds, labels=torch.full((3,), NO_LABEL))) is None


@pytest.mark.parametrize("strange", [torch.nan, torch.inf])
def test_what_is_not_finite_is_not_judged(strange: float) -> None:
    batch = answered(batch_of(torch.zeros(1, 2)), torch.tensor([[1.0, 2.0]]))
    assert SequenceKept("0").judge(batch, trace_of(torch.tensor([[strange, 5.0]]))).bugs[0] == NO_BUG
