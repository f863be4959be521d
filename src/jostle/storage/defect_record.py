"""What triage tells: defects, each a group of findings with one cause as far as can be told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

CASE = "jostle-case.json"  # tells that a folder is a case of a defect, for tests
SEVERAL = "several"  # in place of the class of mutation, where a cause has more than one


@dataclass(frozen=True)
class Cause:
    """What tells a defect from others of the same campaign."""

    kind: str  # of its findings: flip, nan, agree, agree int8, crash, a property's name …
    what: str  # tells causes of a kind apart: "4 → 9", "ZeroDivisionError net.py:12 in forward", a graph's signature
    mutation: str  # class of what changed: "rotation", "noise" …; SEVERAL; "" of seeds themselves
    layer: str  # where it begins, "" where unknown
    place: int  # which region of the last hidden layer's space, 0 where there is one only


@dataclass(frozen=True)
class Defect:
    """Findings with one cause, as far as can be told."""

    name: str  # of its folder and its link: "flip-4-to-9-rotation", portable
    cause: Cause
    title: str  # one line in words: "4 taken for 9 when rotated by 11°"
    findings: tuple[str, ...]  # names of their folders, the one that shows it best first
    seeds: int  # how many roots show it
    weight: float  # 0 to 1, by which defects are ranked
    reasons: Mapping[str, float]  # what the weight is made of, by name, each 0 to 1
    explanation: tuple[str, ...]  # sentences: what changed, what was said before and after
    unstable: float | None  # share of runs that show it, None where all do
    failing_tests: int | None = None  # kept inputs that show a bug of its findings; None where none were kept
