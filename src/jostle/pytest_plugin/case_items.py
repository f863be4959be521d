"""Cases that `jostle promote` wrote, as tests: each fails while its defect is there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from jostle.errors import JostleError
from jostle.pytest_plugin.fuzzed_test import DEFECT, NOT_RUN, command_of, require
from jostle.visible import log_line, one_line, visible

if TYPE_CHECKING:
    from jostle.commands.replay import Replay


class CaseFile(pytest.File):
    """The folder of a case, by the file that tells it for one."""

    def collect(self) -> Iterator[CaseItem]:
        yield CaseItem.from_parent(self, name=self.path.parent.name)


class CaseItem(pytest.Item):
    """Runs the input of a case on the model as it is now."""

    def runtest(self) -> None:
        require(f"case {self.name}")
        replay = self._replays().of(self.path.parent)
        if not replay.ran:
            self.user_properties.append((NOT_RUN, f"{self.name}: {replay.not_run}"))
            pytest.skip(replay.not_run)
        if replay.still_wrong:
            self.user_properties.append((DEFECT, self.name))
            pytest.fail(self._told(replay), pytrace=False)

    def _told(self, replay: Replay) -> str:
        from jostle.storage.defect_case import read_case

        case = read_case(replay.folder)
        ways = "; ".join(violation.summary for violation in replay.other_ways)
        what = f"{case.defect.cause.kind}: {case.defect.title} ({replay.status}{f': {ways}' if ways else ''})"
        return f"{log_line(what)}\n  {visible(command_of(self), kept='')}"

    def _replays(self) -> CaseReplays:
        found = self.session.stash.get(REPLAYS, None)
        if found is None:
            folders = [item.path.parent for item in self.session.items if isinstance(item, CaseItem)]
            model, trust = self.config.getini("jostle_model") or None, self.config.getoption("--jostle-trust-model")
            found = self.session.stash[REPLAYS] = CaseReplays(folders, self.config.rootpath, model, trust)
        return found

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, JostleError):
            return one_line(f"{type(excinfo.value).__name__}: {excinfo.value}")
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, one_line(f"case {self.name}")


class CaseReplays:
    """What cases show, each found out once, with all that one model is loaded for."""

    def __init__(self, folders: Iterable[Path], root: Path, model: str | None, trust_model: bool):
        self._folders, self._root = list(folders), root
        self._model, self._trust_model = model, trust_model
        self._done: dict[Path, Replay] = {}
        self._alone: set[Path] = set()  # cases that cannot run together with others

    def of(self, folder: Path) -> Replay:
        if folder not in self._done:
            alike = [folder, *self._like(folder)]
            try:
                self._done |= self._replayed(alike)
            except JostleError:
                if len(alike) == 1:
                    raise
                self._alone |= self._broken(alike) or set(alike)
                return self.of(folder)
        return self._done[folder]

    def _broken(self, folders: Iterable[Path]) -> set[Path]:
        """Cases that cannot be read; no model is loaded to find out."""
        from jostle.commands.kept_findings import kept_finding
        from jostle.storage.defect_case import read_case

        broken = set()
        for folder in folders:
            try:
                kept_finding(folder, read_case(folder).record)
            except JostleError:
                broken.add(folder)
        return broken

    def _replayed(self, folders: list[Path]) -> dict[Path, Replay]:
        from jostle.commands.promoted_cases import replay_cases

        return dict(zip(folders, replay_cases(folders, self._root, self._model, self._trust_model), strict=True))

    def _like(self, folder: Path) -> list[Path]:
        """Other cases that the same model is loaded for; none beside a case of twins, which its seed calibrates."""
        from jostle.storage.defect_case import read_case

        if folder in self._alone or read_case(folder).campaign.all_settings.get("twin"):
            return []
        content = _campaign_copy(folder)
        others = (one for one in self._folders if one != folder and one not in self._alone | self._done.keys())
        return [one for one in others if content and _campaign_copy(one) == content]


def _campaign_copy(folder: Path) -> bytes:
    """What the record of a case's campaign says, nothing where it cannot be read."""
    from jostle.storage.campaign_record import COPY
    from jostle.untrusted.files import HEADER_LIMIT, read_plain

    try:
        return read_plain(folder / COPY, HEADER_LIMIT)
    except (OSError, ValueError):
        return b""


REPLAYS = pytest.StashKey[CaseReplays]()
