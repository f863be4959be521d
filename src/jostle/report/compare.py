"""Two campaigns side by side: figures, defects that both show or one only, and coverage in one plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from jostle.report.contents import Contents, Curve, DefectCard, Fact

MOST_LISTED = 300  # defects in one list
Cause = tuple[str, str]  # kind, and what tells causes of a kind apart


@dataclass(frozen=True)
class Row:
    """A fact of both, "–" where one has none."""

    name: str
    one: str
    other: str

    @property
    def differs(self) -> bool:
        return self.one != self.other


@dataclass(frozen=True)
class SharedDefect:
    """A defect that both show."""

    one: DefectCard
    other: DefectCard


@dataclass(frozen=True)
class SharedCurves:
    """One figure of both campaigns; `of` says which curve is whose."""

    name: str
    curves: tuple[Curve, ...]
    of: tuple[int, ...]


@dataclass(frozen=True)
class CampaignComparison:
    """All of a page about two campaigns."""

    names: tuple[str, str]  # what tells one from the other
    contents: tuple[Contents, Contents]
    figures: tuple[Row, ...]
    settings: tuple[Row, ...]  # that differ
    both: tuple[SharedDefect, ...]
    only: tuple[tuple[DefectCard, ...], tuple[DefectCard, ...]]
    curves: tuple[SharedCurves, ...]

    @property
    def sentence(self) -> str:
        counts = f"{len(self.only[0]):,} in {self.names[0]} only, {len(self.only[1]):,} in {self.names[1]} only"
        return f"{len(self.both):,} defects show in both, {counts}."


def compared(one: Contents, other: Contents, folders: tuple[Path, Path]) -> CampaignComparison:
    """Defects are the same if kind and cause are, whatever mutation shows them."""
    ours, theirs = _by_cause(one), _by_cause(other)
    return CampaignComparison(
        names=_names(folders),
        contents=(one, other),
        figures=tuple(_rows(_figures(one), _figures(other))),
        settings=tuple(row for row in _rows(_by_name(one.settings), _by_name(other.settings)) if row.differs),
        both=tuple(SharedDefect(ours[cause], theirs[cause]) for cause in ours if cause in theirs),
        only=(_missing(ours, theirs), _missing(theirs, ours)),
        curves=tuple(_curves((*one.curves, *one.growth), (*other.curves, *other.growth))),
    )


def _by_cause(contents: Contents) -> dict[Cause, DefectCard]:
    """One card for each cause, with the findings of all its defects: a cause in two places is one here."""
    cards: dict[Cause, DefectCard] = {}
    for card in contents.defects:
        cause = card.kind, card.what
        known = cards.get(cause)
        cards[cause] = card if known is None else replace(known, findings=(*known.findings, *card.findings))
    return cards


def _missing(ours: Mapping[Cause, DefectCard], theirs: Mapping[Cause, DefectCard]) -> tuple[DefectCard, ...]:
    return tuple(defect for cause, defect in ours.items() if cause not in theirs)


def _names(folders: tuple[Path, Path]) -> tuple[str, str]:
    """Names of the folders, and as much of their places as tells them apart."""
    one, other = (folder.resolve() for folder in folders)
    return (one.name, other.name) if one.name != other.name else (str(one), str(other))


def _figures(contents: Contents) -> dict[str, str]:
    kinds = [defect.kind for defect in contents.defects]
    by_kind = {f"defects of kind {kind}": f"{kinds.count(kind):,}" for kind in dict.fromkeys(kinds)}
    ends = {f"{curve.name} at the end": _ended(curve) for curve in contents.curves}
    return {"tested": contents.title, **_by_name(contents.figures), **by_kind, **ends}


def _ended(curve: Curve) -> str:
    return f"{curve.values[-1]:.1%}" if curve.share else f"{curve.values[-1]:,.5g}"


def _by_name(facts: Sequence[Fact]) -> dict[str, str]:
    return {fact.name: fact.value for fact in facts}


def _rows(ours: Mapping[str, str], theirs: Mapping[str, str]) -> list[Row]:
    return [Row(name, ours.get(name, "–"), theirs.get(name, "–")) for name in dict.fromkeys((*ours, *theirs))]


def _curves(ours: Sequence[Curve], theirs: Sequence[Curve]) -> list[SharedCurves]:
    """Curves of one name in one plot; those of one campaign only have a plot too."""
    by_name: dict[str, list[tuple[int, Curve]]] = {}
    for whose, curves in enumerate((ours, theirs)):
        for curve in curves:
            by_name.setdefault(curve.name, []).append((whose, curve))
    return [
        SharedCurves(name, tuple(curve for _, curve in some), tuple(whose for whose, _ in some))
        for name, some in by_name.items()
    ]
