"""From `rotation=-15:15,noise` and the size and kind of images to image transformations."""

from __future__ import annotations

import pytest

from jostle.errors import UsageError
from jostle.mutators.transform_ranges import LIMITS, RANGES, careful, paper, transforms_named
from jostle.mutators.transforms import TRANSFORMS, Transform

SHAPES = [
    (1, 8, 8),
    (1, 28, 28),
    (3, 32, 32),
    (1, 48, 40),
    (3, 224, 224),
    (1, 512, 512),
    (1, 16, 28, 28),
    (3, 8, 64, 64),
]
ALL = paper((1, 28, 28))


def limits(transform: Transform) -> tuple[float, float]:
    return transform.low, transform.high


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_careful_ranges_lie_within_those_of_the_paper_and_leave_room(shape: tuple[int, ...]) -> None:
    assert paper(shape) == TRANSFORMS
    for name, transform in careful(shape).items():
        widest = TRANSFORMS[name]
        assert LIMITS[name][0] <= widest.low <= transform.low <= transform.high <= widest.high <= LIMITS[name][1]
        assert transform.low < transform.high or name == "blur"


def test_images_turn_and_lean_less_than_in_the_paper() -> None:
    digit, photo = careful((1, 28, 28)), careful((3, 28, 28))
    assert limits(digit["rotation"]) == (-15, 15) and limits(photo["rotation"]) == (-20, 20)
    assert limits(digit["shearing"]) == (-0.2, 0.2) and limits(photo["scaling"]) == (0.85, 1.1)
    assert careful((1, 224, 224)) == careful((3, 224, 224))  # large and grey is a photograph


def test_blurs_are_no_wider_than_an_eighth_of_the_side() -> None:
    gaussian_of_three, up_to_five, every = (4, 4), (4, 5), (1, 6)
    sides = {8: gaussian_of_three, 28: gaussian_of_three, 40: up_to_five, 55: up_to_five, 56: every, 224: every}
    for side, kernels in sides.items():
        assert limits(careful((3, 300, side))["blur"]) == limits(careful((1, side, 300))["blur"]) == kernels


def test_no_single_pixel_is_drawn_anew_where_it_is_as_wide_as_a_stroke() -> None:
    assert limits(careful((1, 8, 8))["noise"]) == (0, TRANSFORMS["noise"].high)
    assert careful((1, 16, 16))["noise"] == TRANSFORMS["noise"]


@pytest.mark.parametrize("name", RANGES)
def test_a_range_that_is_given_holds_whatever_the_others_are(name: str) -> None:
    found = transforms_named(["rotation=-90:90", "shearing"], RANGES[name]((1, 28, 28)))
    assert limits(found["rotation"]) == (-90, 90)
    assert found["shearing"] == RANGES[name]((1, 28, 28))["shearing"]


def test_without_names_there_are_all_eight() -> None:
    assert transforms_named((), ALL) == TRANSFORMS and len(TRANSFORMS) == 8


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_name_alone_keeps_the_range_and_numbers_replace_it(name: str) -> None:
    assert transforms_named([name], ALL) == {name: TRANSFORMS[name]}
    (changed,) = transforms_named([f"{name}=1:1"], ALL).values()
    assert vars(changed) == {**vars(TRANSFORMS[name]), "low": 1, "high": 1}


def test_several_are_kept_in_order_with_spaces_around() -> None:
    found = transforms_named(["rotation = -15 : 15", " noise", "blur=2:2"], ALL)
    assert list(found) == ["rotation", "noise", "blur"]
    assert (found["rotation"].low, found["rotation"].high) == (-15, 15)
    assert (found["blur"].low, found["blur"].high) == (2, 2)


@pytest.mark.parametrize(
    "text", ["rotation=", "rotation=5", "rotation=a:b", "rotation=5:-5", "rotation=:", "noise=1:2:3"]
)
def test_what_is_no_range_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match=r"NAME=LOW:HIGH, such as rotation=-15:15 \(default") as refusal:
        transforms_named([text], ALL)
    assert text in str(refusal.value) and "\n" not in str(refusal.value)


@pytest.mark.parametrize("limits", ["nan:1", "0:inf", "-inf:0", "nan:nan"])
def test_limits_are_finite(limits: str) -> None:
    with pytest.raises(UsageError, match="NAME=LOW:HIGH"):
        transforms_named([f"brightness={limits}"], ALL)


@pytest.mark.parametrize("text", ["scaling=0:1", "scaling=-1:1", "noise=-1000000:-900000", "blur=0:9", "contrast=-1:1"])
def test_what_makes_no_sense_is_refused_with_what_does(text: str) -> None:
    with pytest.raises(UsageError, match="give a range within"):
        transforms_named([text], ALL)


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="--transforms 'rotate' is unknown: did you mean rotation"):
        transforms_named(["rotate=1:2"], ALL)


@pytest.mark.parametrize("texts", [("noise", "noise"), ("rotation=1:2", "rotation=3:4")])
def test_a_transformation_named_twice_is_refused(texts: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        transforms_named(texts, ALL)
