"""What a search toward disagreement needs is chosen, whatever the recipe, where the user left it open."""

from __future__ import annotations

from typing import Any

import pytest

from jostle.composition.compose import campaign_of
from jostle.composition.disagreement import HALVINGS, ITERATIONS, toward_disagreement
from jostle.composition.settle import FUZZ
from jostle.errors import UsageError
from jostle.recipes.all_recipes import recipe_of
from jostle.step_records import Summary
from jostle.subjects.torch_module import of_module
from jostle.zoo import lenet1, mnist_sample
from making import seeds_of

RECIPES = ("tensorfuzz", "deephunter", "dlfuzz")
SEEDS = seeds_of(mnist_sample()[0][:6], mnist_sample()[1][:6])


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


def searched(recipe: str, **choices: Any) -> Summary:
    """What a short campaign of LeNet-1 beside two twins came to."""
    options = {"twin": "float16,weights16", "executions": 40, "batch": 8, "force": True, **choices}
    return campaign_of(recipe_of(FUZZ.parsed({"recipe": recipe})), of_module(lenet1()), SEEDS, options).run()


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_gap_guides_every_recipe_that_is_guided(recipe: str) -> None:
    summary = searched(recipe, coverage="gap")
    assert summary.executions == 40 and summary.coverage["gap"]["halvings"] > 0


@pytest.mark.parametrize("recipe", RECIPES)
def test_gradients_of_every_recipe_head_for_disagreement(recipe: str) -> None:
    summary = searched(recipe, mutator="gradient", goal="disagree", coverage="gap")
    assert summary.executions == 40 and summary.coverage["gap"]["halvings"] > 0


@pytest.mark.parametrize("recipe", ["tensorfuzz", "deephunter"])
def test_a_recipe_without_gradients_says_what_the_goal_needs(recipe: str) -> None:
    with pytest.raises(UsageError, match=r"--goal .*--mutator gradient"):
        searched(recipe, goal="disagree")


@pytest.mark.parametrize(
    ("recipe", "choices", "fix"),
    [
        ("random", {"coverage": "gap"}, "--recipe random is unguided: leave out --coverage"),
        ("random", {"goal": "disagree"}, "--goal"),
        ("deepxplore", {"coverage": "gap"}, "name the others with --models"),
        ("deepxplore", {"goal": "disagree", "models": "jostle.zoo:lenet4"}, "not both"),
        ("tensorfuzz", {"coverage": "gap", "twin": None}, "name the second model with --twin"),
        ("dlfuzz", {"goal": "disagree", "twin": None}, "name the second model with --twin"),
    ],
)
def test_a_recipe_that_cannot_head_for_disagreement_says_so_in_one_line(
    recipe: str, choices: dict[str, Any], fix: str
) -> None:
    with pytest.raises(UsageError, match=fix) as refused:
        searched(recipe, **choices)
    assert "\n" not in str(refused.value)
