"""A consent is the user's to give: on the command line, or in the user's own configuration, in no file of a project."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jostle.cli.flags import _with_own_consents
from jostle.cli.fuzz import OTHER_TABLES
from jostle.commands.starter_config import consent_flags
from jostle.composition.settle import FUZZ, ON_FOLDER
from jostle.errors import UsageError
from jostle.frameworks.campaign.options import FRAMEWORKS
from jostle.options.declaration import Option, Theme
from jostle.options.named_campaigns import named_campaigns
from jostle.options.own_config import own_config, own_consents
from jostle.options.schema import Given, Schema
from jostle.options.toml_files import code_named, given_by

CONSENTS = [option for option in ON_FOLDER.options.values() if option.consents]
# What bounds a run or silences a doubt, and so gives up no protection against a file or a folder.
NO_CONSENTS = {"force", "timeout", "rss_limit"}
every_consent = pytest.mark.parametrize("option", CONSENTS, ids=lambda option: option.name)


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    own_config().parent.mkdir(parents=True, mode=0o700)


def as_toml(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else f'"{value}"'


@pytest.mark.parametrize("schema", [ON_FOLDER, FRAMEWORKS])
def test_every_option_that_is_about_safety_says_whether_it_consents(schema: Schema) -> None:
    of_safety = {name for name, option in schema.options.items() if option.theme is Theme.SAFETY}
    assert of_safety - NO_CONSENTS == {name for name, option in schema.options.items() if option.consents}
    assert not {name for name in schema.options if name.startswith(("trust", "allow"))} - of_safety


@every_consent
@pytest.mark.parametrize("spell", [str, lambda name: name.replace("_", "-")])
@pytest.mark.parametrize(
    ("file", "table"),
    [("jostle.toml", ""), ("pyproject.toml", "[tool.jostle]"), ("jostle.toml", "[campaign.nightly]")],
)
def test_no_file_of_a_project_gives_it(option: Option, spell: Any, file: str, table: str, tmp_path: Path) -> None:
    [value] = option.consents
    schema = FUZZ if option.name in FUZZ.options else ON_FOLDER
    (tmp_path / file).write_text(f"{table}\n{spell(option.name)} = {as_toml(value)}\n")
    with pytest.raises(UsageError, match=f"is a consent.*give {option.spelled(value)} yourself") as refused:
        given_by(schema, {}, tmp_path, other_tables=OTHER_TABLES)
        named_campaigns(schema, tmp_path, OTHER_TABLES)
    assert "\n" not in str(refused.value) and str(own_config()) in str(refused.value)


@every_consent
def test_a_project_may_refuse_what_it_cannot_consent_to(option: Option, tmp_path: Path) -> None:
    [value] = option.consents
    if isinstance(value, bool) and option.name in FUZZ.options:
        (tmp_path / "jostle.toml").write_text(f"{option.name} = {as_toml(not value)}\n")
        assert given_by(FUZZ, {}, tmp_path).values == {option.name: not value}


@every_consent
def test_the_users_own_configuration_gives_it_below_what_is_typed(option: Option) -> None:
    [value] = option.consents
    own_config().write_text(f"{option.name} = {as_toml(value)}\n")
    assert _with_own_consents({option.name: None, "seed": None}) == {option.name: value, "seed": None}
    assert _with_own_consents({option.name: not value}) == {option.name: not value}


@every_consent
def test_a_file_to_begin_with_leaves_it_to_the_command_line(option: Option) -> None:
    [value] = option.consents
    flags = consent_flags(Given({option.name: value}))
    assert flags == ([option.spelled(value)] if option.name in FUZZ.options else [])


def test_without_a_file_nothing_is_consented_to() -> None:
    assert own_consents(CONSENTS) == {}


@pytest.mark.parametrize("place", ["file", "folder"])
def test_a_configuration_that_others_can_write_to_is_refused(place: str) -> None:
    own_config().write_text("trust_model = true\n")
    (own_config() if place == "file" else own_config().parent).chmod(0o777)
    with pytest.raises(UsageError, match="others can write to it, so it cannot consent for you"):
        own_consents(CONSENTS)


def test_a_configuration_of_another_user_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    own_config().write_text("trust_model = true\n")
    monkeypatch.setattr("os.geteuid", lambda: own_config().stat().st_uid + 1)
    with pytest.raises(UsageError, match="belongs to another user"):
        own_consents(CONSENTS)


@pytest.mark.parametrize("content", ["trust_modle = true", "seed = 1", "trust_model = 1", "trust_model"])
def test_what_is_no_consent_there_is_refused_in_one_line(content: str) -> None:
    own_config().write_text(content)
    with pytest.raises(UsageError) as refused:
        own_consents(CONSENTS)
    assert "\n" not in str(refused.value)


def test_code_that_files_of_the_project_name_is_told_apart_from_what_is_typed(tmp_path: Path) -> None:
    (tmp_path / "jostle.toml").write_text(
        'model = "net.py:build"\noracle = ["nan", "rules.py:close"]\nseeds = "s.npy"\n'
    )
    flags = {"metadata": "typed.py:more"}
    given = given_by(FUZZ, flags, tmp_path)
    assert code_named(FUZZ, given, flags) == ["rules.py", "net.py"]
    assert code_named(FUZZ, given, {**flags, "model": "net.py:build"}) == ["rules.py"]
