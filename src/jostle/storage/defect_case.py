"""A small case of a defect, to keep beside tests: a finding's arrays and record, and what is known of the defect.

The folder is that of a finding, so that whatever runs findings again runs cases too; `jostle-case.json` tells that it
is a case.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jostle.errors import OutputRefused
from jostle.storage.campaign_record import COPY, CampaignRecord, read_campaign
from jostle.storage.defect_record import CASE, Defect
from jostle.storage.defects import defect_as_json, defect_from_json
from jostle.storage.files import as_json, make_folder, read_json, remove, write_all
from jostle.storage.finding_block import BEFORE_RECORD
from jostle.storage.finding_record import RECORD, FindingRecord, encode_record, record_as_json
from jostle.storage.findings import MINIMISED, PICTURE, SCRIPT, read_record
from jostle.storage.json_fields import fields, json_object, text
from jostle.untrusted.files import read_plain

VERSION = 1  # of that file
BESIDE = (PICTURE, SCRIPT, f"{MINIMISED}.npy")  # what shows a defect to a person
OF_CASES = {CASE, RECORD, *BEFORE_RECORD, *BESIDE}  # all names of files that cases have
LONGEST_DETAIL = 500  # characters; a case is small, and a traceback judges nothing


@dataclass(frozen=True)
class DefectCase:
    """A defect, the finding that shows it, and the campaign that says how it is judged."""

    defect: Defect
    record: FindingRecord
    campaign: CampaignRecord

    @property
    def model(self) -> str:
        """What the campaign called its model."""
        return str(self.campaign.all_settings.get("model", ""))


def write_case(folder: Path, case: DefectCase, finding: Path, beside: tuple[str, ...] = ()) -> None:
    """Writes a case with the arrays of a finding, and with other files beside them where the finding has such."""
    arrays = [name for name in BEFORE_RECORD if name != COPY]
    there = [name for name in (*arrays, *beside) if (finding / name).is_file()]
    about = {"version": VERSION, "model": case.model, "defect": defect_as_json(case.defect)}
    files = {
        **{name: read_plain(finding / name) for name in there},
        COPY: as_json(case.campaign.as_json()),
        RECORD: encode_record(record_as_json(_small(case.record))),
        CASE: as_json(about),  # last: a folder with it is whole
    }
    make_folder(folder)
    _remove_files(folder, but_for=files.keys() - {CASE})
    write_all(folder, files)


def _remove_files(folder: Path, but_for: Set[str]) -> None:
    """Removes the files of the case that stood there before, first the one that says that it is whole; no others."""
    for name in sorted(OF_CASES - but_for, key=lambda name: name != CASE):
        path = folder / name
        if path.is_symlink() or path.is_file():
            remove(path)


def read_case(folder: Path) -> DefectCase:
    """The case in this folder; refused in one line where it is damaged."""
    try:
        content = json_object(read_json(folder / CASE))
        if content.get("version") != VERSION:
            raise ValueError(f"it is of version {content.get('version')}, this Jostle reads {VERSION}")
        text(content, "model")
        defect = defect_from_json(fields(content, "defect"))
        return DefectCase(defect, read_record(folder), read_campaign(folder, COPY))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise OutputRefused(f"{folder} holds no whole case ({reason}): move the folder away") from error


def cases_in(folder: Path) -> list[Path]:
    """The folders in this one that hold cases, in order."""
    return sorted(path.parent for path in folder.glob(f"*/{CASE}") if not path.parent.is_symlink())


def _small(record: FindingRecord) -> FindingRecord:
    return replace(record, finished=None, details=_cut(record.details))


def _cut(details: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: f"{value[:LONGEST_DETAIL]}…" if isinstance(value, str) and len(value) > LONGEST_DETAIL else value
        for name, value in details.items()
    }
