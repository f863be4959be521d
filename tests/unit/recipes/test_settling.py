"""What is left open is filled in, and what would do nothing is refused."""

from __future__ import annotations

from typing import Any

import pytest

from jostle.config import Settings
from jostle.errors import UsageError
from jostle.recipes.settling import refuse_contradictions, settled
from jostle.recipes.tensorfuzz import tensorfuzz_defaults


def given(**choices: Any) -> Settings:
    return Settings(model="m.py:f", seeds="s.npy", **choices)


def test_a_crash_is_always_a_defect():
    assert settled(given(oracle=("agree",), twin="int8"), classes=True).oracle == ("agree", "crash")
    assert settled(given(), classes=True).oracle == ("nan", "crash")


def test_twins_of_classifiers_agree_on_the_label_and_others_on_the_values():
    assert settled(given(twin="int8"), classes=True).agree == "argmax"
    assert settled(given(twin="int8"), classes=False).agree == "1e-5"


def test_noise_and_the_radius_of_flips_follow_the_value_range():
    settings = settled(given(oracle=("flip",), range=(-1.0, 1.0)), classes=True)
    assert settings.sigma == pytest.approx(0.2) and settings.radius == pytest.approx(0.2)
    assert settled(given(oracle=("nan",)), classes=True).radius is None


@pytest.mark.parametrize(
    ("choices", "coverage"),
    [
        ({}, "magnitude"),
        ({"oracle": ("nan", "crash")}, "magnitude"),
        ({"oracle": ("nan", "flip")}, "nearest"),
        ({"twin": "int8"}, "nearest"),
        ({"distance": "cosine"}, "nearest"),
        ({"coverage": "nearest"}, "nearest"),
    ],
)
def test_magnitudes_guide_where_only_nans_are_hunted(choices: dict[str, Any], coverage: str):
    assert tensorfuzz_defaults(settled(given(**choices), classes=True)).coverage == coverage


@pytest.mark.parametrize(
    ("choices", "fix"),
    [
        ({"agree": "argmax"}, "name the second model with --twin"),
        ({"oracle": ("agree",)}, "name the second with --twin"),
        ({"oracle": ("nan",), "twin": "int8"}, "add agree, or leave out --twin"),
        ({"gradients": True}, "--metadata"),
        ({"recency": 0.9}, "--scheduler smooth"),
        ({"newest": 9, "scheduler": "uniform"}, "--scheduler recent"),
        ({"distance": "cosine", "coverage": "magnitude"}, "--coverage nearest"),
        ({"recipe": "random", "threshold": 3.0, "newest": 9}, "leave out --threshold and --newest"),
    ],
)
def test_a_setting_that_would_do_nothing_is_refused(choices: dict[str, Any], fix: str):
    with pytest.raises(UsageError, match=fix):
        refuse_contradictions(given(**choices))


def test_a_property_may_compare_the_twins_itself():
    refuse_contradictions(given(oracle=("check.py:same",), twin="int8"))
