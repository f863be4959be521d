"""A campaign's record is read as it was written, or refused in one line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle.errors import OutputRefused, UsageError
from jostle.storage.archive import open_campaign
from jostle.storage.campaign_record import (
    CONFIG,
    RESERVED,
    CampaignRecord,
    campaign_from_json,
)
from jostle.storage.finding_record import InputType
from jostle.storage.ownership import check_folder

NAMES = st.text(min_size=1, max_size=12).filter(lambda name: name not in RESERVED)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)
TEXTS = st.dictionaries(st.text(max_size=9), st.text(max_size=9), max_size=3)


@st.composite
def records(draw: st.DrawFn) -> CampaignRecord:
    values = draw(st.dictionaries(NAMES, JSON, max_size=6))
    fixed = draw(st.sets(st.sampled_from(sorted(values)))) if values else set()
    return CampaignRecord(
        settings={name: values[name] for name in values if name in fixed},
        changeable={name: values[name] for name in values if name not in fixed},
        digest=draw(st.text(max_size=9)),
        files=draw(TEXTS),
        versions=draw(st.dictionaries(st.text(max_size=9), TEXTS, max_size=3)),
        input_type=draw(st.sampled_from(InputType)),
    )


MODEL = CampaignRecord({"model": "m.py:net", "seeds": "s.npy", "seed": 3}, {"budget": 60.0}, "d1", {"m.py:net": "f1"})
FRAMEWORKS = CampaignRecord(
    {"backends": ["torch"], "seed": 3}, {"budget": 60.0}, "d2", {}, {"torch": {"torch": "2.0"}}, InputType.GRAPH
)


@given(records())
def test_what_was_written_is_read(record: CampaignRecord) -> None:
    assert campaign_from_json(json.loads(json.dumps(record.as_json()))) == record


@given(records())
def test_a_campaign_differs_from_another_in_what_may_not_change(record: CampaignRecord) -> None:
    assert record.differences(replace(record, changeable=dict.fromkeys(record.changeable, "other"))) == []
    assert record.differences(replace(record, digest=record.digest + "x"))
    for name in record.settings:
        assert record.differences(replace(record, settings={**record.settings, name: "another value"})) == [name]


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_a_setting_cannot_have_the_name_of_something_else_in_the_file(name: str) -> None:
    with pytest.raises(UsageError, match=f"a setting cannot be named '{name}'"):
        CampaignRecord({name: 1})


@pytest.mark.parametrize("name", ["input type", "may change", "seeds and weights", "files", "versions"])
@pytest.mark.parametrize("value", [None, 5, [None], {"x": None}, "absent"])
def test_a_field_that_is_missing_or_of_another_type_is_refused_by_name(name: str, value: Any, tmp_path: Path) -> None:
    content = {key: one for key, one in MODEL.as_json().items() if key != name}
    content |= {} if value == "absent" else {name: value}
    (tmp_path / CONFIG).write_text(json.dumps(content))
    with pytest.raises(
        OutputRefused, match=r"config\.json is damaged or not of a campaign \(.*\): bring it back"
    ) as one:
        check_folder(tmp_path, MODEL)
    assert name in str(one.value) or value == {"x": None}
    assert "\n" not in str(one.value)


def test_a_folder_of_an_earlier_format_is_refused_in_one_line_that_says_so(tmp_path: Path) -> None:
    (tmp_path / CONFIG).write_text(json.dumps({**MODEL.as_json(), "folder format": 1}))
    with pytest.raises(
        OutputRefused, match=r"another version of Jostle \(folder format 1, .*give another --out"
    ) as refused:
        check_folder(tmp_path, MODEL)
    assert "\n" not in str(refused.value)


def test_what_a_folder_says_may_change_does_not_make_it_another_campaigns(tmp_path: Path) -> None:
    content = {**MODEL.as_json(), "may change": ["budget", "seed"]}
    (tmp_path / CONFIG).write_text(json.dumps(content))
    with pytest.raises(OutputRefused, match="changed: seed"):
        check_folder(tmp_path, replace(MODEL, settings={**MODEL.settings, "seed": 4}))


def test_campaigns_over_models_and_over_frameworks_are_not_each_other(tmp_path: Path) -> None:
    open_campaign(tmp_path, FRAMEWORKS).close()
    with pytest.raises(OutputRefused, match=r"changed: .*backends, .*models to begin from"):
        check_folder(tmp_path, MODEL)
