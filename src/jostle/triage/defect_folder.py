"""The folder of a defect: all of the finding that shows it best, a script that fails while it is there, an issue."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

from jostle.storage.campaign_record import CampaignRecord
from jostle.storage.files import make_folder, remove, write_whole
from jostle.storage.finding_record import FindingRecord, InputType
from jostle.storage.findings import read_record
from jostle.triage.defect import Defect
from jostle.triage.issue import issue_of
from jostle.triage.script import Script
from jostle.triage.triaged_finding import HIDDEN

SCRIPT, ISSUE = "reproduce.py", "issue.md"
LEFT_OUT = (f"{HIDDEN}.npy", SCRIPT, ISSUE)
LARGEST = 200_000_000  # bytes of a file that is copied


def write_defect_folder(place: Path, finding: Path, defect: Defect, campaign: CampaignRecord) -> None:
    """Writes the folder anew; scripts of graphs' findings were written when those were finished."""
    record = read_record(finding)
    files = dict(_copied(finding))
    if record.input_type is InputType.GRAPH:
        files |= {name: (finding / name).read_bytes() for name in (SCRIPT, ISSUE) if _is_plain(finding / name)}
    else:
        files |= _written(record, campaign, defect, "minimised.npy" if "minimised.npy" in files else "input.npy")
    make_folder(place)
    for left in {path.name for path in place.iterdir() if path.is_file()} - files.keys():
        remove(place / left)
    for name, content in files.items():
        write_whole(place / name, content)


def _written(record: FindingRecord, campaign: CampaignRecord, defect: Defect, array: str) -> dict[str, bytes]:
    script = Script(record, campaign, defect.title, array).text
    issue = issue_of(defect, record, campaign, script)
    files = {ISSUE: issue.encode("utf-8", "backslashreplace")}
    return files if script is None else {SCRIPT: script.encode(), **files}


def _copied(finding: Path) -> Iterator[tuple[str, bytes]]:
    """What stands in a finding's folder; no links, which could lead anywhere."""
    for path in sorted(finding.iterdir()):
        if path.name not in LEFT_OUT and not path.name.startswith(".") and _is_plain(path):
            yield path.name, path.read_bytes()


def _is_plain(path: Path) -> bool:
    try:
        seen = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(seen.st_mode) and seen.st_size <= LARGEST
