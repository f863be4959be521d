"""From `rotation=-15:15,noise` to image transformations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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


def transforms_named(texts: Sequence[str]) -> Mapping[str, Transform]:
    """The transformations named, each as NAME or NAME=LOW:HIGH; all eight if none is."""
    if not texts:
        return TRANSFORMS
    found: dict[str, Transform] = {}
    for text in texts:
        name, given, limits = text.partition("=")
        transform = TRANSFORMS[chosen("--transforms", name.strip(), TRANSFORMS)]
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
