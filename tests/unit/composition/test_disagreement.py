"""What a search toward disagreement needs is chosen, whatever the recipe, where the user left it open."""

from __future__ import annotations

from typing import Any

import pytest

from jostle.composition.disagreement import HALVINGS, ITERATIONS, toward_disagreement
from jostle.composition.settle import FUZZ
from jostle.recipes.all_recipes import recipe_of


def chosen(**choices: Any) -> dict[str, Any]:
    given = FUZZ.parsed(choices)
    return dict(toward_disagreement(recipe_of(given)).choices(given))


@pytest.mark.parametrize("recipe", ["tensorfuzz", "deephunter"])
def test_where_the_gap_guides_the_search_climbs_with_finer_noise(recipe: str) -> None:
    found = chosen(recipe=recipe, coverage=("gap",))
    assert found["scheduler"] == "climb" and found["halvings"] == HALVINGS


@pytest.mark.parametrize("choices", [{}, {"coverage": ("nearest",)}, {"coverage": ("gap", "nearest")}])
def test_where_it_does_not_guide_alone_a_recipe_stays_as_it_is(choices: dict[str, Any]) -> None:
    given = FUZZ.parsed(choices)
    assert chosen(**choices) == dict(recipe_of(given).choices(given))


@pytest.mark.parametrize("choices", [{"recipe": "dlfuzz"}, {"recipe": "tensorfuzz", "mutator": ("gradient",)}])
def test_lines_along_gradients_keep_the_scheduler_of_their_recipe(choices: dict[str, Any]) -> None:
    assert chosen(coverage=("gap",), **choices)["scheduler"] == chosen(**choices)["scheduler"]


def test_gradients_toward_disagreement_take_more_steps_and_activate_no_neurons() -> None:
    found = chosen(recipe="dlfuzz", goal="disagree")
    assert found["iterations"] == ITERATIONS and found["neurons"] == 0
