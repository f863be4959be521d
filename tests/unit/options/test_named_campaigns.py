"""Campaigns that a file names: what each is told, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jostle.cli.fuzz import OTHER_TABLES
from jostle.composition.settle import FUZZ
from jostle.errors import UsageError
from jostle.options.named_campaigns import NamedCampaign, chosen_campaigns, named_campaigns
from jostle.options.schema import Given
from jostle.options.toml_files import given_by

SEVERAL = """\
seed = 1
batch = 10
out = "of-fuzz"
[frameworks]
batch = 4
[campaign.quick]
budget = "20s"
[campaign.nightly]
batch = 30
out = "kept"
"""


def in_folder(folder: Path) -> dict[str, NamedCampaign]:
    return named_campaigns(FUZZ, folder, OTHER_TABLES)


def given(folder: Path, name: str, **flags: Any) -> Given:
    return in_folder(folder)[name].given(FUZZ, flags)


def test_flags_come_before_a_table_before_what_stands_above_it(tmp_path: Path) -> None:
    (tmp_path / "jostle.toml").write_text(SEVERAL)
    assert list(in_folder(tmp_path)) == ["quick", "nightly"]
    nightly = {"seed": 1, "batch": 30, "out": "kept"}
    assert given(tmp_path, "nightly").values == nightly
    assert given(tmp_path, "nightly", batch="50", out="x").values == {**nightly, "batch": 50, "out": "x"}


def test_a_campaign_without_a_folder_has_one_under_its_name(tmp_path: Path) -> None:
    (tmp_path / "jostle.toml").write_text(SEVERAL)
    assert given(tmp_path, "quick").get("out") == str(Path("jostle-runs") / "quick")


def test_jostle_fuzz_leaves_named_campaigns_aside(tmp_path: Path) -> None:
    (tmp_path / "jostle.toml").write_text(SEVERAL)
    found = given_by(FUZZ, {}, tmp_path, other_tables=OTHER_TABLES)
    assert found.values == {"seed": 1, "batch": 10, "out": "of-fuzz"}


def test_both_files_name_campaigns_and_a_table_comes_before_what_stands_above_in_either(tmp_path: Path) -> None:
    pyproject = (
        "[tool.jostle]\nseed = 1\n[tool.jostle.campaign.nightly]\nbatch = 7\nseed = 2\n[tool.jostle.campaign.a]\n"
    )
    (tmp_path / "pyproject.toml").write_text(pyproject)
    (tmp_path / "jostle.toml").write_text("batch = 9\nnewest = 3\n[campaign.nightly]\nseed = 5\n[campaign.b]\n")
    assert list(in_folder(tmp_path)) == ["nightly", "a", "b"]
    nightly = {name: given(tmp_path, "nightly").get(name) for name in ("seed", "batch", "newest")}
    assert nightly == {"seed": 5, "batch": 7, "newest": 3}


@pytest.mark.parametrize(
    ("file", "content", "told"),
    [
        (
            "jostle.toml",
            "[campaign.nightly]\nbudgt = '5s'",
            r"jostle.toml \[campaign.nightly\]: unknown .*mean 'budget'",
        ),
        (
            "pyproject.toml",
            "[tool.jostle.campaign.nightly]\nsedes = 'x'",
            r"pyproject.toml \[tool.jostle.campaign.nightly\]: unknown setting 'sedes', did you mean 'seeds'",
        ),
        ("jostle.toml", "campaign = 3", r"campaign is no table: write \[campaign.NAME\]"),
        ("jostle.toml", "[[campaign]]\nseed = 1", r"campaign is no table: write \[campaign.NAME\]"),
        ("jostle.toml", "[campaign]\nnightly = 3", r"nightly is no table: write \[campaign.nightly\]"),
        ("jostle.toml", "[campaign]\nbudget = '3s'", r"budget is no table: write \[campaign.budget\]"),
        ("jostle.toml", "[campaign.a]\n[campaign.a]\n", "cannot be read: fix it"),
        ("jostle.toml", "[campaign.'../up']", "name campaigns with letters, digits, - and _"),
        ("jostle.toml", "[campaign.a.b]\nseed = 1", r"\[campaign.a\]: unknown setting 'b'"),
        ("jostle.toml", "[campaigns.nightly]\nseed = 1", "unknown setting 'campaigns', did you mean 'campaign'"),
    ],
)
def test_a_wrong_table_is_refused_naming_file_and_table(file: str, content: str, told: str, tmp_path: Path) -> None:
    (tmp_path / file).write_text(content)
    with pytest.raises(UsageError, match=told) as caught:
        in_folder(tmp_path)
    assert str(tmp_path / file) in str(caught.value) and "\n" not in str(caught.value)


def test_a_wrong_value_names_its_campaign(tmp_path: Path) -> None:
    (tmp_path / "jostle.toml").write_text("[campaign.nightly]\nbudget = 'soon'")
    with pytest.raises(UsageError, match="campaign nightly: --budget soon: give a time"):
        given(tmp_path, "nightly")


def test_names_are_chosen_once_each_and_the_nearest_is_told(tmp_path: Path) -> None:
    (tmp_path / "jostle.toml").write_text(SEVERAL)
    known = in_folder(tmp_path)
    assert [one.name for one in chosen_campaigns(known, ["nightly", "quick"])] == ["nightly", "quick"]
    with pytest.raises(UsageError, match="did you mean nightly"):
        chosen_campaigns(known, ["nigthly"])
    with pytest.raises(UsageError, match="'quick' is named twice"):
        chosen_campaigns(known, ["quick", "nightly", "quick"])
    with pytest.raises(UsageError, match=r"write \[campaign.nightly\] into jostle.toml, or jostle init"):
        chosen_campaigns({}, ["nightly"])
