"""A recipe as it suits the inputs at hand: the mutator that changes such inputs, where the user named none."""

from __future__ import annotations

from dataclasses import replace

from jostle.composition.recipe import Chosen, Recipe
from jostle.domain import Domain
from jostle.errors import UsageError
from jostle.inputs.several import SEVERAL
from jostle.inputs.tokens import TEXT, TOKENS
from jostle.inputs.value_range import IMAGE
from jostle.options.schema import Given
from jostle.task import OF_LABELS, Task

OF_IMAGES = ("noise", "metamorphic")  # what changes images, unless a recipe was named
OF_GRADIENTS = ("gradient",)  # which can change tables and waves too
WITHOUT_GRADIENTS = {TEXT: "texts, of which a tokenizer makes tokens", SEVERAL: "several inputs at once"}
MAY_BE_MOVED = (*OF_LABELS, Task.SEGMENTATION, Task.DETECTION, Task.EMBEDDING)  # whose answers stay, or move along
KEPT = {"flip", "masks", "boxes", "embedding"}  # the oracles of those
OF_EMBEDDINGS = ("embedding",)  # which gradients change tokens by
OF_VALUES = "noise"  # the mutator of images and arrays, for which every recipe has its own


def suited(recipe: Recipe, domain: Domain, task: Task) -> Recipe:
    """The recipe with mutators for such inputs and such a task."""

    def choices(given: Given) -> Chosen:
        chosen = recipe.choices(given)
        return {**chosen, "mutator": _mutators(chosen["mutator"], given, domain, task)}

    return replace(recipe, choices=choices)


def _mutators(usual: tuple[str, ...], given: Given, domain: Domain, task: Task) -> tuple[str, ...]:
    if "mutator" in given:
        return usual
    if usual == OF_GRADIENTS:
        return _along_gradients(domain)
    if domain.mutator != OF_VALUES:
        return (domain.mutator,)
    plain = "recipe" not in given and usual == (OF_VALUES,)
    compares = bool(KEPT & set(given.get("oracle", KEPT)))
    return OF_IMAGES if plain and compares and domain.kind == IMAGE and task in MAY_BE_MOVED else usual


def _along_gradients(domain: Domain) -> tuple[str, ...]:
    """What follows gradients in such inputs."""
    if domain.kind == TOKENS:
        return OF_EMBEDDINGS
    if domain.kind in WITHOUT_GRADIENTS:
        raise UsageError(
            f"gradients cannot change {WITHOUT_GRADIENTS[domain.kind]}: use --recipe tensorfuzz or deephunter"
        )
    return OF_GRADIENTS
