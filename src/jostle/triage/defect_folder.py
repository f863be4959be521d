"""The folder of a defect: all of the finding that shows it best, a script that fails while it is there, an issue."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from jostle.storage.campaign_record import CampaignRecord
from jostle.storage.class_names import ClassNames
from jostle.storage.defect_record import Defect
from jostle.storage.files import make_folder, remove, write_whole
from jostle.storage.finding_record import InputType
from jostle.storage.findings import HIDDEN, ISSUE, PICTURE, SCRIPT
from jostle.storage.pictures import picture_in
from jostle.triage.graph_causes import variants_table
from jostle.triage.issue import issue_of
from jostle.triage.script import Script
from jostle.triage.triaged_finding import TriagedFinding
from jostle.untrusted.files import read_plain

LEFT_OUT = (f"{HIDDEN}.npy", SCRIPT, ISSUE)
LARGEST = 200_000_000  # bytes of a file that is copied


@dataclass(frozen=True)
class ShownDefect:
    """A defect with the finding that shows it best."""

    defect: Defect
    finding: TriagedFinding
    campaign: CampaignRecord
    variants: tuple[TriagedFinding, ...] = ()  # all of its findings
    classes: ClassNames = field(default_factory=dict)
    renamed: bool = False  # pictures of findings have other names of classes

    def write(self, place: Path) -> None:
        """Writes the folder anew; scripts of graphs' findings were written when those were finished."""
        files = dict(_copied(self.finding.folder))
        if self.finding.record.input_type is InputType.GRAPH:
            own = {name: _plain(self.finding.folder / name) for name in (SCRIPT, ISSUE)}
            files |= {name: content for name, content in own.items() if content is not None}
            table = "\n".join(variants_table(self.variants))
            if table and ISSUE in files:
                files[ISSUE] += b"\n" + table.encode("utf-8", "backslashreplace")
        else:
            files |= self._written("minimised.npy" if "minimised.npy" in files else "input.npy")
            if self.renamed or PICTURE not in files:
                files |= self._drawn()
        make_folder(place)
        for left in _plain_names(place) - files.keys():
            remove(place / left)
        for name, content in files.items():
            write_whole(place / name, content)

    def _written(self, array: str) -> dict[str, bytes]:
        record = self.finding.record
        script = Script(record, self.campaign, self.defect.title, array).text
        issue = issue_of(self.defect, record, self.campaign, script)
        files = {ISSUE: issue.encode("utf-8", "backslashreplace")}
        return files if script is None else {SCRIPT: script.encode(), **files}

    def _drawn(self) -> dict[str, bytes]:
        picture = picture_in(self.finding.folder, self.finding.record, self.finding.steps, self.classes)
        return {} if picture is None else {PICTURE: picture}


def remove_files(place: Path) -> None:
    """Removes the folder of a defect that is no more; one in which others put folders or links stays with these."""
    if place.is_dir():
        for name in _plain_names(place):
            remove(place / name)
        if not any(place.iterdir()):
            remove(place)


def _plain_names(place: Path) -> set[str]:
    """Files in a folder; we write no folders and links there, so that these are somebody else's."""
    return {path.name for path in place.iterdir() if path.is_file() and not path.is_symlink()}


def _copied(finding: Path) -> Iterator[tuple[str, bytes]]:
    """What stands in a finding's folder; no links, which could lead anywhere."""
    for path in sorted(finding.iterdir()):
        content = None if path.name in LEFT_OUT or path.name.startswith(".") else _plain(path)
        if content is not None:
            yield path.name, content


def _plain(path: Path) -> bytes | None:
    """The content of a file; None of links, of what is no file, and of what is too large."""
    try:
        return read_plain(path, LARGEST)
    except (OSError, ValueError):
        return None
