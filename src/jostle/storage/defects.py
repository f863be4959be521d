"""defects.json: what triage made of a campaign's findings, written and read here alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jostle.errors import OutputRefused
from jostle.storage.checksums import with_checksum, without_checksum
from jostle.storage.defect_record import Cause, Defect
from jostle.storage.files import portable, read_json, write_json
from jostle.storage.json_fields import fields, number, records, text, texts, whole
from jostle.storage.quarantine import portable_name

DEFECTS_FILE = "defects.json"
DEFECTS = "defects"  # the folder with one for each defect
VERSION = 1  # of the file


def write_defects(folder: Path, defects: Sequence[Defect]) -> None:
    """Writes the list of a campaign's defects in place of an earlier one."""
    content = {"version": VERSION, "defects": [defect_as_json(one) for one in defects]}
    write_json(folder / DEFECTS_FILE, with_checksum(portable(content)))


def read_defects(folder: Path) -> list[Defect]:
    """The list of a campaign's defects; refused where there is none, or none of ours."""
    try:
        content = without_checksum(read_json(folder / DEFECTS_FILE))
        if content.get("version") != VERSION:
            raise ValueError(f"it is of version {content.get('version')}, this Jostle reads {VERSION}")
        return [defect_from_json(one) for one in records(content, "defects")]
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise OutputRefused(
            f"{folder / DEFECTS_FILE} cannot be read ({reason}): jostle triage {folder} writes it anew"
        ) from error


def defect_as_json(defect: Defect) -> dict[str, Any]:
    """A defect as JSON gives it back."""
    cause = defect.cause
    content = {
        "name": defect.name,
        "title": defect.title,
        "kind": cause.kind,
        "what": cause.what,
        "mutation": cause.mutation,
        "layer": cause.layer,
        "place": cause.place,
        "seeds": defect.seeds,
        "weight": defect.weight,
        "reasons": dict(defect.reasons),
        "explanation": list(defect.explanation),
        "findings": list(defect.findings),
    }
    known = {"unstable": defect.unstable, "failing_tests": defect.failing_tests}
    return {**content, **{name: value for name, value in known.items() if value is not None}}


def defect_from_json(content: Mapping[str, Any]) -> Defect:
    """The inverse of `defect_as_json`; ValueError where a field is missing or of another type."""
    reasons = fields(content, "reasons")
    for name in (text(content, "name"), *texts(content, "findings")):
        if portable_name(name) != name:  # else it could lead out of the campaign's folder
            raise ValueError(f"{name!r} is no name of a folder")
    kind, what, mutation, layer = (text(content, name) for name in ("kind", "what", "mutation", "layer"))
    return Defect(
        name=text(content, "name"),
        cause=Cause(kind, what, mutation, layer, whole(content, "place")),
        title=text(content, "title"),
        findings=texts(content, "findings"),
        seeds=whole(content, "seeds"),
        weight=number(content, "weight"),
        reasons={name: number(reasons, name) for name in reasons},
        explanation=texts(content, "explanation"),
        unstable=number(content, "unstable") if "unstable" in content else None,
        failing_tests=whole(content, "failing_tests") if "failing_tests" in content else None,
    )
