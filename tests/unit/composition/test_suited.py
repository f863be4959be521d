"""Recipes take the mutator that suits the inputs, where the user named none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from jostle.composition.settle import FUZZ
from jostle.composition.suited import suited
from jostle.errors import UsageError
from jostle.inputs.value_range import ARRAY, IMAGE, ValueRange
from jostle.recipes.all_recipes import recipe_of
from jostle.task import Task


@dataclass(frozen=True)
class Words(ValueRange):
    mutator: str = "tokens"


@pytest.mark.parametrize(
    ("kind", "task", "choices", "mutator"),
    [
        (IMAGE, Task.CLASSES, {}, ("noise", "metamorphic")),
        (IMAGE, Task.CLASSES, {"recipe": "tensorfuzz"}, ("noise",)),
        (IMAGE, Task.CLASSES, {"oracle": ("nan",)}, ("noise",)),
        (IMAGE, Task.SEGMENTATION, {}, ("noise", "metamorphic")),
        (IMAGE, Task.DETECTION, {"oracle": ("boxes",)}, ("noise", "metamorphic")),
        (IMAGE, Task.REGRESSION, {}, ("noise",)),
        (IMAGE, Task.UNKNOWN, {}, ("noise",)),
        (ARRAY, Task.CLASSES, {}, ("noise",)),
        (IMAGE, Task.CLASSES, {"recipe": "dlfuzz"}, ("gradient",)),
    ],
)
def test_labelled_images_are_changed_as_a_camera_might_unless_a_recipe_is_named(
    kind: str, task: Task, choices: dict[str, Any], mutator: tuple[str, ...]
) -> None:
    given = FUZZ.parsed(choices)
    assert suited(recipe_of(given), ValueRange(0, 1, kind), task).choices(given)["mutator"] == mutator


@pytest.mark.parametrize("recipe", ["tensorfuzz", "random", "deephunter"])
def test_other_inputs_are_changed_by_the_mutator_of_their_domain_in_every_recipe(recipe: str) -> None:
    given = FUZZ.parsed({"recipe": recipe})
    assert suited(recipe_of(given), Words(0, 1), Task.CLASSES).choices(given)["mutator"] == ("tokens",)


@pytest.mark.parametrize("kind", ["text", "several"])
def test_inputs_that_gradients_cannot_change_are_refused_unless_a_mutator_is_named(kind: str) -> None:
    domain = Words(0, 1, kind)
    given = FUZZ.parsed({"recipe": "dlfuzz"})
    with pytest.raises(UsageError, match="gradients cannot change"):
        suited(recipe_of(given), domain, Task.CLASSES).choices(given)
    named = given.over(mutator=("text",))
    assert suited(recipe_of(named), domain, Task.CLASSES).choices(named)


def test_gradients_change_tokens_by_their_embedding() -> None:
    given = FUZZ.parsed({"recipe": "dlfuzz"})
    assert suited(recipe_of(given), Words(0, 1, "tokens"), Task.CLASSES).choices(given)["mutator"] == ("embedding",)
