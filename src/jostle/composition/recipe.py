"""What a recipe is: the parts that its paper composes, wherever the user left the choice open."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from jostle.options.declaration import Theme, option
from jostle.options.kinds import choice
from jostle.options.schema import Given

Chosen = Mapping[str, Any]  # options by name


@dataclass(frozen=True)
class Recipe:
    """Names the parts of a fuzzer where the user left the choice open."""

    name: str
    line: str
    choices: Callable[[Given], Chosen]
    compares_models: bool = False  # instead of labels, the answers of several models are compared
    shrinks: bool = False  # its changes are meant to be small: findings must survive saving, and are minimised


NAMES = ("tensorfuzz", "deephunter", "dlfuzz", "deepxplore", "random")


@dataclass(frozen=True)
class RecipeOptions:
    """Which recipe names the parts that are left open."""

    recipe: str = option(choice(lambda: NAMES), f"{', '.join(NAMES)}", Theme.FIRST, default="tensorfuzz")
