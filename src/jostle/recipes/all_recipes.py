"""Every recipe by the name a user types."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.composition.recipe import NAMES, Recipe, RecipeOptions
from jostle.options.schema import Given
from jostle.recipes.deephunter import DEEPHUNTER
from jostle.recipes.deepxplore import DEEPXPLORE
from jostle.recipes.dlfuzz import DLFUZZ
from jostle.recipes.random import RANDOM
from jostle.recipes.tensorfuzz import TENSORFUZZ

RECIPES: Mapping[str, Recipe] = {recipe.name: recipe for recipe in (TENSORFUZZ, DEEPHUNTER, DLFUZZ, DEEPXPLORE, RANDOM)}
assert tuple(RECIPES) == NAMES


def recipe_of(given: Given) -> Recipe:
    """The recipe that was chosen, or the usual one."""
    return RECIPES[given.get("recipe", RecipeOptions.recipe)]
