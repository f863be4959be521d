"""The folders within a campaign's folder: its own, and no links, which would lead whoever reads or writes elsewhere."""

from __future__ import annotations

from pathlib import Path

from jostle.errors import ResumeRefused
from jostle.storage.defects import DEFECTS
from jostle.storage.failing_files import FAILING
from jostle.storage.findings import FINDINGS, FLAKY
from jostle.storage.quarantine import QUARANTINE
from jostle.storage.repair import CORPUS

TWINS = "twins"  # models that were made of the campaign's own
GRAPHS = "graphs"  # models of a campaign over frameworks
OWN = (CORPUS, FAILING, FINDINGS, FLAKY, QUARANTINE, DEFECTS, TWINS, GRAPHS)


def refuse_linked_folders(folder: Path) -> None:
    """Refuses a campaign's folder one of whose own folders is a link."""
    for name in OWN:
        if (folder / name).is_symlink():
            raise ResumeRefused(
                f"{folder / name} is a link, and nothing outside of a campaign's folder is read or written: remove "
                f"the link, or put a copy of what it leads to there"
            )
