"""Findings become defects: one for each cause, none for two."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from jostle.storage.campaign_record import read_campaign
from jostle.storage.defect_record import SEVERAL, Defect
from jostle.triage.grouping import defects_of
from jostle.triage.triaged_finding import gather
from planted_defects import BUGS, plant
from soaking import only_in_soak


def triaged(folder: Path) -> list[Defect]:
    return defects_of(gather(folder, read_campaign(folder)).findings)


def check(folder: Path, planted: dict[str, int]) -> list[Defect]:
    """The law: as many groups as bugs, or a few more, and each of one bug."""
    defects = triaged(folder)
    assert sorted(name for defect in defects for name in defect.findings) == sorted(planted)
    for defect in defects:
        assert len({planted[name] for name in defect.findings}) == 1, defect
    assert len(BUGS) <= len(defects) <= len(BUGS) + 4
    return defects


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_every_bug_that_is_hit_often_is_one_defect_or_hardly_more(tmp_path: Path, seed: int) -> None:
    check(tmp_path, plant(tmp_path, hits=25, seed=seed))


@only_in_soak
def test_twenty_bugs_that_are_hit_500_times_each_end_as_20_to_24_defects(tmp_path: Path) -> None:
    defects = check(tmp_path, plant(tmp_path, hits=500))
    by_pair = defaultdict(set)
    for defect in defects:
        by_pair[defect.cause.kind, defect.cause.what].add(defect.cause.place)
    assert len(by_pair["flip", "3 → 8"]) >= 2, "one pair in two regions"


def test_defects_are_ranked_and_named_once(tmp_path: Path) -> None:
    plant(tmp_path, hits=3)
    defects = triaged(tmp_path)
    assert [one.weight for one in defects] == sorted((one.weight for one in defects), reverse=True)
    assert len({one.name for one in defects}) == len(defects)
    assert all(0 <= value <= 1 for one in defects for value in one.reasons.values())
    assert any(one.cause.mutation == SEVERAL for one in defects)


def test_the_same_findings_in_another_order_give_the_same_defects(tmp_path: Path) -> None:
    plant(tmp_path, hits=4)
    findings = gather(tmp_path, read_campaign(tmp_path)).findings
    forth = {(one.cause, frozenset(one.findings)) for one in defects_of(findings)}
    assert forth == {(one.cause, frozenset(one.findings)) for one in defects_of(findings[::-1])}
