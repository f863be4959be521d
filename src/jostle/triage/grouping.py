"""Findings grouped to defects: by what their records say of the cause, then by where the model was led."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np

from jostle.storage.defect_record import Cause, Defect
from jostle.storage.finding_record import InputType
from jostle.storage.quarantine import portable_name
from jostle.triage.causes import TO, Trait, common_class, layer_of, mutation_classes, trait_of
from jostle.triage.graph_causes import graph_cause
from jostle.triage.neighbours import regions
from jostle.triage.ranking import order_of, reasons_together, weight_of
from jostle.triage.triaged_finding import TriagedFinding
from jostle.triage.words import Words

NEAR, FAR = 3.0, 6.0  # in distances between a seed and its nearest other: where regions end, of many and few findings
LONGEST_NAME = 60  # characters


@dataclass(frozen=True)
class _Group:
    """Findings with one cause, the one that shows it best first."""

    trait: Trait
    place: int
    findings: tuple[TriagedFinding, ...]

    @property
    def seeds(self) -> int:
        return len({finding.record.root for finding in self.findings})

    @property
    def cause(self) -> Cause:
        """What is common to all; of layers that are a guess, the one that most findings name."""
        graph = self.findings[0].record.input_type is InputType.GRAPH  # whose edits say nothing of the cause
        classes = {mutation_classes(finding.steps) for finding in self.findings if not graph}
        mutation = common_class(tuple(dict.fromkeys(one for some in classes for one in some)))
        layers = Counter(layer_of(finding) for finding in self.findings)
        layer = self.trait.layer or layers.most_common(1)[0][0]
        return Cause(self.trait.kind, self.trait.what, mutation, layer, self.place)


def defects_of(findings: Sequence[TriagedFinding], words: Words | None = None) -> list[Defect]:
    """The defects that these findings show, those first that a user should care about most, unstable ones last.

    Findings whose records tell of one cause are one defect, however they were mutated: a list is useful while it is
    short. They are several where the last hidden layer's activations lie in regions far apart.
    """
    words = words or Words()
    groups = [group for alike in _by_trait(findings).values() for group in _by_region(alike)]
    most = max((group.seeds for group in groups), default=1)
    names = _names(groups)
    defects = [_defect(group, name, most, words) for group, name in zip(groups, names, strict=True)]
    return sorted(defects, key=lambda one: (one.unstable is not None, -one.weight, one.name))


def _by_trait(findings: Sequence[TriagedFinding]) -> dict[Trait, list[TriagedFinding]]:
    alike: dict[Trait, list[TriagedFinding]] = {}
    for finding in sorted(findings, key=lambda one: one.name):
        alike.setdefault(trait_of(finding), []).append(finding)
    return alike


def _by_region(alike: list[TriagedFinding]) -> Iterator[_Group]:
    """Findings of one cause in their regions; those of which no region is known go with the largest."""
    places = _places(alike)
    trait = trait_of(alike[0])
    for place in sorted(set(places)):
        some = [finding for finding, where in zip(alike, places, strict=True) if where == place]
        yield _Group(trait, place, tuple(sorted(some, key=order_of)))


def _places(alike: list[TriagedFinding]) -> list[int]:
    """The region of each, 0 where nothing is known of the last hidden layer."""
    sizes = Counter(len(finding.hidden) for finding in alike if finding.hidden is not None)
    places = [0] * len(alike)
    if not sizes:
        return places
    neurons = sizes.most_common(1)[0][0]
    known = [row for row, one in enumerate(alike) if one.hidden is not None and len(one.hidden) == neurons]
    points = np.stack([alike[row].hidden.float().numpy() for row in known])  # type: ignore[union-attr]
    for row, region in zip(known, regions(points, NEAR, FAR).tolist(), strict=True):
        places[row] = region
    return places


def _defect(group: _Group, name: str, most_seeds: int, words: Words) -> Defect:
    reasons = reasons_together(group.findings, group.seeds, most_seeds)
    rate = group.findings[0].rate
    return Defect(
        name=name,
        cause=group.cause,
        title=words.title(group.findings),
        findings=tuple(finding.name for finding in group.findings),
        seeds=group.seeds,
        weight=weight_of(reasons),
        reasons={reason: round(value, 4) for reason, value in reasons.items()},
        explanation=words.explanation(group.findings),
        unstable=rate if rate < 1 else None,
    )


def _names(groups: Sequence[_Group]) -> list[str]:
    """A portable name for each, none twice."""
    names: dict[str, None] = {}
    for group in groups:
        cause = group.cause
        told = f"{cause.kind} {_short(group)} {cause.mutation}".replace(".", "-").replace("_", "-")
        name = portable_name(told)[:LONGEST_NAME].strip("-").lower() or "defect"
        numbered = (name if number == 1 else f"{name}-{number}" for number in count(1))
        names[next(one for one in numbered if one not in names)] = None
    return list(names)


def _short(group: _Group) -> str:
    """What tells a cause from others of its kind; of a graph, backend and operator alone."""
    record = group.findings[0].record
    if record.input_type is InputType.ARRAY:
        return group.trait.what.replace(TO, " to ")
    cause = graph_cause(record)
    return group.trait.what if cause is None else f"{cause.library} {cause.operator}"
