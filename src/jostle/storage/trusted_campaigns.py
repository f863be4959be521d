"""What the user's own campaigns executed: a small record of each, in a folder that nobody else reads or writes.

A campaign's folder may come from anybody, so that what it says of itself proves nothing. Code that it names is known to
be the user's own if a record here names it, and its file is still what it was then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from jostle.digests import digest_of_text
from jostle.errors import WriteFailed
from jostle.home_folders import PRIVATE, not_own, state_folder
from jostle.storage.files import as_json, read_json, write_private
from jostle.storage.json_fields import json_object, records, text

TRUSTED = "trusted"  # the folder of the records, in that of the user's state
WORKED_IN, CODE = "working folder", "code"
MOST = 1000  # records; of more, those that were not used for longest are forgotten
PATIENCE = 10.0  # seconds until another process has written


@dataclass(frozen=True)
class ExecutedCode:
    """What an option named that a campaign executed: Python, or a model file that was trusted."""

    option: str
    file: str  # its full path, without links
    name: str  # of the object in it, "" of a model file
    digest: str


@dataclass(frozen=True)
class TrustedCampaign:
    """Where a campaign of the user's ran, and what it executed."""

    working_folder: str
    code: tuple[ExecutedCode, ...]

    def as_json(self) -> dict[str, Any]:
        return {WORKED_IN: self.working_folder, CODE: [asdict(one) for one in self.code]}

    @staticmethod
    def from_json(content: Any) -> TrustedCampaign:
        record = json_object(content)
        code = (
            ExecutedCode(text(one, "option"), text(one, "file"), text(one, "name"), text(one, "digest"))
            for one in records(record, CODE)
        )
        return TrustedCampaign(text(record, WORKED_IN), tuple(code))


@dataclass(frozen=True)
class KnownCode:
    """What all records say together."""

    code: Collection[ExecutedCode] = frozenset()
    working_folders: Collection[str] = frozenset()

    def ran(self, code: ExecutedCode) -> bool:
        return code in self.code

    def ran_before(self, code: ExecutedCode) -> bool:
        """Whether it ran in another form of its file."""
        alike = (code.option, code.file, code.name)
        return any((one.option, one.file, one.name) == alike for one in self.code)


def trusted_folder() -> Path:
    """Where the records are."""
    return state_folder() / TRUSTED


def known_code() -> KnownCode:
    """What the user's own campaigns executed; nothing, where another user may have written the records."""
    found = list(_records(trusted_folder()))
    return KnownCode(
        frozenset(one for record in found for one in record.code), frozenset(record.working_folder for record in found)
    )


def remember(campaign: TrustedCampaign) -> str:
    """Records a campaign of the user's; why that was not possible, "" where it was."""
    folder = trusted_folder()
    try:
        _make_private(folder)
        why = not_own(folder)
        if why:
            return f"{folder}: {why}"
        content = as_json(campaign.as_json())
        with FileLock(folder / "lock", timeout=PATIENCE):
            write_private(folder / f"{digest_of_text(content.decode())}.json", content)
            _forget_oldest(folder)
    except Timeout:
        return f"{folder}: another process is writing there"
    except (OSError, WriteFailed) as error:
        return f"{folder}: {getattr(error, 'strerror', None) or error}"
    return ""


def _make_private(folder: Path) -> None:
    """Makes the folder and those above that are missing; only the user enters those that are made."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    for one in reversed(missing):
        one.mkdir(mode=PRIVATE, exist_ok=True)


def _records(folder: Path) -> Iterator[TrustedCampaign]:
    """Records that are whole and the user's own; another is as good as none, and the user is asked once more."""
    if not folder.is_dir() or not_own(folder):
        return
    for path in folder.glob("*.json"):
        try:
            if not not_own(path):
                yield TrustedCampaign.from_json(read_json(path))
        except (OSError, ValueError):
            continue


def _forget_oldest(folder: Path) -> None:
    paths = list(folder.glob("*.json"))
    if len(paths) > MOST:
        by_age = sorted(paths, key=lambda path: path.stat().st_mtime)
        for path in by_age[: len(paths) - MOST]:
            path.unlink()
