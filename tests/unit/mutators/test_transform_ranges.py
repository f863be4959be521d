"""From `rotation=-15:15,noise` to image transformations."""

from __future__ import annotations

import pytest

from jostle.errors import UsageError
from jostle.mutators.transform_ranges import transforms_named
from jostle.mutators.transforms import TRANSFORMS


def test_without_names_there_are_all_eight() -> None:
    assert transforms_named(()) == TRANSFORMS and len(TRANSFORMS) == 8


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_name_alone_keeps_the_range_and_numbers_replace_it(name: str) -> None:
    assert transforms_named([name]) == {name: TRANSFORMS[name]}
    (changed,) = transforms_named([f"{name}=1:1"]).values()
    assert vars(changed) == {**vars(TRANSFORMS[name]), "low": 1, "high": 1}


def test_several_are_kept_in_order_with_spaces_around() -> None:
    found = transforms_named(["rotation = -15 : 15", " noise", "blur=2:2"])
    assert list(found) == ["rotation", "noise", "blur"]
    assert (found["rotation"].low, found["rotation"].high) == (-15, 15)
    assert (found["blur"].low, found["blur"].high) == (2, 2)


@pytest.mark.parametrize(
    "text", ["rotation=", "rotation=5", "rotation=a:b", "rotation=5:-5", "rotation=:", "noise=1:2:3"]
)
def test_what_is_no_range_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match=r"NAME=LOW:HIGH, such as rotation=-15:15 \(default") as refusal:
        transforms_named([text])
    assert text in str(refusal.value) and "\n" not in str(refusal.value)


@pytest.mark.parametrize("limits", ["nan:1", "0:inf", "-inf:0", "nan:nan"])
def test_limits_are_finite(limits: str) -> None:
    with pytest.raises(UsageError, match="NAME=LOW:HIGH"):
        transforms_named([f"brightness={limits}"])


@pytest.mark.parametrize("text", ["scaling=0:1", "scaling=-1:1", "noise=-1000000:-900000", "blur=0:9", "contrast=-1:1"])
def test_what_makes_no_sense_is_refused_with_what_does(text: str) -> None:
    with pytest.raises(UsageError, match="give a range within"):
        transforms_named([text])


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="--transforms 'rotate' is unknown: did you mean rotation"):
        transforms_named(["rotate=1:2"])


@pytest.mark.parametrize("texts", [("noise", "noise"), ("rotation=1:2", "rotation=3:4")])
def test_a_transformation_named_twice_is_refused(texts: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        transforms_named(texts)
