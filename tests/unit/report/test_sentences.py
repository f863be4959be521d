"""Two sentences that need no explanation."""

from __future__ import annotations

from campaign_folders import defect
from jostle.report.sentences import Workload, duration, found_sentence, workload_sentence


def test_what_was_tested_is_told_with_how_much_and_how_long() -> None:
    tested = Workload("net with its twin int8", 500, 80_372, 20.0, of_graphs=False)
    assert workload_sentence(tested) == (
        "The model net with its twin int8 was tested with 80,372 inputs, made from 500 examples in 20 seconds."
    )
    graphs = Workload("torch and jax", 100, 900, None, of_graphs=True)
    assert workload_sentence(graphs) == (
        "The frameworks torch and jax ran 900 generated models, and their results were compared with exact ones."
    )


def test_what_was_found_names_the_kinds_and_the_first() -> None:
    defects = [defect(place, ["0001-flip"]) for place in range(3)]
    assert found_sentence(defects, 40) == (
        "Jostle found 3 distinct defects, shown by 40 inputs: 2 disagreements with its twin and 1 way to change its "
        "answer without changing the meaning; the one to look at first: digit 0 taken for 1 when changed."
    )
    assert found_sentence([], 0) == "Nothing was found that it gets wrong."


def test_times_are_in_units_that_suit_them() -> None:
    assert [duration(one) for one in (5, 119, 600, 36_000)] == ["5 seconds", "119 seconds", "10 minutes", "10.0 hours"]
