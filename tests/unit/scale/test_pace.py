"""How long rounds take, and how much workers may keep in one."""

from __future__ import annotations

import pytest

from jostle.scale.pace import (
    DRIVERS_SHARE,
    FIRST_ROUND_SECONDS,
    GUESSED,
    GUESSED_BYTES,
    ROUND_SECONDS,
    ROUNDS_A_SECOND,
    WORKERS_SHARE,
    Costs,
    Pace,
)

NOW, STEP = 1000.0, 8


def paced(workers: int, taken: float, told: float) -> Pace:
    """With what an entry takes the campaign and a worker, in seconds."""
    return Pace(workers, STEP, Costs.guessed(taken, GUESSED), Costs.guessed(told, GUESSED))


def measured(entry: float, message: float = 0.003) -> Costs:
    """Of messages with none to many entries, each of which takes something too."""
    costs = Costs.guessed(1e-4, GUESSED)
    for entries in (*range(0, 4000, 10), 50_000):
        costs.add(entries, message + entry * entries)
    return costs


def test_rounds_begin_short_and_double_up_to_a_second() -> None:
    rounds = [paced(2, 1e-5, 1e-6).round_seconds(number) for number in range(40)]
    assert rounds[0] < 2 * FIRST_ROUND_SECONDS and rounds[3] == 2 * rounds[2]
    assert rounds == sorted(rounds) and rounds[-1] == ROUND_SECONDS


@pytest.mark.parametrize("workers", [1, 2, ROUNDS_A_SECOND, 4 * ROUNDS_A_SECOND])
def test_the_campaign_has_time_for_all_rounds(workers: int) -> None:
    assert workers / paced(workers, 1e-5, 1e-6).round_seconds(30) <= ROUNDS_A_SECOND


def test_one_worker_may_keep_anything() -> None:
    assert paced(1, 1.0, 1.0).allow(1.0, NOW) is None


@pytest.mark.parametrize("entry", [1e-6, 1e-5, 1e-3])
def test_what_a_message_takes_is_not_taken_for_what_its_entries_do(entry: float) -> None:
    assert measured(entry).entry == pytest.approx(entry, rel=0.05)


def test_a_cost_is_never_nothing() -> None:
    costs = Costs.guessed(1e-5, GUESSED)
    for entries in range(1000):
        costs.add(entries, 1.0 - entries / 1000)
    assert costs.entry > 0


@pytest.mark.parametrize("workers", [2, 64, 512])
@pytest.mark.parametrize(("taken", "told"), [(5e-5, 5e-6), (1e-2, 1e-3), (1e-3, 4e-3)])
@pytest.mark.parametrize("kept_of_allowed", [1.0, 1.5])
def test_neither_the_campaign_nor_a_worker_spends_more_on_entries_than_its_share(
    workers: int, taken: float, told: float, kept_of_allowed: float
) -> None:
    """Also where workers, who look at whole steps, keep more than they were allowed."""
    pace, seconds, kept = paced(workers, taken, told), max(1.0, workers / ROUNDS_A_SECOND), 0
    for second in range(0, 800, int(seconds)):
        for worker in range(workers):
            allowed = pace.allow(seconds, NOW + second + seconds * worker / workers)
            assert allowed is not None
            more = int(kept_of_allowed * allowed)
            kept += more
            pace.kept(more, allowed)
    entries = kept / 800
    of_others = entries * (workers - 1) / workers
    assert entries * taken <= 1.1 * DRIVERS_SHARE and of_others * told <= 1.1 * WORKERS_SHARE
    assert entries * taken >= 0.7 * DRIVERS_SHARE or of_others * told >= 0.7 * WORKERS_SHARE


def test_who_is_allowed_anything_is_allowed_a_step() -> None:
    pace = paced(512, 0.01, 1e-6)  # forty a second, 640 in a round of 16 s
    allowed = [pace.allow(16.0, NOW) for _ in range(512)]
    assert allowed == [STEP] * 80 + [0] * 432


def test_what_was_allowed_and_not_kept_others_may() -> None:
    pace = paced(2, 0.01, 1e-6)
    assert [pace.allow(1.0, NOW) for _ in range(3)] == [20, 20, 0]
    pace.kept(3, 20)
    assert pace.allow(1.0, NOW) == 17


def test_room_that_nobody_used_does_not_pile_up() -> None:
    pace = paced(2, 0.01, 1e-6)
    pace.allow(1.0, NOW)
    assert sum(pace.allow(1.0, NOW + 3600) or 0 for _ in range(100)) == 40


def test_steps_that_take_more_than_there_is_room_for_are_looked_at_now_and_then() -> None:
    pace = paced(2, 1.0, 1e-6)  # 0.4 a second
    assert [pace.allow(1.0, NOW + second) for second in (0, 1, 10, 19, 21, 22)] == [8, 0, 0, 0, 8, 0]


def test_before_anything_was_measured_large_inputs_are_taken_to_cost_more() -> None:
    small, large = (Pace.guessed(2, STEP, size).allow(1.0, NOW) for size in (3_136, 602_112))
    assert small is not None and large is not None and 0 < large < small / 20


@pytest.mark.parametrize("input_bytes", [16, 3_136, 602_112, 10**9])
def test_what_a_few_messages_show_takes_the_place_of_the_guess(input_bytes: int) -> None:
    pace = Pace.guessed(2, STEP, input_bytes)
    guess, usual = pace.told.entry, min(GUESSED, 1 + GUESSED_BYTES // input_bytes)
    for entries in (usual, 0, usual, usual, 0, usual, usual, usual):
        pace.told.add(entries, 0.001 + entries * guess / 10)
    assert pace.told.entry < guess / 2
