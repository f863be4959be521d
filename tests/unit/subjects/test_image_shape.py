"""Which options make images of the shape that a model takes."""

from __future__ import annotations

import pytest

from jostle.subjects.image_shape import ImageShape


@pytest.mark.parametrize(
    ("row", "options"),
    [
        ((3, 8, 9), {"--size": "8,9", "--channels": "3"}),
        ((8, 9, 1), {"--size": "8,9", "--channels": "1", "--layout": "nhwc"}),
        ((3, 8, 3), {"--size": "8,3", "--channels": "3"}),
        ((4, 8, 9), {"--size": "8,9"}),
        ((3, None, None), {"--channels": "3"}),
        ((None, None, 3), {"--channels": "3", "--layout": "nhwc"}),
        ((7, 8, 9), {"--size": "8,9"}),
        ((None, None, None), {}),
    ],
)
def test_sizes_channels_and_layout_are_told_by_the_shape(row: tuple[int | None, ...], options: dict[str, str]) -> None:
    image = ImageShape.of_row(row)
    assert image is not None and image.options == options


def test_what_has_not_three_sizes_is_no_image() -> None:
    assert ImageShape.of_row((28, 28)) is None
