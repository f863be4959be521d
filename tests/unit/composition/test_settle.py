"""What is left open is filled in, and what would do nothing is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jostle.composition.contradictions import refuse_contradictions
from jostle.composition.settle import FUZZ, refuse_unread
from jostle.composition.settle import settled as settled_by
from jostle.errors import UsageError
from jostle.options.schema import Given
from jostle.recipes.all_recipes import recipe_of
from jostle.task import Task


def given(**choices: Any) -> Given:
    return FUZZ.parsed({"model": "m.py:f", "seeds": "s.npy", **choices})


def settled(chosen: Given, task: Task) -> dict[str, Any]:
    """Every option in effect, by name; one that nothing reads is refused."""
    refuse_unread(recipe_of(chosen), chosen, task)
    return settled_by(recipe_of(chosen), chosen, task).values


def test_a_crash_is_always_a_defect():
    assert settled(given(oracle=("agree",), twin="int8"), task=Task.CLASSES).get("oracle") == ["agree", "crash"]
    assert settled(given(oracle=("nan",)), task=Task.CLASSES).get("oracle") == ["nan", "crash"]


@pytest.mark.parametrize(
    ("task", "choices", "oracle"),
    [
        (Task.CLASSES, {}, ["flip", "nan", "crash"]),
        (Task.BINARY, {}, ["flip", "nan", "crash"]),
        (Task.MULTILABEL, {"twin": "int8"}, ["flip", "nan", "agree", "crash"]),
        (Task.UNKNOWN, {}, ["nan", "crash"]),
        (Task.UNKNOWN, {"twin": "int8"}, ["nan", "agree", "crash"]),
    ],
)
def test_what_is_known_implies_what_is_sought(task: Task, choices: dict[str, Any], oracle: list[str]):
    assert settled(given(**choices), task)["oracle"] == oracle


def test_twins_of_classifiers_agree_on_the_label_and_others_on_the_values():
    assert settled(given(twin="int8"), task=Task.CLASSES).get("agree") == "argmax"
    assert settled(given(twin="int8"), task=Task.MULTILABEL).get("agree") == "labels"
    for task in (Task.UNKNOWN, Task.REGRESSION):
        assert settled(given(twin="other.py:net"), task=task).get("agree") == "auto"


def test_noise_and_the_radius_of_flips_follow_the_value_range():
    settings = settled(given(oracle=("flip",), range=(-1.0, 1.0)), task=Task.CLASSES)
    assert settings.get("sigma") == pytest.approx(0.2) and settings.get("radius") == pytest.approx(0.2)
    assert settled(given(oracle=("nan",)), task=Task.CLASSES).get("radius") is None


def test_inputs_stay_near_their_seeds_wherever_answers_are_compared():
    assert settled(given(twin="int8", oracle=("agree",)), task=Task.UNKNOWN)["radius"] == pytest.approx(0.1)
    assert settled(given(oracle=("operator:not_",)), task=Task.CLASSES).get("radius") is None


def test_an_oracle_of_ones_own_says_itself_whether_it_compares(tmp_path: Path):
    (tmp_path / "own.py").write_text(
        "from jostle.oracles.labels import FLIP\nfrom jostle.oracles.numeric import Finite\n"
    )
    for name, radius in (("FLIP", 0.1), ("Finite", None)):
        chosen = given(oracle=(f"{tmp_path / 'own.py'}:{name}",))
        assert settled(chosen, task=Task.CLASSES).get("radius") == radius


@pytest.mark.parametrize(
    ("choices", "coverage"),
    [
        ({}, "nearest"),
        ({"oracle": ("nan", "crash")}, "magnitude"),
        ({"oracle": ("nan", "flip")}, "nearest"),
        ({"twin": "int8"}, "nearest"),
        ({"distance": "cosine"}, "nearest"),
        ({"coverage": ("nearest",)}, "nearest"),
    ],
)
def test_magnitudes_guide_where_only_nans_are_hunted(choices: dict[str, Any], coverage: str):
    assert settled(given(**choices), task=Task.CLASSES).get("coverage") == [coverage]


@pytest.mark.parametrize(
    ("choices", "mutator", "coverage", "scheduler"),
    [
        ({"oracle": ("flip",)}, ("noise",), ("nearest",), "recent"),
        ({"recipe": "random"}, ("noise",), (), "uniform"),
        ({"recipe": "random", "mutator": ("metamorphic",)}, ("metamorphic",), (), "uniform"),
        ({"recipe": "deephunter"}, ("metamorphic",), ("kmnc",), "pool"),
        ({"recipe": "deephunter", "coverage": ("nbc", "nc")}, ("metamorphic",), ("nbc", "nc"), "adaptive"),
        ({"recipe": "deephunter", "mutator": ("noise",), "scheduler": "seldom"}, ("noise",), ("kmnc",), "seldom"),
        ({"recipe": "dlfuzz"}, ("gradient",), ("nc",), "list"),
        ({"recipe": "dlfuzz", "mutator": ("noise", "gradient")}, ("noise", "gradient"), ("nc",), "list"),
        ({"recipe": "deepxplore", "models": ("o.py:f",)}, ("gradient",), ("nc",), "list"),
    ],
)
def test_a_recipe_names_the_parts_that_were_left_open(
    choices: dict[str, Any], mutator: tuple[str, ...], coverage: tuple[str, ...], scheduler: str
):
    settings = settled(given(**choices), task=Task.CLASSES)
    assert (settings["mutator"], settings["coverage"]) == (list(mutator), list(coverage))
    assert settings["scheduler"] == scheduler


def test_deephunter_hunts_flips_where_there_are_classes():
    assert settled(given(recipe="deephunter"), task=Task.CLASSES).get("oracle") == ["flip", "nan", "crash"]
    assert settled(given(recipe="deephunter"), task=Task.UNKNOWN).get("oracle") == ["nan", "crash"]


def test_deepxplore_hunts_answers_that_differ():
    settings = settled(given(recipe="deepxplore", models=("o.py:f",)), task=Task.CLASSES)
    assert settings.get("oracle") == ["differ", "nan", "crash"]


def test_image_transformations_need_neither_noise_nor_a_radius():
    settings = settled(given(recipe="deephunter"), task=Task.CLASSES)
    assert (settings.get("sigma"), settings.get("radius")) == (None, None)


@pytest.mark.parametrize(
    ("choices", "fix"),
    [
        ({"agree": "argmax"}, "name the second model with --twin"),
        ({"oracle": ("agree",)}, "name the second with --twin"),
        ({"oracle": ("nan",), "twin": "int8"}, "add agree, or leave out --twin"),
        ({"gradients": True}, "--metadata"),
        ({"distance": "cosine", "coverage": ("magnitude",)}, "--coverage nearest"),
        ({"recipe": "random", "coverage": ("nearest",), "scheduler": "pool"}, "leave out --coverage and --scheduler"),
        ({"coverage": ("kmnc", "nc", "kmnc")}, "--coverage names a criterion twice: name each once"),
        ({"mutator": ("noise", "noise")}, "--mutator names a mutator twice: name each once"),
        ({"oracle": ("differ",)}, "name the others with --models"),
        ({"recipe": "deepxplore"}, "name the others with --models, or use --recipe dlfuzz"),
        ({"models": ("o.py:f",), "twin": "int8"}, "not both"),
        ({"recipe": "deepxplore", "models": ("o.py:f",), "others": 2}, "leave it out beside --models"),
        ({"coverage": ("gap",)}, "name the second model with --twin"),
        ({"goal": "disagree"}, "name the second model with --twin"),
        ({"goal": "disagree", "twin": "float16", "neurons": 3}, "--neurons is of --goal label: leave it out"),
        ({"goal": "disagree", "twin": "float16", "others": 3}, "--others is of --goal label: leave it out"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(choices: dict[str, Any], fix: str):
    with pytest.raises(UsageError, match=fix):
        refuse_contradictions(given(**choices))


@pytest.mark.parametrize(
    ("choices", "fix"),
    [
        ({"recency": 0.9}, "--recency needs --scheduler smooth"),
        ({"newest": 9, "scheduler": "uniform"}, "--newest needs --scheduler recent"),
        ({"sample": 9}, "--sample needs --scheduler pool"),
        ({"gamma": 9.0}, "--gamma needs --scheduler pool or seldom or adaptive"),
        ({"p_min": 0.1}, "--p-min needs --scheduler pool or seldom or adaptive"),
        ({"alpha": 0.1}, "--alpha needs --mutator metamorphic"),
        ({"transforms": ("blur",)}, "--transforms needs --mutator metamorphic"),
        ({"ranges": "paper"}, "--ranges needs --mutator metamorphic"),
        ({"recipe": "dlfuzz", "border": "edge"}, "--border needs --mutator metamorphic"),
        ({"recipe": "deephunter", "sigma": 0.1}, "--sigma needs --mutator noise"),
        ({"recipe": "deephunter", "radius": 0.1}, "--radius needs --mutator noise"),
        ({"recipe": "deephunter", "threshold": 3.0}, "--threshold needs --coverage nearest or magnitude"),
        ({"recipe": "random", "distance": "cosine"}, "--recipe random is unguided: leave out --distance"),
        ({"profile": "x.npy"}, "--profile needs --coverage kmnc or nbc or snac"),
        ({"coverage": ("kmnc", "tknc"), "buckets": 3}, "--buckets needs --coverage nbc or snac"),
        ({"coverage": ("kmnc",), "top": 3}, "--top needs --coverage tknc or bknc"),
        ({"coverage": ("kmnc",), "active": 0.5}, "--active needs --coverage nc or --mutator gradient"),
        ({"beta": 0.1}, "--beta needs --mutator metamorphic or --scheduler pool"),
        ({"strategy": ("rare",)}, "--strategy needs --mutator gradient"),
        ({"reach": 0.3}, "--reach needs --mutator gradient"),
        ({"limit": 0.1}, "--limit needs --mutator gradient or --scheduler list"),
        ({"recipe": "dlfuzz", "scheduler": "uniform", "desired": 0.1}, "--desired needs --scheduler list"),
        ({"recipe": "dlfuzz", "models": ("o.py:f",)}, "--models needs --oracle differ"),
    ],
)
def test_a_setting_of_a_part_that_is_not_there_is_refused(choices: dict[str, Any], fix: str):
    with pytest.raises(UsageError, match=fix):
        settled(given(**choices), task=Task.CLASSES)


def test_a_setting_of_one_of_several_criteria_is_taken():
    choices = {"coverage": ("kmnc", "nearest", "tknc"), "sections": 9, "threshold": 0.5, "top": 3}
    settings = settled(given(**choices), task=Task.CLASSES)
    assert (settings.get("sections"), settings.get("threshold"), settings.get("top")) == (9, 0.5, 3)


def test_a_setting_of_one_of_several_mutators_is_taken():
    settings = settled(given(mutator=("noise", "gradient"), sigma=0.3, neurons=5), task=Task.CLASSES)
    assert (settings.get("sigma"), settings.get("neurons")) == (0.3, 5)


def test_a_property_may_compare_the_twins_itself():
    refuse_contradictions(given(oracle=("check.py:same",), twin="int8"))
