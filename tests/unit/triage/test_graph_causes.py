"""Findings in frameworks that differ in dtype, phase, attributes and mode only are one defect, with a table of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from jostle.lineage import Mutation
from jostle.storage.finding_record import FindingRecord, FinishedGraph, InputType
from jostle.triage.graph_causes import variants_table
from jostle.triage.grouping import defects_of
from jostle.triage.triaged_finding import TriagedFinding


def finding(signature: str, operators: tuple[str, ...] = (), seen: str = "1.0") -> TriagedFinding:
    record = FindingRecord(
        input_type=InputType.GRAPH, kind=signature.split()[2], summary=f"it does {signature}",
        fingerprint=f"values:{signature}", alone=True, bug=1, step=1, execution=1, seed="mlp", root=0, parent=0,
        mutation=Mutation(("negate weights",)), largest_change=None,
        details={"signature": signature, "phase": "predict", "seen": seen, "expected": "2.0"},
        finished=FinishedGraph(True, operators) if operators else None,
    )  # fmt: skip
    return TriagedFinding(Path(signature.replace(" ", "-")), record)


ALIKE = [
    "paddle predict values celu - float64 -",
    "paddle gradient values celu - float64 -",
    "paddle predict values celu alpha=True float32 -",
]


def test_variants_of_dtype_phase_and_attributes_are_one_defect() -> None:
    (defect,) = defects_of([finding(one) for one in ALIKE])
    assert len(defect.findings) == 3
    assert "Seen as 3 variants" in defect.explanation[-1] and "gradient float64" in defect.explanation[-1]


@pytest.mark.parametrize(
    "other",
    [
        "torch predict values celu - float64 -",
        "paddle predict values elu - float64 -",
        "paddle predict nonfinite celu - float64 -",
        "paddle@/old/python predict values celu - float64 -",
    ],
)
def test_another_library_operator_or_symptom_is_another_defect(other: str) -> None:
    assert len(defects_of([finding(ALIKE[0]), finding(other)])) == 2


def test_crashes_with_another_error_are_other_defects() -> None:
    crashes = [finding(f"torch predict crash conv - float32 {error}@a.py:run") for error in ("IndexError", "KeyError")]
    assert len(defects_of(crashes)) == 2


def test_modes_of_one_library_are_one() -> None:
    modes = [finding(f"{mode} predict values celu - float64 -") for mode in ("torch", "torch-aot", "torch-inductor")]
    assert len(defects_of(modes)) == 1


def test_operators_that_are_guilty_together_are_those_of_the_reduced_model() -> None:
    chains = [
        "paddle gradient gradient cast+flip+pad+cast - float32 -",
        "paddle gradient gradient cast+cast - float32 -",
    ]
    assert len(defects_of([finding(one, ("cast", "cast")) for one in chains])) == 1
    assert len(defects_of([finding(one) for one in chains])) == 2  # as long as nobody has reduced them


def test_the_issue_has_a_table_of_variants() -> None:
    table = variants_table([finding(ALIKE[0]), finding(ALIKE[1], seen="a | b"), finding(ALIKE[0])])
    assert table[4:6] == [
        "| paddle | predict | float64 | - | 1.0 | 2.0 |",
        "| paddle | gradient | float64 | - | a \\| b | 2.0 |",
    ]
    assert not variants_table([finding(ALIKE[0])])


def test_a_signature_that_somebody_damaged_is_a_cause_of_its_own() -> None:
    damaged = finding("paddle predict values")
    assert len(defects_of([damaged, finding(ALIKE[0])])) == 2


def test_nothing_of_a_strangers_record_is_markup_in_the_table() -> None:
    hostile = [finding(f"<img> predict values celu - {dtype} -", seen="@name\x1b[31m") for dtype in ("#1", "#2")]
    row = variants_table(hostile)[4]
    assert row == r"| \<img\> | predict | \#1 | - | \@name\\x1b\[31m | 2.0 |"
