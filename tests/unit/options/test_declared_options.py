"""What is true of every option follows from its declaration, and so does what tests try on it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jostle.cli.frameworks import TABLE
from jostle.cli.fuzz import OTHER_TABLES
from jostle.composition.settle import FUZZ, settled
from jostle.errors import UsageError
from jostle.frameworks.campaign.options import FRAMEWORKS
from jostle.frameworks.campaign.options import settled as settled_frameworks
from jostle.options.declaration import Derived, Option
from jostle.options.kinds import BYTES, Bounds, shown
from jostle.options.schema import Given, Schema, Settings
from jostle.options.toml_files import given_by
from jostle.recipes.all_recipes import recipe_of
from jostle.session.identity import folder_of, record_of
from jostle.storage.campaign_record import CampaignRecord
from jostle.task import Task

SCHEMAS = {"fuzz": FUZZ, "frameworks": FRAMEWORKS}
OPTIONS = [(schema, option) for schema in SCHEMAS.values() for option in schema.options.values()]
every_option = pytest.mark.parametrize(
    ("schema", "option"),
    OPTIONS,
    ids=[f"{command}-{name}" for command, schema in SCHEMAS.items() for name in schema.options],
)
BAD = [(schema, option, value) for schema, option in OPTIONS for value in option.kind.bad]


@pytest.mark.parametrize(
    ("schema", "option", "value"), BAD, ids=lambda one: getattr(one, "name", None) or ascii(shown(one))[:20]
)
def test_a_bad_value_is_refused_naming_the_flag_in_one_short_line(schema: Schema, option: Option, value: Any) -> None:
    with pytest.raises(UsageError, match=option.flag) as refused:
        schema.parsed({option.name: value})
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 600


@every_option
def test_a_default_is_a_value_that_could_have_been_given(schema: Schema, option: Option) -> None:
    if isinstance(option.default, Derived) or option.default in (None, (), ""):
        return
    given = schema.parsed({option.name: json.loads(json.dumps(option.default))})
    assert given.get(option.name) == option.default


@every_option
def test_help_is_one_line_that_tells_the_default(schema: Schema, option: Option) -> None:
    assert option.help.endswith(".") and "\n" not in option.help
    if isinstance(option.default, int | float) and not isinstance(option.default, bool):
        told = f"{option.default:g}" if option.kind is not BYTES else BYTES.show(option.default)
        assert told in option.help


@every_option
def test_a_file_may_set_it_with_dashes_or_underscores(schema: Schema, option: Option) -> None:
    for key in (option.name, option.name.replace("_", "-")):
        assert schema.renamed({key: 1}, "jostle.toml") == {option.name: 1}


def in_folder(folder: Path, **flags: Any) -> Given:
    return given_by(FUZZ, flags, folder, other_tables=OTHER_TABLES)


def test_flags_come_before_jostle_toml_before_pyproject(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.jostle]\nseed = 1\nbatch = 10\nnewest = 7\n")
    (tmp_path / "jostle.toml").write_text("seed = 2\nbatch = 20\n")
    given = in_folder(tmp_path, seed="3")
    assert given.values == {"seed": 3, "batch": 20, "newest": 7}


def test_a_file_alone_can_hold_everything(tmp_path: Path) -> None:
    (tmp_path / "jostle.toml").write_text(
        'model = "a.pt2"\nseeds = "s.npy"\nrange = [0, 255]\noracle = ["nan", "flip"]\nbudget = "2m"\n'
    )
    assert in_folder(tmp_path, model=None).values == {
        "model": "a.pt2",
        "seeds": "s.npy",
        "range": (0.0, 255.0),
        "oracle": ("nan", "flip"),
        "budget": 120.0,
    }


def test_frameworks_have_a_table_of_their_own_in_the_same_files(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.jostle]\nseed = 1\n[tool.jostle.frameworks]\nphase = ["train"]\n')
    (tmp_path / "jostle.toml").write_text("batch = 20\n[frameworks]\nbatch = 4\n")
    assert in_folder(tmp_path).values == {"seed": 1, "batch": 20}
    assert given_by(FRAMEWORKS, {}, tmp_path, TABLE).values == {"phase": ("train",), "batch": 4}


def test_a_pyproject_of_somebody_else_is_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\n[tool.ruff]\nline-length = 5\n')
    assert in_folder(tmp_path).values == {}


@pytest.mark.parametrize(
    ("file", "content", "cause"),
    [
        ("jostle.toml", "sede = 1", "unknown setting 'sede', did you mean 'seed'"),
        ("pyproject.toml", "[tool.jostle]\nbatches = 1", "unknown setting 'batches', did you mean 'batch'"),
        ("pyproject.toml", "[tool]\njostle = 1", r"write \[tool.jostle\]"),
        ("jostle.toml", "xyzzy = 1", "unknown setting 'xyzzy'"),
        ("jostle.toml", "trust-folder = true", "trust_folder = true is a consent.*give --trust-folder yourself"),
        ("jostle.toml", "\nexecutions = " + "9" * 5000, "line 2 holds a number of 5000 digits.*give a smaller one"),
        ("jostle.toml", 'seeds = "a\\u0000b"', "without NUL"),
        ("jostle.toml", f'seeds = "{"a/" * 2500}"', "at most 4096 characters"),
        ("jostle.toml", "seed = ", "cannot be read"),
        ("jostle.toml", "seed = 1.5", "--seed 1.5"),
        ("jostle.toml", 'seed = "1"', "--seed 1"),
        ("jostle.toml", "force = 1", "--force 1"),
        ("jostle.toml", "twin = 3", "--twin 3"),
    ],
)
def test_a_wrong_file_is_refused_naming_the_setting(file: str, content: str, cause: str, tmp_path: Path) -> None:
    (tmp_path / file).write_text(content)
    with pytest.raises(UsageError, match=cause):
        in_folder(tmp_path)


GOOD = [
    ("range", "0,1", (0.0, 1.0)),
    ("range", "-1, 1", (-1.0, 1.0)),
    ("range", "-inf, inf", (-math.inf, math.inf)),
    ("special_values", "nan,inf", ("nan", "inf")),
    ("mean", "0.5", (0.5,)),
    ("mean", "0.1,0.2,0.3", (0.1, 0.2, 0.3)),
    ("size", "224,200", (224, 200)),
    ("budget", "60", 60.0),
    ("budget", "1.5m", 90.0),
    ("budget", "2h", 7200.0),
    ("budget", "1d", 86400.0),
    ("max_disk", "2G", 2**31),
    ("corpus_memory", "256M", 2**28),
    ("executions", "5", 5),
    ("channels", "3", 3),
    ("oracle", "nan, crash", ("nan", "crash")),
    ("layers", "conv*,fc1", ("conv*", "fc1")),
    ("sigma", "1", 1.0),
    ("coverage", "kmnc, nc", ("kmnc", "nc")),
    ("transforms", "rotation=-15:15,blur", ("rotation=-15:15", "blur")),
    ("p_min", "1", 1.0),
    ("agree", "top5", "top5"),
]


@pytest.mark.parametrize(("name", "text", "expected"), GOOD)
def test_the_text_of_a_flag_is_read(name: str, text: str, expected: Any, tmp_path: Path) -> None:
    assert in_folder(tmp_path, **{name: text}).get(name) == expected


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("range", [0, 255], (0.0, 255.0)),
        ("range", [-math.inf, math.inf], (-math.inf, math.inf)),
        ("mean", 0.5, (0.5,)),
        ("budget", 60, 60.0),
        ("agree", 0.001, "0.001"),
    ],
)
def test_a_value_of_a_file_is_read(name: str, value: Any, expected: Any) -> None:
    assert FUZZ.parsed({name: value}).get(name) == expected


def test_an_empty_list_leaves_a_list_open_and_is_no_other_value() -> None:
    assert FUZZ.parsed({"layers": [], "oracle": (), "mean": []}).values == {}
    for name in ("budget", "range", "isolate", "seed", "scheduler"):
        with pytest.raises(UsageError, match=f"--{name}"):
            FUZZ.parsed({name: []})


def of_fuzz(**options: Any) -> Settings:
    given = FUZZ.parsed({"model": "m.py:net", "seeds": "images", **options})
    return settled(recipe_of(given), given, Task.CLASSES)


def of_frameworks(**options: Any) -> Settings:
    return settled_frameworks(FRAMEWORKS.parsed(options))


def named_folder(settings: Settings) -> Path:
    return folder_of(None, ["net"], record_of(settings))


@pytest.mark.parametrize("settle", [of_fuzz, of_frameworks])
def test_the_same_options_give_the_same_folder_and_a_larger_budget_too(settle: Callable[..., Settings]) -> None:
    assert named_folder(settle(seed=1)) == named_folder(settle(seed=1)) != named_folder(settle())
    more = settle(budget="9h", executions=9, findings=9, max_disk="1G", out="here")
    assert record_of(more).identity() == record_of(settle()).identity()


def test_other_options_give_another_folder() -> None:
    changes: list[dict[str, Any]] = [{}, {"seed": 1}, {"radius": 0.2}, {"oracle": "nan"}, {"coverage": "nc"}]
    folders = {named_folder(of_fuzz(**change)) for change in changes}
    assert len(folders) == len(changes)
    assert all(folder.parent == Path("jostle-runs") for folder in folders)


def test_the_folder_is_where_it_was_asked_for() -> None:
    assert folder_of("here/there", ["net"], CampaignRecord({})) == Path("here/there")


def test_a_campaign_is_another_when_the_files_it_names_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    identities = []
    for content in ("def net(): ...", "def net(): pass"):
        Path("m.py").write_text(content)
        identities.append(record_of(of_fuzz()).identity())
    assert identities[0] != identities[1]


def test_the_identity_is_plain_json_of_what_something_reads() -> None:
    identity = record_of(of_fuzz(range="0,1", oracle="nan", mean="0.1")).identity()
    assert json.loads(json.dumps(identity)) == identity
    assert "sigma" in identity and "gamma" not in identity


NUMERIC = {"INTEGER", "FLOAT", "NUMBERS", "TIME", "SIZE", "LOW,HIGH", "HEIGHT,WIDTH", "N|all", "AMOUNT", "BASELINE"}
BOUNDED = [(schema, option, option.kind.bounds) for schema, option in OPTIONS if option.kind.bounds is not None]
every_bound = pytest.mark.parametrize(
    ("schema", "option", "bounds"), BOUNDED, ids=[option.name for _, option, _ in BOUNDED]
)


def test_every_option_that_takes_numbers_has_finite_bounds() -> None:
    without = [one.name for _, one in OPTIONS if one.kind.metavar in NUMERIC and one.kind.bounds is None]
    assert not without and len(BOUNDED) > 50
    assert all(math.isfinite(bounds.low) and math.isfinite(bounds.high) for _, _, bounds in BOUNDED)


def accepted(schema: Schema, option: Option, number: float, folder: Path) -> set[bool]:
    """Whether a number is taken as a flag, in a file and from a script; else one line says why not."""
    text = option.kind.spelled(number)
    (folder / "jostle.toml").write_text(f"{option.name} = {json.dumps(option.kind.read(text))}\n")
    ways = (
        lambda: schema.parsed(schema.read({option.name: text})),
        lambda: given_by(schema, {}, folder),
        lambda: schema.parsed({option.name: option.kind.read(text)}),
    )
    return {taken(way, option) for way in ways}


def taken(parse: Callable[[], Given], option: Option) -> bool:
    try:
        return option.name in parse()
    except UsageError as error:
        assert option.flag in str(error) and "\n" not in str(error) and len(str(error)) < 600
        return False


@every_bound
def test_numbers_are_taken_up_to_their_bounds_and_refused_beyond(
    schema: Schema, option: Option, bounds: Bounds, tmp_path: Path
) -> None:
    whole = isinstance(bounds.high, int)
    low, high = bounds.low, bounds.high
    beyond_high = high + 1 if whole or high < 1e15 else high * 1.01
    beyond_low = low - 1 if whole or low >= -1e15 else low * 1.01
    assert accepted(schema, option, high, tmp_path) == {high in bounds}
    assert accepted(schema, option, low, tmp_path) == {low in bounds}
    assert accepted(schema, option, beyond_high, tmp_path) == accepted(schema, option, beyond_low, tmp_path) == {False}


@pytest.mark.parametrize("digits", [300, 5000])
@every_bound
def test_a_number_of_many_digits_is_refused_in_one_line(
    schema: Schema, option: Option, bounds: Bounds, digits: int, tmp_path: Path
) -> None:
    number = 10**digits
    (tmp_path / "jostle.toml").write_text(f"{option.name} = 0x1{'0' * digits}\n")
    ways = (
        lambda: schema.parsed(schema.read({option.name: "1" + "0" * digits})),
        lambda: schema.parsed({option.name: number}),
        lambda: schema.parsed({option.name: [number, -number]}),
        lambda: given_by(schema, {}, tmp_path),
    )
    assert {taken(way, option) for way in ways} == {False}


@pytest.mark.parametrize(
    "value", ["1" + "0" * 5000, "[" * 2000, "[" * 50 + "]" * 50, "1e400", "nan", "{a = " * 3000, '"\\u0000"']
)
def test_a_file_with_a_value_that_cannot_be_is_refused_in_one_line(value: str, tmp_path: Path) -> None:
    (tmp_path / "jostle.toml").write_text(f"batch = {value}\n")
    with pytest.raises(UsageError) as refused:
        in_folder(tmp_path)
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 600
