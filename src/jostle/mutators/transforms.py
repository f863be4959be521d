"""The eight image transformations of DeepHunter (§3.2), on batches, each image with its own parameter.

Pixel transformations change values and leave every pixel where it is; affine transformations move pixels. Images are
[batch, channels, height, width] with values from 0 to 1; a parameter is one number for each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor


@dataclass(frozen=True)
class Linear:
    """Value · factor + amount, where the parameter, drawn from a range, is one of the two."""

    low: float
    high: float
    line: str  # what it does
    scales: bool  # the parameter is the factor, and not the amount


@dataclass(frozen=True)
class Filter:
    """Any other pixel transformation, and the range its parameter is drawn from."""

    low: float
    high: float
    change: Callable[[Tensor, Tensor, torch.Generator], Tensor]  # images, parameters [batch], rng -> images
    counts: bool = False  # the parameter is a whole number


@dataclass(frozen=True)
class Affine:
    """An affine transformation, and the range its parameter is drawn from."""

    low: float
    high: float
    movement: Callable[[Tensor, torch.Generator, float], Tensor]  # parameters, rng, height / width -> [batch, 2, 3]


Transform = Linear | Filter | Affine


def described(transform: Transform) -> str:
    """What a transformation does, in a line."""
    if isinstance(transform, Linear):
        return transform.line
    function = transform.change if isinstance(transform, Filter) else transform.movement
    return str(function.__doc__).splitlines()[0]


def blur(images: Tensor, parameters: Tensor, rng: torch.Generator) -> Tensor:
    """One of six kernels, numbered from 1: a box of 3, 4 or 5 pixels, a Gaussian of 3, 5 or 7; of 4.25 a quarter."""
    return images.lerp(blurred_fully(images, parameters), _per_image(share_of(parameters)))


def blurred_fully(images: Tensor, parameters: Tensor) -> Tensor:
    """The same, with all of each kernel; as products with band matrices."""
    numbers = parameters.long().clamp(1, len(TAPS)) - 1
    down, across = (_bands(side).index_select(0, numbers)[:, None] for side in images.shape[2:])
    return down @ images @ across.transpose(2, 3)


def with_share(kernels: Tensor, shares: Tensor) -> Tensor:
    """Parameters of `blur` for kernels of which a share is taken, in hundredths: from 1 on all, but never nothing."""
    hundredths = (shares * 100).floor().clamp(1, 100)
    return kernels + (hundredths % 100) / 100


def share_of(parameters: Tensor) -> Tensor:
    """How much of its kernel a parameter of `blur` means, which is all where it is whole."""
    hundredths = ((parameters - parameters.floor()) * 100).round()
    return torch.where(hundredths == 0, 1.0, hundredths / 100)


def noise(images: Tensor, strengths: Tensor, rng: torch.Generator) -> Tensor:
    """Gaussian, additive or multiplicative, with this standard deviation; below 0, that share of values drawn anew."""
    noisy = images.clone()
    spread = (strengths >= 0).nonzero().squeeze(1)
    if len(spread):
        some = images.index_select(0, spread)
        additive = torch.rand(len(some), generator=rng, dtype=torch.float32) < 0.5
        waves = _normal(some, rng).mul_(_per_image(strengths[spread]))
        waves *= torch.where(_per_image(additive), 1.0, some)
        noisy.index_copy_(0, spread, some.add_(waves))
    sparse = (strengths < 0).nonzero().squeeze(1)
    if len(sparse):
        noisy.index_copy_(0, sparse, _drawn_anew(images.index_select(0, sparse), -strengths[sparse], rng))
    return noisy


def translation(shifts: Tensor, rng: torch.Generator, aspect: float) -> Tensor:
    """Moved by a share of the side, in any direction."""
    maps = _maps(len(shifts))
    directions = torch.rand(shifts.shape, generator=rng, dtype=torch.float32) * (2 * math.pi)
    maps[:, 0, 2], maps[:, 1, 2] = -2 * shifts * directions.cos(), -2 * shifts * directions.sin()
    return maps


def scaling(factors: Tensor, rng: torch.Generator, aspect: float) -> Tensor:
    """Enlarged by a factor around the middle."""
    maps = _maps(len(factors))
    maps[:, 0, 0] = maps[:, 1, 1] = 1 / factors
    return maps


def shearing(factors: Tensor, rng: torch.Generator, aspect: float) -> Tensor:
    """Every row moved sideways by a factor of its height above the middle."""
    maps = _maps(len(factors))
    maps[:, 0, 1] = factors * aspect
    return maps


def rotation(degrees: Tensor, rng: torch.Generator, aspect: float) -> Tensor:
    """Turned around the middle, counter-clockwise."""
    maps = _maps(len(degrees))
    angles = degrees * (math.pi / 180)
    maps[:, 0, 0] = maps[:, 1, 1] = angles.cos()
    maps[:, 0, 1], maps[:, 1, 0] = -angles.sin() * aspect, angles.sin() / aspect
    return maps


# Ranges as in DeepHunter's code, with amounts of 255 as shares of the range and pixels of 28 as shares of the side;
# `--ranges paper` are these.
TRANSFORMS: Mapping[str, Transform] = {
    "contrast": Linear(0.5, 1.2, "Values times a factor; black stays black.", scales=True),
    "brightness": Linear(-20 / 255, 20 / 255, "Values plus an amount, as a share of the range.", scales=False),
    "blur": Filter(1, 6, blur, counts=True),
    "noise": Filter(-9 / 784, 0.05, noise),
    "translation": Affine(-3 / 28, 3 / 28, translation),
    "scaling": Affine(0.7, 1.1, scaling),
    "shearing": Affine(-0.6, 0.5, shearing),
    "rotation": Affine(-50, 50, rotation),
}


STORED_NORMALS = 2**20


def _per_image(values: Tensor) -> Tensor:
    return values.view(-1, 1, 1, 1)


def _maps(count: int) -> Tensor:
    return torch.eye(2, 3, dtype=torch.float32).repeat(count, 1, 1)


def _taps(width: int, sigma: float | None) -> list[float]:
    """Seven weights of a box, or with a sigma of a Gaussian, that many pixels wide; a width of 4 leans left."""
    places = range(-3, 4)
    weights = [1.0 if sigma is None else math.exp(-(place**2) / (2 * sigma**2)) for place in places]
    inside = [-(width // 2) <= place <= (width - 1) // 2 for place in places]
    total = sum(weight for weight, within in zip(weights, inside, strict=True) if within)
    return [weight / total if within else 0.0 for weight, within in zip(weights, inside, strict=True)]


# Sigmas as OpenCV takes them for these widths.
TAPS = [_taps(3, None), _taps(4, None), _taps(5, None), _taps(3, 0.8), _taps(5, 1.1), _taps(7, 1.4)]


@cache
def _bands(side: int) -> Tensor:
    """Matrices [kernels, side, side] that blur a line of pixels; the outermost go on beyond the edge."""
    bands = torch.zeros(len(TAPS), side, side, dtype=torch.float32)
    for number, taps in enumerate(TAPS):
        for offset, weight in zip(range(-3, 4), taps, strict=True):
            rows = torch.arange(side)
            bands[number, rows, (rows + offset).clamp(0, side - 1)] += weight
    return bands


@cache
def _normal_numbers(count: int) -> Tensor:
    return torch.empty(count, dtype=torch.float32).normal_(generator=torch.Generator().manual_seed(0))


def _normal(like: Tensor, rng: torch.Generator) -> Tensor:
    """Standard normal noise: for each image a stretch of stored numbers, which is much faster than drawing them."""
    size = like[0].numel()
    numbers = _normal_numbers(max(STORED_NORMALS, 4 * size))
    stretches = numbers.as_strided((len(numbers) - size, size), (1, 1))
    starts = torch.randint(len(stretches), (len(like),), generator=rng)
    return stretches.index_select(0, starts).view_as(like)


def _drawn_anew(images: Tensor, shares: Tensor, rng: torch.Generator) -> Tensor:
    """Some values anew, of each image a share [batch] but at least one: in half of the images to black or white."""
    flat = images.flatten(1)
    counts = (shares * flat.shape[1]).ceil().clamp(min=1)
    places = torch.randint(flat.shape[1], (len(flat), int(counts.max())), generator=rng)
    values = torch.rand(places.shape, generator=rng, dtype=torch.float32)
    extreme = torch.rand(len(flat), 1, generator=rng, dtype=torch.float32) < 0.5
    values = torch.where(extreme, values.round(), values)
    surplus = torch.arange(places.shape[1]) >= counts[:, None]
    places, values = (torch.where(surplus, numbers[:, :1], numbers) for numbers in (places, values))
    return flat.scatter(1, places, values).view_as(images)
