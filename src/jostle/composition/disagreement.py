"""A recipe that heads for disagreement of twins: what such a search needs, whatever the recipe."""

from __future__ import annotations

from dataclasses import replace

from jostle.composition.recipe import Chosen, Recipe
from jostle.options.schema import Given

GAP, DISAGREE = "gap", "disagree"  # of --coverage and of --goal
GRADIENT = "gradient"  # whose lines from one parent are much alike, so that climbing would repeat them
HALVINGS = 12  # of noise, down to steps that tell 16 bits from 32
ITERATIONS = 10  # of steps that each go to where the last slope says that twins part


def toward_disagreement(recipe: Recipe) -> Recipe:
    """The recipe with a scheduler that climbs and noise that gets finer, if the gap alone guides; else as it is."""

    def choices(given: Given) -> Chosen:
        chosen = {**recipe.choices(given)}
        if tuple(given.get("coverage", ())) == (GAP,):
            chosen["halvings"] = HALVINGS
            if GRADIENT not in given.get("mutator", chosen["mutator"]):
                chosen["scheduler"] = "climb"
        if given.get("goal") == DISAGREE:
            chosen |= {"iterations": ITERATIONS, "neurons": 0}
        return chosen

    return replace(recipe, choices=choices)
