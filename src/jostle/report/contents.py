"""What a page shows of a campaign, as JSON values by name: gathered in Python, drawn by the page's own script.

Pictures stand in sheets, many in one image, so that thousands cost no more to open than a few.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from typing import Any

from jostle.visible import visible


@dataclass(frozen=True)
class Picture:
    """A place in one of the sheets."""

    sheet: int
    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True)
class SheetImage:
    """A sheet of pictures."""

    source: str  # data: URL
    width: int
    height: int


@dataclass(frozen=True)
class Said:
    """What one model says of an input."""

    by: str
    label: str
    confidence: float
    right: bool | None  # None where nobody knows


@dataclass(frozen=True)
class ShownArray:
    """One of the arrays of a finding: seed, change, mutant …"""

    caption: str
    picture: Picture | None
    said: tuple[Said, ...] = ()


@dataclass(frozen=True)
class TextEdit:
    """A piece of a text or of a row of tokens: kept where both are the same."""

    before: str
    after: str


@dataclass(frozen=True)
class Value:
    """One value of an input that changed."""

    name: str
    before: str
    after: str


@dataclass(frozen=True)
class ReadableChange:
    """What changed in an input that is no image, in the form that suits it."""

    name: str = ""  # of the input, where there are several
    edits: tuple[TextEdit, ...] = ()
    values: tuple[Value, ...] = ()
    left_out: int = 0  # values that changed too


@dataclass(frozen=True)
class Sound:
    """A recording that the page can play."""

    caption: str
    source: str  # data: URL


@dataclass(frozen=True)
class Stage:
    """One step on the way from the seed to a finding."""

    words: str
    picture: Picture | None


@dataclass(frozen=True)
class LayerFigures:
    """How far a twin is from its model in one layer."""

    layer: str
    on_seeds: float
    low: float
    middle: float
    high: float
    begins: int = 0  # findings that depart here first


@dataclass(frozen=True)
class TwinFigures:
    """Where a twin departs, in one finding or in all."""

    twin: str
    told: str  # in words
    layers: tuple[LayerFigures, ...]


@dataclass(frozen=True)
class LayerPlace:
    """The layer in which a finding begins, among those that are known."""

    told: str  # in words
    layers: tuple[str, ...]  # in the order they run; only the one itself where no others are known
    place: int  # of the one among them


@dataclass(frozen=True)
class ShownFinding:
    """One finding in few fields, because there are thousands of them."""

    name: str
    kind: str
    summary: str
    seed: str
    mutation: str
    label: str  # what was right, or what the model says of twins that disagree; "" where unknown
    said: str  # what was said instead
    confidence: float | None
    thumbnail: Picture | None


@dataclass(frozen=True)
class DefectCard:
    """A defect with the finding that shows it best."""

    name: str
    title: str
    kind: str
    what: str
    mutation: str
    layer: str
    seeds: int
    weight: float
    reasons: Mapping[str, float]
    explanation: tuple[str, ...]
    unstable: float | None
    findings: tuple[int, ...]  # places in the list of all
    panels: tuple[ShownArray, ...] = ()
    changes: tuple[ReadableChange, ...] = ()
    sounds: tuple[Sound, ...] = ()
    stages: tuple[Stage, ...] = ()
    divergence: TwinFigures | None = None
    begins: LayerPlace | None = None
    confirmed: str = ""  # how often it showed again, in words
    script: str = ""
    script_path: str = ""
    numbers: tuple[Value, ...] = ()  # of frameworks: what each gives
    traceback: str = ""


@dataclass(frozen=True)
class Curve:
    """A figure over executions."""

    name: str  # "kmnc covered"
    executions: tuple[int, ...]
    values: tuple[float, ...]
    share: bool = False  # between 0 and 1


@dataclass(frozen=True)
class MutationYield:
    """What came of one class of mutations."""

    name: str
    kept: int  # inputs in the corpus
    findings: int


@dataclass(frozen=True)
class Fact:
    """A line of a list of facts."""

    name: str
    value: str


@dataclass(frozen=True)
class Contents:
    """All of a page about one campaign."""

    title: str
    sentences: tuple[str, ...]  # what was tested, what was found
    figures: tuple[Fact, ...]
    of_graphs: bool  # a campaign over frameworks
    defects: tuple[DefectCard, ...]
    findings: tuple[ShownFinding, ...]
    classes: int  # that the model has at least, as far as findings tell
    curves: tuple[Curve, ...]
    growth: tuple[Curve, ...]  # of corpus and findings
    yields: tuple[MutationYield, ...]
    twins: tuple[TwinFigures, ...]
    command: str
    replay: str  # the command that runs all findings again
    settings: tuple[Fact, ...]
    environment: tuple[Fact, ...]
    notes: tuple[str, ...] = ()  # flaky findings, what is left out of the page
    at_work: bool = False
    sheets: Sequence[SheetImage] = field(default_factory=tuple)


def as_json(value: Any) -> Any:
    """Dataclasses as JSON objects, pictures as short lists, texts with nothing in them that cannot be seen.

    Left out is what is empty and may be missing.
    """
    if isinstance(value, Picture):
        return [value.sheet, value.x, value.y, value.width, value.height]
    if is_dataclass(value):
        named = ((one, getattr(value, one.name)) for one in fields(value))
        return {one.name: as_json(item) for one, item in named if not _left_out(one, item)}
    if isinstance(value, Mapping):
        return {str(name): as_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    return visible(value) if isinstance(value, str) else value


def _left_out(declared: Field[Any], value: Any) -> bool:
    """Scripts go through lists without a default, also those of a campaign that found nothing."""
    return value in (None, "") or (value == () and declared.default is not MISSING)
