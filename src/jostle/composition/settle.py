"""From what a user chose to settings with nothing left open; an option that nothing would read is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jostle.catalogue import PART_GROUPS, PartOptions, parts_named, readers_of
from jostle.composition.counted_coverage import CountedInputOptions
from jostle.composition.recipe import Recipe, RecipeOptions
from jostle.errors import UsageError
from jostle.options.campaign import (
    DoubtOptions,
    FailingOptions,
    FindingOptions,
    FolderOptions,
    InputOptions,
    ModelOptions,
    RunOptions,
    WatchOptions,
)
from jostle.options.declaration import Facts, flag_of, options_of
from jostle.options.resources import (
    BatchOptions,
    BudgetOptions,
    CorpusOptions,
    IsolationOptions,
    ScaleOptions,
    ThreadOptions,
)
from jostle.options.schema import Given, Schema, Settings
from jostle.part import ComparedWith
from jostle.records import Seeds
from jostle.schedulers.with_seeds import WithSeedsOptions
from jostle.task import Task, TaskOptions
from jostle.triage.gate import GateOptions

# All that `jostle fuzz` can be told.
FUZZ = Schema(
    *(InputOptions, RecipeOptions, PartOptions, ModelOptions, WatchOptions, TaskOptions),
    *(FindingOptions, FailingOptions, CountedInputOptions),
    *PART_GROUPS,
    *(WithSeedsOptions, BudgetOptions, BatchOptions, ThreadOptions, CorpusOptions, RunOptions, GateOptions),
    *(DoubtOptions, IsolationOptions, ScaleOptions),
)
# All that commands on a campaign's folder can be told.
ON_FOLDER = Schema(*FUZZ.groups, FolderOptions)
# What is sought of each task's answers, unless the user says what.
YES_OR_NO = (Task.BINARY, Task.MULTILABEL)
SOUGHT = {
    Task.CLASSES: "flip",
    Task.BINARY: "flip",
    Task.MULTILABEL: "flip",
    Task.REGRESSION: "moved",
    Task.SEGMENTATION: "masks",
    Task.DETECTION: "boxes",
    Task.EMBEDDING: "embedding",
    Task.SEQUENCE: "sequence",
}


def settled(recipe: Recipe, given: Given, task: Task, images: bool = False) -> Settings:
    """The settings with nothing left open, for a model of this task, and seeds that are 8-bit images or not.

    Seeds are such images if a file could hold them just as they are.
    """
    oracle = sought(recipe, given, task)
    given = given.over(oracle=oracle)
    chosen = {**recipe.choices(given), "as_images": images and recipe.shrinks, "minimise": recipe.shrinks}
    compared = {part.compares for part in parts_named("oracle", oracle)}
    facts = Facts(
        given.values,
        given.of(InputOptions).bounds,
        classes=task is Task.CLASSES,
        images=images,
        compares=bool(compared - {ComparedWith.NOTHING}),
        compares_with_seeds=ComparedWith.SEED in compared,
        labels=task in YES_OR_NO,
    )
    return FUZZ.settled(given, chosen, facts, unused=set(PART_GROUPS) - _read_by_parts(recipe, given))


def settled_by_seeds(settings: Settings, seeds: Seeds) -> Settings:
    """The same with what oracles left to the seeds and the model's answers, so that a finding alone can be judged."""
    for part in parts_named("oracle", settings[PartOptions].oracle):
        settings = part.settle(settings, seeds)
    return settings


def refuse_unread(recipe: Recipe, given: Given, task: Task) -> None:
    """Refuses an option of a part that is not there, because it would do nothing."""
    read = _read_by_parts(recipe, given.over(oracle=sought(recipe, given, task)))
    for group in PART_GROUPS:
        for name in options_of(group) if group not in read else ():
            if name in given:
                needs = readers_of(group)
                if given.get("recipe") == "random" and "mutator" not in needs:
                    raise UsageError(f"--recipe random is unguided: leave out {flag_of(name)}")
                parts = (f"--{kind} {' or '.join(names)}" for kind, names in needs.items())
                raise UsageError(f"{flag_of(name)} needs {' or '.join(parts)}")


def chosen_parts(recipe: Recipe, given: Given) -> dict[str, Any]:
    """The names of the parts, by option."""
    choices = recipe.choices(given)
    return {kind: given.get(kind, choices.get(kind, ())) for kind in ("coverage", "mutator", "scheduler", "oracle")}


def sought(recipe: Recipe, given: Given, task: Task) -> tuple[str, ...]:
    """The oracles that were asked for, or those that what is known implies; an exception is always a defect."""
    oracle: tuple[str, ...] = given.get("oracle") or tuple(_implied(recipe, given, task))
    return oracle if "crash" in oracle else (*oracle, "crash")


def _implied(recipe: Recipe, given: Given, task: Task) -> Iterator[str]:
    if recipe.compares_models and task is Task.CLASSES:
        yield "differ"
    elif task in SOUGHT:
        yield SOUGHT[task]
    yield "nan"
    if "twin" in given:
        yield "agree"


def _read_by_parts(recipe: Recipe, given: Given) -> set[type]:
    """The dataclasses of options that the parts read which were chosen."""
    named = chosen_parts(recipe, given)
    return {group for kind, names in named.items() for part in parts_named(kind, names) for group in part.options}
