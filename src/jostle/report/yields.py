"""What each class of mutations brought: inputs kept and findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from safetensors import SafetensorError, safe_open

from jostle.lineage import Change, Mutation
from jostle.report.contents import MutationYield
from jostle.storage.files import parsed_json
from jostle.storage.finding_record import FindingRecord
from jostle.storage.journal import JournalLine
from jostle.storage.repair import entries_path
from jostle.storage.step_words import operation_class

SEED_ITSELF = "seed itself"


def classes_of(mutation: Mutation) -> tuple[str, ...]:
    """What kinds of operation a mutation is made of, each once: "rotation" of "rotation 11.2"."""
    if mutation.change is Change.SEED:
        return (SEED_ITSELF,)
    if mutation.change is not Change.CHANGED:
        return (str(mutation.change.value),)
    return tuple(dict.fromkeys(map(operation_class, mutation.operations)))


def yields(folder: Path, lines: Iterable[JournalLine], found: Sequence[FindingRecord]) -> list[MutationYield]:
    """By class, those that found most first."""
    findings = Counter(name for record in found for name in classes_of(record.mutation))
    kept: Counter[str] = Counter()
    for line in lines:
        if line.kept and line.step:
            for mutation in _kept_by(entries_path(folder, line.step)):
                kept.update(classes_of(mutation))
    names = sorted(findings.keys() | kept.keys(), key=lambda name: (-findings[name], -kept[name], name))
    return [MutationYield(name, kept[name], findings[name]) for name in names]


def _kept_by(path: Path) -> list[Mutation]:
    """The mutations that made what a step kept; none where its file cannot be read."""
    try:
        with safe_open(path, "np") as file:
            return [Mutation.parsed(str(text)) for text in parsed_json((file.metadata() or {})["steps"])]
    except (OSError, SafetensorError, KeyError, ValueError, TypeError):
        return []
