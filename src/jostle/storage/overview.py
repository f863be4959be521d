"""A campaign seen from outside, while it runs or after; nothing is written and nobody is disturbed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jostle.errors import ResumeRefused
from jostle.storage.campaign_folder import campaign_in
from jostle.storage.findings import FINDINGS, FLAKY, Recorded, finding_folders, read_record
from jostle.storage.journal import JOURNAL, read_journal
from jostle.storage.quarantine import QUARANTINE
from jostle.storage.status import Statistics, read_status
from jostle.untrusted.files import opened_plain


@dataclass(frozen=True)
class Overview:
    """What the folder of a campaign tells."""

    at_work: bool  # a process works in it
    steps: int  # that are in the journal, the planting not counted
    executions: int  # so far
    failing: int  # failing tests met so far
    failing_kept: int  # of those
    statistics: Statistics  # as last written
    findings: dict[str, int]  # by kind
    flaky: dict[str, int]  # by kind, without those that became findings
    quarantined: int  # files and folders
    newest: tuple[str, str] | None  # folder and summary of the newest finding


def overview_of(folder: Path) -> Overview:
    campaign_in(folder)
    try:
        lines = read_journal(folder / JOURNAL).lines
        found = list(_records(folder / FINDINGS))
        shown_alone = {record.identity for _, record in found}
        flaky = [record for _, record in _records(folder / FLAKY) if record.identity not in shown_alone]
        return Overview(
            at_work=is_at_work(folder),
            steps=max(0, len(lines) - 1),
            executions=lines[-1].executions if lines else 0,
            failing=sum(line.failed for line in lines),
            failing_kept=sum(line.failing for line in lines),
            statistics=read_status(folder),
            findings=dict(Counter(record.kind for _, record in found)),
            flaky=dict(Counter(record.kind for record in flaky)),
            quarantined=len(list((folder / QUARANTINE).iterdir())) if (folder / QUARANTINE).is_dir() else 0,
            newest=(found[-1][0].name, found[-1][1].summary) if found else None,
        )
    except (OSError, ValueError) as error:
        raise ResumeRefused(f"{folder} holds a campaign that cannot be read ({error}): bring its files back") from error


def _records(findings: Path) -> Iterator[Recorded]:
    """What can be read; a finding may just be coming into being."""
    for folder in finding_folders(findings):
        try:
            yield folder, read_record(folder)
        except (OSError, ValueError):
            continue


def is_at_work(folder: Path) -> bool:
    """Whether a process holds the lock: asked for a moment, shared, and given back."""
    try:
        import fcntl  # not on every system; there, nobody can tell
    except ImportError:
        return False
    try:
        with opened_plain(folder / "lock") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
    except (FileNotFoundError, ValueError):  # a link or a pipe is no lock of ours
        return False
    except BlockingIOError:
        return True
