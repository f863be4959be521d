"""What makes a campaign this campaign: the content of its config.json, which is written and read here alone.

The settings stand in it one by one, so that a person can read them, and `may change` names those that may differ from
run to run. Every finding has a copy, so that it can be run again without its campaign.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jostle.digests import LENGTH
from jostle.errors import ResumeRefused, UsageError
from jostle.held import was_held
from jostle.layout import Layout
from jostle.storage.files import read_json, write_json
from jostle.storage.finding_record import INPUT_TYPE, InputType, input_type_in
from jostle.storage.json_fields import fields, json_object, number, text, texts

CONFIG = "config.json"
COPY = "campaign.json"  # the same content in the folder of a finding
FORMAT_NAME = "folder format"
FORMAT = 2  # of all that stands in a campaign's folder; another number, another layout
MAY_CHANGE, FILES, VERSIONS, ORIGIN, LAYOUT = "may change", "files", "versions", "origin", "layout"
# What the digest is of, by type of input.
DIGESTED = {InputType.ARRAY: "seeds and weights", InputType.GRAPH: "models to begin from"}
# Options that name what findings run on and are judged by when they run again.
REPLAYED = ("model", "weights", "twin", "models", "metadata", "oracle", "tokenizer")
IN_PLACE_OF_OBJECT = "FILE.py:function"
RESERVED = {FORMAT_NAME, INPUT_TYPE, MAY_CHANGE, FILES, VERSIONS, ORIGIN, *DIGESTED.values()}


@dataclass(frozen=True)
class Origin:
    """Where a campaign ran and what its model was taken for, which does not tell it from others."""

    folder: str = ""  # the working folder, in which relative names of files are
    task: str = ""
    cut: float = 0.0  # above which a score says yes
    layout: Layout | None = None  # where in a row each of several inputs lies
    command: str = ""  # that began it or last went on with it, as a shell takes it

    def as_json(self) -> dict[str, Any]:
        known = {"working folder": self.folder, "task": self.task, "cut": self.cut, "command": self.command}
        return known if self.layout is None else {**known, LAYOUT: self.layout.as_json()}

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> Origin:
        layout = Layout.parsed(fields(content, LAYOUT)) if LAYOUT in content else None
        command = text(content, "command") if "command" in content else ""  # folders of before have none
        return Origin(text(content, "working folder"), text(content, "task"), number(content, "cut"), layout, command)


@dataclass(frozen=True)
class CampaignRecord:
    """A campaign's settings as JSON values, and digests of what they name."""

    settings: Mapping[str, Any]  # that are the same in every run
    changeable: Mapping[str, Any] = field(default_factory=dict)  # settings that may differ from run to run
    digest: str = ""  # of what it begins from: seeds and weights, or models
    files: Mapping[str, str] = field(default_factory=dict)  # digests of the files that settings name, by name
    versions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # of packages, by backend
    input_type: InputType = InputType.ARRAY
    origin: Origin = Origin()

    def __post_init__(self) -> None:
        reserved = sorted(RESERVED & (self.settings.keys() | self.changeable.keys()))
        if reserved:
            raise UsageError(f"a setting cannot be named {reserved[0]!r}, which a campaign's folder uses: rename it")

    @property
    def all_settings(self) -> dict[str, Any]:
        return {**self.settings, **self.changeable}

    def replay_call(self, place: Path) -> list[str]:
        """The command that runs findings again; what was an object of a script has to be named."""
        named = {option: _as_list(self.all_settings.get(option)) for option in REPLAYED}
        flags = {option: _in_place(names) for option, names in named.items() if any(map(was_held, names))}
        return ["jostle", "replay", str(place), *(text for flag in flags.items() for text in (f"--{flag[0]}", flag[1]))]

    @property
    def value_range(self) -> tuple[float, float] | None:
        """The lowest and the highest input value; None where there are no such ends."""
        given = self.all_settings.get("range") or (0.0, 1.0)
        try:
            low, high = map(float, given.split(",") if isinstance(given, str) else given)
        except (TypeError, ValueError):
            return None
        return (low, high) if math.isfinite(high - low) and low < high else None

    def changed_parts(self, digest: str) -> list[str]:
        """What of this campaign's seeds and weights is not of this digest, with the names that options give them."""
        ours, theirs = (_halves(one) for one in (self.digest, digest))
        named = self.all_settings
        others = [one for name in ("twin", "models") for one in _as_list(named.get(name))]
        weights = [named.get("weights") or named.get("model"), *others]
        parts = (f"the seeds ({named.get('seeds')})", f"the weights ({', '.join(map(str, weights))})")
        return [part for part, one, other in zip(parts, ours, theirs, strict=True) if one != other]

    def changes(self, other: CampaignRecord) -> list[str]:
        """The differences in words: of files those that differ, of seeds and weights which."""
        names = self.differences(other)
        files = sorted(one for one in {*self.files, *other.files} if self.files.get(one) != other.files.get(one))
        parts = self.changed_parts(other.digest) if self.input_type is InputType.ARRAY else []
        worded = {FILES: files, DIGESTED[InputType.ARRAY]: parts}
        return [one for name in names for one in worded.get(name) or [name]]

    def differences(self, other: CampaignRecord) -> list[str]:
        """The names of what makes them two campaigns; not those of what `other` says may change."""
        ours, theirs = self.identity(), other.identity()
        names = (ours.keys() | theirs.keys()) - other.changeable.keys()
        return sorted(name for name in names if ours.get(name) != theirs.get(name))

    def identity(self) -> dict[str, Any]:
        """All that tells this campaign from others, by name."""
        digests = {DIGESTED[self.input_type]: self.digest, FILES: self.files, VERSIONS: self.versions}
        return {**self.settings, **{name: value for name, value in digests.items() if value}}

    def as_json(self) -> dict[str, Any]:
        return {
            FORMAT_NAME: FORMAT,
            INPUT_TYPE: str(self.input_type),
            **self.settings,
            **self.changeable,
            MAY_CHANGE: sorted(self.changeable),
            DIGESTED[self.input_type]: self.digest,
            FILES: dict(self.files),
            VERSIONS: {backend: dict(versions) for backend, versions in self.versions.items()},
            ORIGIN: self.origin.as_json(),
        }


def _as_list(value: Any) -> list[Any]:
    """A setting that may have several values."""
    return list(value) if isinstance(value, list | tuple) else [value] if value else []


def _in_place(names: list[str]) -> str:
    """What an option may be given that had these names."""
    return ",".join(IN_PLACE_OF_OBJECT if was_held(name) else name for name in names)


def held_names(settings: Mapping[str, Any]) -> Iterator[str]:
    """Names among settings that stand for objects of a script which running findings again would need."""
    for option in REPLAYED:
        yield from (name for name in _as_list(settings.get(option)) if was_held(name))


def _halves(digest: str) -> tuple[str, str]:
    """The digests of seeds and of models that one digest of both is made of."""
    return digest[:LENGTH], digest[LENGTH:]


def holds_settings(folder: Path, settings: Mapping[str, Any]) -> bool:
    """Whether a campaign in this folder, of whatever format, has these settings."""
    try:
        content = read_json(folder / CONFIG)
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and all(content.get(name) == value for name, value in settings.items())


def write_campaign(folder: Path, record: CampaignRecord) -> None:
    write_json(folder / CONFIG, record.as_json())


def read_campaign(folder: Path, name: str = CONFIG) -> CampaignRecord:
    """The campaign in this folder; ValueError if it holds none, refused if it is of a format that cannot be read."""
    content = json_object(read_json(folder / name))
    number = content.get(FORMAT_NAME)
    if isinstance(number, bool) or number != FORMAT:
        raise ResumeRefused(
            f"{folder} was written by another version of Jostle ({FORMAT_NAME} {content.get(FORMAT_NAME, 'unknown')}, "
            f"this one has {FORMAT}): go on with that version, or give another --out"
        )
    return campaign_from_json(content)


def campaign_from_json(content: Mapping[str, Any]) -> CampaignRecord:
    """The inverse of `as_json`; ValueError where a field is missing or of another type."""
    input_type = input_type_in(content)
    changeable = texts(content, MAY_CHANGE)
    files, versions = fields(content, FILES), fields(content, VERSIONS)
    by_backend = {backend: fields(versions, backend) for backend in versions}
    settings = {name: value for name, value in content.items() if name not in RESERVED}
    return CampaignRecord(
        settings={name: value for name, value in settings.items() if name not in changeable},
        changeable={name: settings[name] for name in changeable if name in settings},
        digest=text(content, DIGESTED[input_type]),
        files={name: text(files, name) for name in files},
        versions={backend: {name: text(one, name) for name in one} for backend, one in by_backend.items()},
        input_type=input_type,
        origin=Origin.from_json(fields(content, ORIGIN)) if ORIGIN in content else Origin(),
    )
