"""How far image transformations go: as in the paper, by the size and kind of images, or as `rotation=-15:15` says."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from jostle.errors import UsageError
from jostle.mutators.transforms import TRANSFORMS, Transform
from jostle.options.choices import chosen

LIMITS = {  # of what makes sense
    "contrast": (0, 100),
    "brightness": (-1, 1),
    "blur": (1, 6),
    "noise": (-1, 1),
    "translation": (-1, 1),
    "scaling": (0.01, 100),
    "shearing": (-10, 10),
    "rotation": (-360, 360),
}

LARGEST_DRAWING = 64  # pixels of the shorter side
FEWEST_FOR_SPECKS = 16  # pixels of the shorter side: below, one pixel is as wide as a stroke
OF_PHOTOS = {
    "contrast": (0.7, 1.2),  # about a half stop darker, a quarter brighter
    "translation": (-0.1, 0.1),
    "scaling": (0.85, 1.1),
    "shearing": (-0.15, 0.15),
    "rotation": (-20, 20),
}
OF_DRAWINGS = {  # letters and digits, of which some are others turned, and whose margins are narrow
    **OF_PHOTOS,
    "translation": (-2 / 28, 2 / 28),
    "shearing": (-0.2, 0.2),  # as handwriting slants
    "rotation": (-15, 15),
}


def careful(shape: Sequence[int]) -> Mapping[str, Transform]:
    """All eight as far as a person sees the same in images [channels, (depth,) height, width] (docs/deephunter.md)."""
    side = min(shape[-2:])
    ranges = OF_DRAWINGS if shape[0] == 1 and side <= LARGEST_DRAWING else OF_PHOTOS
    noise = TRANSFORMS["noise"]
    specks = noise.low if side >= FEWEST_FOR_SPECKS else 0.0
    limits = {**ranges, "blur": _kernels(side), "noise": (specks, noise.high)}
    return {
        name: replace(one, low=limits[name][0], high=limits[name][1]) if name in limits else one
        for name, one in TRANSFORMS.items()
    }


def _kernels(side: int) -> tuple[float, float]:
    """The blurs of at most an eighth of the side, and the mildest in any case: Gaussians of 3, 5 and 7 are 4 to 6."""
    if side >= 56:
        return 1, 6
    return 4, 5 if side >= 40 else 4


def paper(shape: Sequence[int]) -> Mapping[str, Transform]:
    """All eight as far as DeepHunter's code goes, whatever the images."""
    return TRANSFORMS


RANGES: Mapping[str, Callable[[Sequence[int]], Mapping[str, Transform]]] = {"careful": careful, "paper": paper}


def transforms_named(texts: Sequence[str], ranged: Mapping[str, Transform]) -> Mapping[str, Transform]:
    """The transformations named, each as NAME or NAME=LOW:HIGH, of these with their ranges; all if none is."""
    if not texts:
        return ranged
    found: dict[str, Transform] = {}
    for text in texts:
        name, given, limits = text.partition("=")
        transform = ranged[chosen("--transforms", name.strip(), ranged)]
        if name.strip() in found:
            raise UsageError(f"--transforms names {name.strip()} twice: name each once")
        found[name.strip()] = _limited(text, transform, limits) if given else transform
    return found


def _limited(text: str, transform: Transform, limits: str) -> Transform:
    low, _, high = limits.partition(":")
    try:
        least, most = float(low), float(high)
    except ValueError:
        least, most = math.nan, math.nan
    if not (math.isfinite(least) and math.isfinite(most) and least <= most):
        raise UsageError(
            f"--transforms {text}: give the parameter's range as NAME=LOW:HIGH, such as rotation=-15:15 "
            f"(default {transform.low:.3g}:{transform.high:.3g})"
        )
    lowest, highest = LIMITS[text.partition("=")[0].strip()]
    if least < lowest or most > highest:
        raise UsageError(f"--transforms {text}: give a range within {lowest:g}:{highest:g}")
    return replace(transform, low=least, high=most)
