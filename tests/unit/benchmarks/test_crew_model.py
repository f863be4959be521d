"""What holds of the simulation of workers, whatever it is given."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))

from crew_model import Costs, Simulation, Subject, Units

FREE = Costs(0.01, *[0.0] * 8)  # a hundred executions a second, and nothing besides costs anything
UNITS = Units(chances=(0.1, 0.001, 0.00001), counts=(20.0, 300.0, 4000.0), clumping=0.5)
SUBJECT = Subject(UNITS, FREE, input_bytes=100, entry_bytes=1000, told_bytes=300, round_bytes=2**24, step_rows=8)
SECONDS = 30.0


@pytest.mark.parametrize("workers", [1, 2, 64, 512])
def test_where_messages_cost_nothing_nobody_waits(workers: int) -> None:
    run = Simulation(SUBJECT, workers).run(SECONDS)
    assert run.synchronising == pytest.approx(0, abs=1e-9) and run.rate == pytest.approx(100 * workers)
    assert run.queue == run.utilisation == 0


@pytest.mark.parametrize("workers", [1, 2, 64, 512])
def test_a_worker_does_nothing_else_in_the_time_that_synchronising_takes(workers: int) -> None:
    """Whatever part of the last rounds lies within the time."""
    costs = replace(FREE, round=0.1, bulletin=0.01, told=0.001, handed=0.002, turn=0.004, entry=0.003, put_out=0.01)
    run = Simulation(replace(SUBJECT, costs=costs), workers).run(SECONDS)
    assert 0 < run.synchronising < 1 and 0 < run.utilisation <= 1
    assert run.rate == pytest.approx(100 * workers * (1 - run.synchronising))


def test_with_fewer_processors_than_workers_each_is_as_much_slower() -> None:
    assert Simulation(SUBJECT, 8, processors=2).run(SECONDS).rate == pytest.approx(200)


def test_one_worker_knows_all_that_it_has_shown_and_several_do_not() -> None:
    alone, together = (Simulation(SUBJECT, workers).run(SECONDS) for workers in (1, 16))
    assert alone.duplicates == 0 and alone.bytes_out == 0 and alone.passed_over == 0
    assert 0 < together.duplicates < 1 and together.bytes_out > 0 and together.stale > 0


def test_a_bound_leaves_executions_unassessed_where_entries_are_dear() -> None:
    dear = replace(SUBJECT, costs=replace(FREE, entry=0.005))
    bounded, unbounded = (Simulation(dear, 64, bounded=bound).run(10 * SECONDS) for bound in (True, False))
    assert unbounded.passed_over == 0 < bounded.passed_over
    assert bounded.queue < unbounded.queue and bounded.rate > unbounded.rate
