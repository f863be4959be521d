"""What is tried of a model and seeds before a file is written for them."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from jostle.commands import first_look
from jostle.commands.first_look import NORMALISED, Trial
from jostle.composition.settle import FUZZ
from jostle.errors import UsageError
from jostle.options.schema import Given
from jostle.records import Seeds


def seeds_of(*shape: int) -> Seeds:
    inputs = torch.rand(6, *shape, generator=torch.Generator().manual_seed(0))
    return Seeds(inputs, torch.arange(6) % 2, tuple(map(str, range(6))))


@pytest.mark.parametrize("channels", NORMALISED)
def test_only_images_may_be_meant_to_be_normalised(channels: int) -> None:
    given = FUZZ.parsed({"model": "net.py:net", "seeds": "digits.npz"})
    of_images = list(first_look._ways(given, seeds_of(channels, 8, 8)))
    assert [way for way in of_images if "mean" in way] == [{"range": (0.0, 1.0), **NORMALISED[channels]}]
    for shape in ((channels,), (channels, 8), (channels, 4, 8, 8)):
        assert not any("mean" in way for way in first_look._ways(given, seeds_of(*shape)))


@pytest.mark.parametrize("works", ["int8", "float16", None])
def test_twins_are_made_until_one_answers(works: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def one(given: Given, options: dict[str, Any]) -> Trial:
        tried.extend(options["twin"])
        return Trial(options, {}, None if options["twin"] == (works,) else UsageError("no"))

    monkeypatch.setattr(first_look, "_tried", one)
    given = FUZZ.parsed({"model": "jostle.zoo:lenet1", "seeds": "jostle.zoo:mnist_sample"})
    twin, refused = first_look._first_twin(given, first_look.inspected(given))
    able = ["int8", "int8-static", "float16"]
    assert twin == works and tried == able[: able.index(works) + 1 if works else None]
    assert list(refused) == [name for name in tried if name != works]
