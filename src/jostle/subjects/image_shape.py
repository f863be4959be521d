"""How image files become what an input of a model takes, read off its shape."""

from __future__ import annotations

from dataclasses import dataclass

from jostle.options.campaign import CHANNELS_LAST

COLOURS = (1, 3, 4)  # channels that images have
OF_FILES = (1, 3)  # channels that files can be read with


@dataclass(frozen=True)
class ImageShape:
    """Three sizes, taken for those of an image; None where any will do."""

    channels: int | None
    height: int | None
    width: int | None
    channels_last: bool

    @staticmethod
    def of_row(row: tuple[int | None, ...]) -> ImageShape | None:
        """None where there are not three sizes."""
        if len(row) != 3:
            return None
        if row[-1] in COLOURS and row[0] not in COLOURS:
            return ImageShape(row[2], row[0], row[1], channels_last=True)
        return ImageShape(*row, channels_last=False)

    @property
    def options(self) -> dict[str, str]:
        """By flag, what gives images of this shape."""
        found = {}
        if self.height and self.width:
            found["--size"] = f"{self.height},{self.width}"
        if self.channels in OF_FILES:
            found["--channels"] = str(self.channels)
        if self.channels_last:
            found["--layout"] = CHANNELS_LAST
        return found
