"""What a campaign takes over of its workers' steps: each bug once, each entry, and who did what."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch

from fragile_campaign import SEEDS, Sturdy
from jostle.admission import Admission
from jostle.feedback.nearest import FarFromSeen
from jostle.judgement import BatchJudge
from jostle.oracles.numeric import Finite
from jostle.randomness import randomness, worker_seed
from jostle.records import Candidates, Finding, Lesson, Trace, Violation
from jostle.step_records import OwnStep
from jostle.storage.corpus import Corpus
from jostle.storage.journal import JournalLine, decode_line, encode_line
from jostle.subjects.torch_target import TorchTarget

TARGET = TorchTarget(Sturdy())
LINE = JournalLine(7, 16, 122, 3, "abc", ("nan:1",), ("noise: noise",), (), {"nan": 2}, {}, 2, "def")


# Seeds of workers


def test_no_two_workers_draw_the_same_and_none_as_the_campaign_alone_does() -> None:
    seeds = [*(worker_seed(seed, worker) for seed in range(20) for worker in range(50)), *range(20)]
    assert len(set(seeds)) == len(seeds) and all(0 <= seed < 2**63 for seed in seeds)
    draws = {tuple(torch.rand(4, generator=randomness(seed, step)).tolist()) for seed in seeds[:50] for step in (1, 2)}
    assert len(draws) == 100


def test_a_worker_draws_the_same_each_time() -> None:
    assert worker_seed(5, 3) == worker_seed(5, 3)


# Lines of the journal


def test_a_line_of_several_workers_tells_which_and_its_own_step() -> None:
    line = replace(LINE, by=OwnStep(worker=2, step=40))
    told = json.loads(encode_line(line))
    assert (told["worker"], told["own step"]) == (2, 40)
    assert decode_line(encode_line(line)) == line
    assert line.past_step(lost=False, failing_lost=False).by == OwnStep(2, 40)


def test_a_line_of_one_process_has_the_bytes_that_it_always_had() -> None:
    before = (
        b'{"step": 7, "planned": 16, "executions": 122, "kept": 3, "digest": "abc", "findings": ["nan:1"], '
        b'"found by": ["noise: noise"], "flaky": [], "violations": {"nan": 2}, "unconfirmed": {}, "failing": 2, '
        b'"failing digest": "def", "crc": '
    )
    assert encode_line(LINE).startswith(before)
    assert decode_line(encode_line(LINE)) == LINE


def test_a_line_whose_worker_was_changed_is_damaged() -> None:
    raw = encode_line(replace(LINE, by=OwnStep(2, 40)))
    with pytest.raises(ValueError):
        decode_line(raw.replace(b'"worker": 2', b'"worker": 1'))


# Bugs


def finding(bug: int, kind: str = "nan", alone: bool = True) -> Finding:
    row = SEEDS.as_candidates().select(torch.tensor([0]))
    return Finding(Violation(kind, f"{kind}:{bug}", ""), bug, 1, 16, row, alone)


def judge() -> BatchJudge:
    return BatchJudge([Finite()], TARGET)


def test_of_what_workers_found_each_bug_is_new_once() -> None:
    campaign = judge()
    first, again, other = finding(1), finding(1), finding(2)
    assert campaign.not_seen([first, again, other]) == (first, other)
    assert campaign.not_seen([finding(2), finding(1)]) == ()
    assert campaign.not_seen([finding(1, "flip")]) != ()  # the same number within another kind is another bug
    assert campaign.seen() == ({("nan", 1), ("nan", 2), ("flip", 1)}, frozenset())


def test_a_bug_that_showed_alone_is_new_although_it_was_flaky_before() -> None:
    campaign = judge()
    assert len(campaign.not_seen([finding(1, alone=False), finding(1, alone=False)])) == 1
    assert campaign.still_flaky() == {"nan": 1}
    assert len(campaign.not_seen([finding(1)])) == 1
    assert not campaign.still_flaky() and campaign.seen() == ({("nan", 1)}, {("nan", 1)})


def test_what_others_have_seen_is_known_besides_what_was_seen_here() -> None:
    campaign = judge()
    campaign.not_seen([finding(1)])
    campaign.know([("nan", 2)], [("nan", 3)])
    assert campaign.seen() == ({("nan", 1), ("nan", 2)}, {("nan", 3)})
    alone = finding(3)
    assert campaign.not_seen([finding(1), finding(2), finding(3, alone=False), alone]) == (alone,)


# Entries


def rows_like(inputs: torch.Tensor) -> Candidates:  # [rows, 4]
    chosen = SEEDS.as_candidates().select(torch.arange(len(inputs)))
    return replace(chosen.mutated(inputs, "noise"), parents=chosen.roots)


class Pupil:
    def __init__(self) -> None:
        self.lessons: list[Lesson] = []

    def learn(self, lesson: Lesson) -> None:
        self.lessons.append(lesson)


def planted(*learners: Pupil) -> Admission:
    admission, seeds = Admission(Corpus(SEEDS), [FarFromSeen([], threshold=0.5)], learners), SEEDS.as_candidates()
    admission.admit(seeds, TARGET.run(seeds), torch.zeros(len(seeds), dtype=torch.bool), (), every=True)
    return admission


def test_all_that_workers_kept_is_collected_and_only_what_is_far_from_all_is_new() -> None:
    pupil = Pupil()
    admission = planted(pupil)
    taught = len(pupil.lessons)
    far = torch.tensor([[5.0] * 4, [5.0] * 4, [9.0] * 4])
    kept = rows_like(torch.cat([far, SEEDS.inputs[:1]]))
    assert admission.count_new(kept, TARGET.run(kept)).tolist() == [True, False, True, False]
    assert len(admission.corpus) == len(SEEDS) + 4 and admission.corpus.mutants == 4 and len(pupil.lessons) == taught


def test_without_room_nothing_is_kept_and_all_of_it_can_be_discovered_again() -> None:
    pupil = Pupil()
    admission, far = planted(pupil), rows_like(torch.tensor([[5.0] * 4, [9.0] * 4]))
    fine = torch.zeros(2, dtype=torch.bool)
    assert not len(admission.admit(far, TARGET.run(far), fine, (), room=False).kept)
    assert len(pupil.lessons) == 1 and len(admission.corpus) == len(SEEDS)  # that of the seeds
    assert len(admission.admit(far, TARGET.run(far), fine, ()).kept) == 2


class OfAUser:
    """A criterion that says nothing of what it looks at."""

    def assess(self, candidates: Candidates, trace: Trace) -> torch.Tensor:
        return candidates.inputs.flatten(1).sum(1)

    def coverage(self) -> dict[str, dict[str, float]]:
        return {}


def test_criteria_of_users_may_look_at_inputs_and_ours_do_not() -> None:
    assert not planted().looks_at_inputs  # laws/test_feedback_laws.py: none of ours does
    assert Admission(Corpus(SEEDS), [FarFromSeen([], threshold=0.5), OfAUser()], []).looks_at_inputs


def test_nothing_is_new_twice_whoever_kept_it() -> None:
    admission, kept = planted(), rows_like(torch.full((1, 4), 5.0))
    trace = TARGET.run(kept)
    assert admission.count_new(kept, trace).tolist() == [True]
    assert admission.count_new(kept, trace).tolist() == [False]


def test_without_feedback_everything_is_new() -> None:
    admission, kept = Admission(Corpus(SEEDS), [], []), rows_like(torch.full((2, 4), 5.0))
    assert admission.count_new(kept, TARGET.run(kept)).tolist() == [True, True]


def test_nothing_kept_is_nothing_new() -> None:
    admission, nothing = planted(), rows_like(torch.empty(0, 4))
    assert admission.count_new(nothing, TARGET.run(rows_like(torch.ones(1, 4))).select(torch.arange(0))).tolist() == []
