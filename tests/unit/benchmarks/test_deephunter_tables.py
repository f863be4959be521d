"""DeepHunter's tables of `make paper`: what is said of made-up results, and how few hunts all tables together need."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))

from paper.deephunter_combined import COMBINED
from paper.deephunter_curves import FIGURE_COVERAGE, OTHERS, compared, verdict
from paper.deephunter_published import CRITERIA
from paper.deephunter_table4 import TABLE4
from paper.deephunter_table5 import TABLE5
from paper.deephunter_table6 import TABLE6
from paper.deephunter_table7 import TABLE7
from paper.hunt_cells import HUNTS, LENETS, STAGED, SUBJECTS
from paper.neuron_shares import percent, percent_by_rank
from paper.results import Results
from paper.run import measure_missing
from paper.table import Cell, Data, Result, Section, Table
from paper.workers import Job, Measured

TABLES = (TABLE4, FIGURE_COVERAGE, TABLE5, TABLE6, TABLE7, COMBINED)
RUNS = 5
Results_ = dict[str, Result]


def hunted(
    coverage: tuple[float, float] = (10.0, 20.0),
    measured: Sequence[str] = CRITERIA,
    failing: int = 50,
    accuracy: dict[str, float] | None = None,
    otherwise: int = 0,
) -> Result:
    """The result of a hunt, with the same per cent of all criteria before and after."""
    seeds, end = (dict.fromkeys(measured, value) for value in coverage)
    counts = {"1 %": [otherwise], "50 %": [otherwise], "100 %": [otherwise]}
    return {
        "executions": 1_000,
        "seeds": 100,
        "neurons": 42,
        "curve": [[100, seeds], [1_000, end]],
        "tests": 200,
        "failing": failing,
        "accuracy": accuracy or {},
        "held_out": {"A": 95.0, "B": 97.0, "C": 98.0},
        "otherwise": {"kept": counts, "failing": counts},
    }


def runs(subject: str, strategy: str, **figures: Any) -> Results_:
    """So many runs alike but for what differs a little from seed to seed."""
    return {f"{subject}/{strategy}/seed{seed}": hunted(**figures) for seed in range(RUNS)}


def section(table: Table, *results: Results_) -> Section:
    return table.section({name: result for some in results for name, result in some.items()})


def everywhere(subjects: Sequence[str], **figures: Any) -> Results_:
    """All criteria on all of these subjects."""
    found = [runs(subject, criterion, **figures) for subject in subjects for criterion in CRITERIA]
    return {name: result for some in found for name, result in some.items()}


def test_coverage_that_grows_everywhere_holds() -> None:
    said = section(TABLE4, everywhere(SUBJECTS))
    assert said.verdict.startswith("Holds: ")
    assert "30 of 30 cases" in said.verdict
    assert "| LeNet-1 (42) | KMNC | 10.0 (10.0 to 10.0) | 20.0 (20.0 to 20.0) | 31.4 | 92.2 |" in said.body


def test_a_criterion_whose_coverage_does_not_grow_is_named() -> None:
    still = {name: result for one in SUBJECTS for name, result in runs(one, "nc", coverage=(10.0, 10.0)).items()}
    said = section(TABLE4, {**everywhere(SUBJECTS), **still})
    assert said.verdict.startswith("Holds in part: ")
    assert " of NC;" in said.verdict
    assert "25 of 30 cases" in said.verdict


def test_their_own_codes_figures_stand_beside_ours() -> None:
    few = {f"few/lenet1/kmnc/seed{seed}": {"percent": 40.0 + seed} for seed in range(RUNS)}
    few |= {f"few/lenet1/tknc/seed{seed}": {"percent": 1.0, "by_rank": 90.0} for seed in range(RUNS)}
    said = section(TABLE4, everywhere(SUBJECTS), few)
    assert "| LeNet-1 | KMNC | 42.00 (40.00 to 44.00) | 43 | **less** |" in said.body
    assert "| LeNet-1 | TKNC | 90.00 (90.00 to 90.00) | 87.4 | at least as much |" in said.body


def test_tests_that_tell_better_instances_hold() -> None:
    said = section(TABLE5, everywhere(STAGED, accuracy={"A": 80.0, "B": 90.0}))
    assert said.verdict.startswith("Holds: A < B < 100 %")
    assert "farther apart than on all held-out images in 24" in said.verdict
    assert "| LeNet-1 | NC | 200 (200 to 200) | 80.0 (80.0 to 80.0) | 90.0 (90.0 to 90.0) | 99 | 99.5 |" in said.body


def test_a_worse_instance_that_does_better_on_tests_does_not_hold() -> None:
    assert section(TABLE5, everywhere(STAGED, accuracy={"A": 90.0, "B": 80.0})).verdict.startswith("Does not hold")


def test_a_hunt_without_tests_says_nothing_of_instances() -> None:
    kept_none = {**hunted(), "tests": 0, "accuracy": {"A": None, "B": None}}
    results = everywhere(STAGED, accuracy={"A": 80.0, "B": 90.0}) | {"resnet20/nc/seed0": kept_none}
    assert section(TABLE5, results).verdict.startswith("Holds: ")


def test_failing_tests_are_compared_with_no_guidance() -> None:
    random = {name: result for one in SUBJECTS for name, result in runs(one, "random", failing=50).items()}
    more = {name: result for one in SUBJECTS for name, result in runs(one, "nbc", failing=60).items()}
    fewer = {name: result for one in SUBJECTS for name, result in runs(one, "nc", failing=40).items()}
    said = section(TABLE6, {**everywhere(SUBJECTS, failing=50), **random, **more, **fewer})
    assert "every criterion finds failing tests" in said.verdict
    assert "more in 5 and fewer in 5 of 30 cases" in said.verdict
    assert "| LeNet-1 | nothing | 50 (50 to 50) |  | – |" in said.body
    assert "| 6,700 |" in said.body


def test_a_criterion_without_failing_tests_is_named() -> None:
    said = section(TABLE6, {**everywhere(SUBJECTS), **runs("vgg8", "nc", failing=0)})
    assert said.verdict.startswith("Holds in part: in the median no failing test by NC on VGG-8;")


def test_a_criterion_that_finds_none_in_the_paper_need_find_none() -> None:
    said = section(TABLE6, {**everywhere(SUBJECTS), **runs("resnet20", "nc", failing=0)})
    assert "every criterion finds failing tests on every model (NC on ResNet-20 none, as in the paper)" in said.verdict


def test_corners_are_compared_with_other_criteria_over_all_models() -> None:
    corners = [runs(one, name, failing=60) for one in SUBJECTS for name in ("nbc", "snac", "tknc", "bknc")]
    said = section(TABLE6, everywhere(SUBJECTS, failing=50), *corners)
    assert "over all models NC finds 250, KMNC 250, NBC 300, SNAC 300, TKNC 300, BKNC 300" in said.verdict
    assert said.verdict.startswith("Holds: ")
    assert section(TABLE6, everywhere(SUBJECTS, failing=50)).verdict.startswith("Holds in part: ")


def seeds_quantised(count: int) -> Results_:
    return {f"lenet1/seeds/seed{seed}": {"seeds": 100, "otherwise": {"1 %": [0, count]}} for seed in range(RUNS)}


def twins(count: int) -> Results_:
    counts = {"1 %": count, "50 %": count, "100 %": count}
    return {f"{one}/twins/seed0": {"executions": 1_000, "disagreements": counts} for one in LENETS}


def test_defects_of_quantisation_hold_where_tests_show_them_and_seeds_do_not() -> None:
    shown = everywhere(SUBJECTS, otherwise=2)
    said = section(TABLE7, shown, seeds_quantised(0), twins(3))
    assert said.verdict.startswith("Holds: tests show defects in the median in 72 of 72 cases")
    assert "| LeNet-1 | 1 % | 4 (4 to 4); paper 9 |" in said.body
    assert section(TABLE7, shown, seeds_quantised(1)).verdict.startswith("Holds in part: ")


def test_defects_that_nothing_shows_are_not_reproduced() -> None:
    said = section(TABLE7, everywhere(SUBJECTS), seeds_quantised(0), twins(0))
    assert said.verdict.startswith("Not reproduced, because ")
    assert section(TABLE7, everywhere(SUBJECTS), twins(1)).verdict.startswith("Holds in part: ")


def test_what_quantised_networks_say_of_seeds_is_not_claimed_unmeasured() -> None:
    said = section(TABLE7, everywhere(SUBJECTS, otherwise=2)).verdict
    assert said.startswith("Holds in part: ")
    assert "seeds were not measured" in said


def curves(ours: float, others: float) -> list[Results_]:
    subjects = ("lenet5", "resnet20")
    guided = [runs(one, name, coverage=(10.0, ours)) for one in subjects for name in ("kmnc", "nbc")]
    return guided + [runs(one, name, coverage=(10.0, others)) for one in subjects for name in OTHERS]


def test_curves_are_drawn_and_their_ends_compared() -> None:
    said = section(FIGURE_COVERAGE, *curves(30.0, 20.0))
    assert said.verdict.startswith("Holds: DeepHunter ends significantly higher in 16 of 16 comparisons")
    (name,) = said.pictures
    assert f"(pictures/{name})" in said.body
    assert said.pictures[name].startswith(b"<?xml")


def said_of_curves(*results: Results_) -> str:
    return verdict(compared({name: result for some in results for name, result in some.items()}))


def test_a_strategy_that_ends_higher_is_named() -> None:
    better = runs("lenet5", "random", coverage=(10.0, 40.0))
    said = said_of_curves(*curves(30.0, 20.0), better)
    assert said.startswith("Holds in part: ")
    assert "lower than random (LeNet-5, KMNC), random (LeNet-5, NBC)" in said
    assert said_of_curves(*curves(10.0, 20.0)).startswith("Does not hold: ")


def test_criteria_together_are_compared_with_each_alone() -> None:
    alone = everywhere(("lenet5",))
    pool = runs("lenet5", "together-pool", coverage=(10.0, 25.0))
    said = section(COMBINED, alone, pool, runs("lenet5", "together-adaptive", coverage=(10.0, 15.0)))
    every = ", ".join(criterion.upper() for criterion in CRITERIA)
    assert f"all, batch pool: significantly more of {every}, less of none" in said.verdict
    assert f"all, adaptive: significantly more of none, less of {every}" in said.verdict


def test_sections_are_written_of_whatever_was_measured() -> None:
    some = {name: one for name, one in everywhere(("lenet5",), accuracy={"A": 1.0, "B": 2.0}).items() if "kmnc" in name}
    trained = runs("lenet1-trained", "kmnc", accuracy={"A": 80.0, "B": 90.0})
    for table in set(TABLES) - {FIGURE_COVERAGE}:
        assert section(table, trained if table is TABLE5 else some).body


def test_neurons_without_a_range_count_as_uncovered() -> None:
    assert percent("kmnc", {"covered": 0.5, "neurons": 8, "excluded": 2}, [4, 6]) == 40
    assert percent("nc", {"covered": 0.5, "neurons": 10}, [4, 6]) == 50


def test_places_that_small_layers_do_not_have_count_as_uncovered() -> None:
    assert percent_by_rank({"ranks": 1.0}, [5]) == 50
    assert percent_by_rank({"ranks": 1.0}, [10, 20]) == 100


def test_tables_share_their_hunts() -> None:
    data = Data(None)
    named: dict[tuple[str, str], Cell] = {}
    for table in TABLES:
        for cell in table.cells(data):
            assert json.loads(json.dumps(cell.settings)) == {**cell.settings, **_as_lists(cell.settings)}
            assert named.setdefault((cell.shared or table.name, cell.name), cell) == cell
    hunts = [name for shared, name in named if shared == HUNTS]
    # criteria, random, and of the figure TensorFuzz's two and DeepTest's; LeNets of three stages; all together
    assert len(hunts) == RUNS * (5 * 7 + 2 * 3 + 3 * 6 + 3 + 2)


def _as_lists(settings: Any) -> dict[str, Any]:
    return {name: list(value) for name, value in settings.items() if isinstance(value, tuple)}


def in_this_process(jobs: Sequence[Job], data: Data, processes: int) -> Iterator[Measured]:
    """What workers do, without starting any."""
    for job in jobs:
        yield Measured(job, 0.1, job.cell.measure(data, **job.cell.settings))


def test_what_two_tables_share_is_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paper.run.measured", in_this_process)
    calls: list[int] = []

    def measure(data: Data, number: int) -> Result:
        calls.append(number)
        return {"number": number}

    cell = Cell("hunt", 0.1, measure, {"number": 7}, shared="hunts-1")
    tables = [Table(name, name, "", "1", lambda data: [cell], lambda _: Section("", "")) for name in ("one", "two")]
    data = Data(None)
    results = Results(tmp_path, data)
    assert measure_missing(tables, {table.name: [cell] for table in tables}, results, data, 1) == 0
    assert calls == [7]
    assert all(results.kept(table, [cell])["hunt"].result == {"number": 7} for table in tables)
