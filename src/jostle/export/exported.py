"""What every format tells of a campaign: its texts are lines that can be seen and encoded, whoever wrote them."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from jostle.export.location import SourcePlace
from jostle.storage.campaign_record import CampaignRecord
from jostle.storage.defect_record import Defect
from jostle.storage.finding_record import InputType
from jostle.storage.findings import FINDINGS, SCRIPT
from jostle.triage.kinds import family
from jostle.visible import one_line

LONGEST, LONGEST_NAME = 1_000, 200  # characters of a sentence, and of what is told in a table


@dataclass(frozen=True)
class ExportedDefect:
    """A defect as formats tell it."""

    identity: str  # "flip: 4 → 9": the same in every run that finds it, and of one defect of a campaign only
    kind: str  # "agree int8"
    family: str  # "agree"
    title: str
    explanation: tuple[str, ...]
    layer: str  # where it begins, "" where unknown
    seeds: int
    findings: int
    weight: float  # 0 to 1
    unstable: str  # "60% of runs" show it, "" where all do
    replay: str  # the command that shows it again
    line: int | None  # of the model's file, where that is known

    @property
    def fingerprint(self) -> str:
        """The same in every run that finds the defect."""
        return hashlib.sha256(self.identity.encode()).hexdigest()[:32]


@dataclass(frozen=True)
class ExportedCampaign:
    """A campaign as formats tell it."""

    version: str  # of Jostle
    model: str  # as the user named it, or what else was tested
    source: SourcePlace | None  # the model's file, None where it has none
    folder: SourcePlace  # of the campaign
    sentences: tuple[str, ...]  # what was tested, and what was found
    notes: tuple[str, ...]  # what is missing
    defects: tuple[ExportedDefect, ...]  # those that matter most first


def exported_defects(
    defects: Sequence[Defect], folder: Path, source: SourcePlace | None, record: CampaignRecord
) -> Iterator[ExportedDefect]:
    """The defects of the campaign in this folder, in their order."""
    for defect, identity in zip(defects, _identities(defects), strict=True):
        rate = "" if defect.unstable is None else f"{defect.unstable:.0%} of runs"
        yield ExportedDefect(
            identity=identity,
            kind=line_of(defect.cause.kind, LONGEST_NAME),
            family=line_of(family(defect.cause.kind), LONGEST_NAME),
            title=line_of(defect.title, LONGEST_NAME),
            explanation=tuple(map(line_of, defect.explanation)),
            layer=line_of(defect.cause.layer, LONGEST_NAME),
            seeds=defect.seeds,
            findings=len(defect.findings),
            weight=min(max(defect.weight, 0.0), 1.0) if defect.weight == defect.weight else 0.0,
            unstable=rate,
            replay=_replay(folder / FINDINGS / defect.findings[0], record),
            line=None if source is None else _crashed_in(source, defect.cause.what),
        )


def _replay(finding: Path, record: CampaignRecord) -> str:
    """A graph's finding has a script of its own."""
    graph = record.input_type is InputType.GRAPH
    return one_line(shlex.join(["python", str(finding / SCRIPT)] if graph else record.replay_call(finding)))


def line_of(text: str, longest: int = LONGEST) -> str:
    """A text on one line that is not too long."""
    line = one_line(text)
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def _identities(defects: Sequence[Defect]) -> list[str]:
    """By kind and cause, without what depends on how often it was found; numbered where that is not enough."""
    named = [line_of(f"{defect.cause.kind}: {defect.cause.what}") for defect in defects]
    order = sorted(range(len(defects)), key=lambda row: (defects[row].cause.layer, defects[row].cause.place))
    seen: Counter[str] = Counter()
    identities = dict.fromkeys(range(len(defects)), "")
    for row in order:
        seen[named[row]] += 1
        number = seen[named[row]]
        identities[row] = named[row] if number == 1 else f"{named[row]} ({number})"
    return list(identities.values())


def _crashed_in(source: SourcePlace, cause: str) -> int | None:
    """The line of the model's own file that a crash names."""
    named = re.search(rf"(?:^| ){re.escape(source.name)}:([1-9][0-9]{{0,8}}) in ", cause)
    return int(named[1]) if named else None
