"""What each class of mutations brought: inputs kept and findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from jostle.lineage import Change, Mutation
from jostle.report.contents import MutationYield
from jostle.storage.ancestry import read_entries
from jostle.storage.finding_record import FindingRecord
from jostle.storage.journal import JournalLine
from jostle.storage.repair import entries_path
from jostle.triage.causes import mutation_classes

SEED_ITSELF = "seed itself"


def classes_of(mutation: Mutation) -> tuple[str, ...]:
    """What kinds of operation a mutation is made of, each once: "rotation" of "rotation 11.2"."""
    if mutation.change is Change.SEED:
        return (SEED_ITSELF,)
    if mutation.change is not Change.CHANGED:
        return (str(mutation.change.value),)
    return mutation_classes((mutation,))


def yields(folder: Path, lines: Iterable[JournalLine], found: Sequence[FindingRecord]) -> list[MutationYield]:
    """By class, those that found most first."""
    findings = Counter(name for record in found for name in classes_of(record.mutation))
    kept: Counter[str] = Counter()
    for line in lines:
        if line.kept and line.step:
            for text in read_entries(entries_path(folder, line.step)).mutations:
                kept.update(classes_of(Mutation.parsed(text)))
    names = sorted(findings.keys() | kept.keys(), key=lambda name: (-findings[name], -kept[name], name))
    return [MutationYield(name, kept[name], findings[name]) for name in names]
