"""Values without bounds are for parts that need none; what bounds would tell must be given."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

from jostle.composition.recipe import Recipe
from jostle.composition.settle import settled
from jostle.composition.unbounded import refuse_without_bounds
from jostle.errors import SeedsRefused, UsageError
from jostle.inputs.domains import domain_of, with_declared_range
from jostle.inputs.seeds import SeedForm, load_seeds
from jostle.inputs.value_range import ValueRange
from jostle.options.campaign import InputOptions
from jostle.options.kinds import UNBOUNDED
from jostle.options.schema import Settings
from jostle.recipes.random import RANDOM
from jostle.recipes.tensorfuzz import TENSORFUZZ
from jostle.session.identity import record_of
from jostle.storage.files import as_json
from jostle.task import Task
from making import options, seeds_of


def of_any_value(recipe: Recipe = TENSORFUZZ, **chosen: Any) -> Settings:
    """Settings for a range without ends, unless another is given."""
    given = options(**{"range": "-inf,inf", "mutator": "noise,havoc", "sigma": 0.1, "oracle": "nan", **chosen})
    return settled(recipe, given, Task.CLASSES)


@pytest.mark.parametrize(
    "chosen",
    [
        {},
        {"recipe": RANDOM},
        {"oracle": "agree", "twin": "float16"},
        {"oracle": "flip", "radius": 0.5},
        {"range": "0,1", "mutator": "metamorphic", "scheduler": "pool", "sigma": None, "oracle": None},
    ],
)
def test_what_needs_no_bounds_goes(chosen: dict[str, Any]) -> None:
    refuse_without_bounds(of_any_value(**chosen))


@pytest.mark.parametrize(
    ("chosen", "problem"),
    [
        ({"mutator": "metamorphic"}, "--mutator metamorphic needs the ends of --range"),
        ({"mutator": "noise,gradient"}, "--mutator gradient needs the ends of --range"),
        ({"scheduler": "pool"}, "--scheduler pool needs the ends of --range"),
        ({"sigma": None}, "give --sigma"),
        ({"oracle": "flip"}, "give --radius"),
        ({"oracle": "flip", "havoc_radius": 0.5}, "give --radius"),
    ],
)
def test_what_needs_bounds_is_refused_with_what_to_give(chosen: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        refuse_without_bounds(of_any_value(**chosen))


def test_image_files_have_no_place_in_it(tmp_path: Path) -> None:
    Image.new("L", (4, 4)).save(tmp_path / "a.png")
    with pytest.raises(SeedsRefused, match="image files are scaled into --range"):
        load_seeds(str(tmp_path), SeedForm(*UNBOUNDED))


def test_a_campaign_of_any_values_is_the_one_that_its_folder_tells_of() -> None:
    record = record_of(of_any_value())
    again = json.loads(as_json(record.as_json()))
    assert again["range"] == ["-inf", "inf"] == record.settings["range"]
    assert options(range=again["range"]).of(InputOptions).bounds == UNBOUNDED


def test_the_domain_file_of_such_a_campaign_can_be_given(tmp_path: Path) -> None:
    file = tmp_path / "domain.toml"
    file.write_text('kind = "array"\nlow = -inf\nhigh = inf\n')
    given = with_declared_range(options(domain=str(file)))
    assert given.of(InputOptions).bounds == UNBOUNDED
    domain = domain_of(seeds_of(torch.rand(3, 2, 2) * 1e30), given.of(InputOptions))
    assert isinstance(domain, ValueRange) and (domain.low, domain.high) == UNBOUNDED
