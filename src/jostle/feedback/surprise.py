"""How surprising activations are beside those of known data, in buckets (surprise adequacy; Kim et al., ICSE 2019).

Likelihood surprise (LSA) is -log of the density that known data of the same predicted class has there. Distance
surprise (DSA) is how far the nearest of these is, against how far that one is from the nearest of another class.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.feedback.neuron_parts import ProfileOptions
from jostle.feedback.new_units import NewUnits
from jostle.known_traces import KnownTraces, by_class, points_in, predicted_in
from jostle.options.campaign import CountedLayerOptions
from jostle.options.declaration import Theme, option
from jostle.options.kinds import HELD, number
from jostle.options.schema import Settings
from jostle.part import Part, PartContext
from jostle.profile import Profile
from jostle.records import Candidates, Trace

FARTHEST_DISTANCE = 2.0  # of DSA, as the paper's figures go
BEYOND_KNOWN = 2.0  # the limit of LSA, times the largest that known data shows
AT_ONCE = 2**23  # distances between two sets of points that stand in memory together
LEAST_RIDGE = 1e-10  # of the mean variance, added until a covariance can be inverted


@dataclass(frozen=True)
class SurpriseOptions:
    """How surprise is cut to buckets."""

    surprise_buckets: int = option(HELD, "Buckets of surprise (lsa, dsa)", Theme.GUIDES, default=1000)
    surprise_limit: float | None = option(
        number("give a surprise above 0, such as 2 for dsa", above=0),
        "Surprise above which nothing counts (dsa 2; lsa twice the largest of known data)",
        Theme.GUIDES,
    )


@dataclass(frozen=True)
class LikelihoodOptions:
    """Whose likelihood is taken."""

    least_variance: float = option(
        number("give a variance that is not negative", at_least=0),
        "Neurons that vary less within a class of known data are left out of lsa",
        Theme.GUIDES,
        default=1e-5,
    )


class Surprise(Protocol):
    """How surprising are activations?"""

    limit: float  # above which nothing counts, unless the user says otherwise

    def of(self, points: Tensor, predicted: Tensor) -> Tensor:
        """Of finite points [rows, neurons] with their predicted classes [rows]; infinity where nothing is known."""


class Likelihood:
    """-log of the Gaussian kernel density of known data of the same class, by Scott's rule (LSA)."""

    def __init__(self, known: KnownTraces, least_variance: float = LikelihoodOptions.least_variance):
        points = known.points.double()
        groups = dict(by_class(known.predicted))
        varying = [points[rows].var(0, correction=0) >= least_variance for rows in groups.values()]
        self._used = torch.stack(varying).all(0).nonzero().squeeze(1)
        if not len(self._used):
            raise UsageError(
                "no neuron varies within every class of known data: lower --least-variance or give more data"
            )
        self._densities = {one: _Density(points[rows][:, self._used]) for one, rows in groups.items() if len(rows) > 1}
        own = self.of(known.points, known.predicted)
        self.limit = BEYOND_KNOWN * max(float(own[own.isfinite()].max()), 1.0) if own.isfinite().any() else 1.0

    def of(self, points: Tensor, predicted: Tensor) -> Tensor:
        found = torch.full((len(points),), torch.inf, dtype=torch.float64)
        for one, rows in by_class(predicted):
            if one in self._densities:
                found[rows] = self._densities[one].surprise(points[rows][:, self._used].double())
        return found


class _Density:
    """A kernel density as scipy's gaussian_kde estimates it."""

    def __init__(self, points: Tensor):  # [rows, neurons], double
        rows, neurons = points.shape
        factor = rows ** (-1 / (neurons + 4))  # Scott's rule
        spread = _invertible(points.T.cov().view(neurons, neurons) * factor**2)
        self._whitening = torch.linalg.solve_triangular(spread, torch.eye(neurons, dtype=torch.float64), upper=False).T
        self._points = points @ self._whitening
        self._constant = math.log(rows) + neurons / 2 * math.log(2 * math.pi) + float(spread.diagonal().log().sum())

    def surprise(self, points: Tensor) -> Tensor:
        """-log of the density [rows] at points [rows, neurons]."""
        kernels = _in_parts(points @ self._whitening, self._points, lambda apart: (-apart.square() / 2).logsumexp(1))
        return self._constant - kernels


def _invertible(covariance: Tensor) -> Tensor:
    """The Cholesky factor [neurons, neurons], with as much added to the diagonal as it takes."""
    ridge, scale = 0.0, float(covariance.diagonal().mean()) or 1.0
    while True:
        ridges = ridge * scale * torch.eye(len(covariance), dtype=torch.float64)
        factor, failed = torch.linalg.cholesky_ex(covariance + ridges)
        if not failed and bool((factor.diagonal() > 0).all()):
            found: Tensor = factor
            return found
        ridge = max(10 * ridge, LEAST_RIDGE)


class Distance:
    """How far the nearest known point of the same class is, against that one's way to another class (DSA)."""

    limit = FARTHEST_DISTANCE

    def __init__(self, known: KnownTraces):
        points = known.points.double()
        groups = dict(by_class(known.predicted))
        if len(groups) < 2:
            raise UsageError(
                "--coverage dsa compares classes, and the model sees one class in all known data: use lsa, or give "
                "data of several classes as --profile"
            )
        self._groups = {one: points[rows] for one, rows in groups.items()}
        self._to_others = {
            one: _in_parts(points[rows], points[known.predicted != one], lambda apart: apart.amin(1))
            for one, rows in groups.items()
        }

    def of(self, points: Tensor, predicted: Tensor) -> Tensor:
        found = torch.full((len(points),), torch.inf, dtype=torch.float64)
        for one, rows in by_class(predicted):
            if one in self._groups:
                nearest = _in_parts(points[rows].double(), self._groups[one], _nearest)
                found[rows] = nearest[:, 0] / self._to_others[one][nearest[:, 1].long()]
        return found.nan_to_num_(nan=torch.inf, posinf=torch.inf)


def _nearest(apart: Tensor) -> Tensor:
    """Of distances [rows, points] the least, and to which point [rows, 2]."""
    least = apart.min(1)
    return torch.stack([least.values, least.indices.double()], 1)


def _in_parts(points: Tensor, others: Tensor, reduced: Callable[[Tensor], Tensor]) -> Tensor:
    """What distances [rows, others] are reduced to, a part of the rows at a time, and for each row by itself."""
    parts = points.split(max(AT_ONCE // len(others), 1))
    return torch.cat(
        [reduced(torch.cdist(part, others, compute_mode="donot_use_mm_for_euclid_dist")) for part in parts]
    )


class SurpriseCoverage:
    """New is a row whose surprise falls into a bucket that no row fell into before.

    Buckets are of equal width from 0, which none includes, to the limit; what is more surprising covers nothing, nor
    do rows that are not finite.
    """

    looks_at_inputs = False

    def __init__(self, name: str, layers: Sequence[str], surprise: Surprise, buckets: int, limit: float | None = None):
        self._name, self._layers, self._surprise = name, layers, surprise
        self._buckets, self._limit = buckets, limit or surprise.limit
        self._seen = NewUnits(buckets)

    def assess(self, candidates: Candidates, trace: Trace) -> Tensor:
        points, gain = points_in(trace, self._layers), torch.zeros(len(trace.outcome), dtype=torch.float32)
        if points is None:
            raise UsageError(
                f"--coverage {self._name} looks at {', '.join(self._layers)}, which is not watched: name layers to "
                f"look at with --layers"
            )
        rows = points.isfinite().all(1).nonzero().squeeze(1)
        if len(rows):
            surprise = self._surprise.of(points[rows], predicted_in(trace)[rows])
            gain[rows] = self._seen.add(self._bucket(surprise)[:, None]).float()
        return gain

    def coverage(self) -> Mapping[str, Mapping[str, float]]:
        return {self._name: {"covered": self._seen.count / self._buckets, "limit": self._limit}}

    def _bucket(self, surprise: Tensor) -> Tensor:
        place = (surprise * (self._buckets / self._limit)).ceil() - 1
        inside = (surprise > 0) & (surprise <= self._limit)
        return torch.where(inside, place.clamp(0, self._buckets - 1), self._buckets).long()


def _part(
    name: str, line: str, make: Callable[[Settings, KnownTraces], Surprise], *options: type
) -> Part[SurpriseCoverage]:
    def begun(settings: Settings, context: PartContext) -> SurpriseCoverage:
        known, chosen = _known(name, context.profile, context.novelty_layers), settings[SurpriseOptions]
        surprise = make(settings, known)
        return SurpriseCoverage(name, known.layers, surprise, chosen.surprise_buckets, chosen.surprise_limit)

    return Part(
        line, begun, (CountedLayerOptions, ProfileOptions, SurpriseOptions, *options), neurons=True, ranges=True
    )


def _known(name: str, profile: Profile | None, layers: Sequence[str]) -> KnownTraces:
    if profile is None or profile.known is None or profile.known.layers != tuple(layers):
        raise UsageError(
            f"--coverage {name} needs what {', '.join(layers) or 'a layer'} does on known data, and the profile has "
            f"nothing of it: make it again with jostle profile"
        )
    return profile.known


LSA = _part(
    "lsa",
    "Buckets of how unlikely activations are beside known data of their class (likelihood surprise adequacy).",
    lambda settings, known: Likelihood(known, settings[LikelihoodOptions].least_variance),
    LikelihoodOptions,
)
DSA = _part(
    "dsa",
    "Buckets of how far activations are from known data of their class, against other classes (distance surprise).",
    lambda settings, known: Distance(known),
)
