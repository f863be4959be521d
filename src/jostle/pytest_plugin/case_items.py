"""Cases that `jostle promote` wrote, as tests: each fails while its defect is there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from jostle.errors import JostleError
from jostle.pytest_plugin.fuzzed_test import DEFECT, command_of

if TYPE_CHECKING:
    from jostle.commands.replay import Replay


class CaseFile(pytest.File):
    """The folder of a case, by the file that tells it for one."""

    def collect(self) -> Iterator[CaseItem]:
        yield CaseItem.from_parent(self, name=self.path.parent.name)


class CaseItem(pytest.Item):
    """Runs the input of a case on the model as it is now."""

    def runtest(self) -> None:
        replay = self._replays().of(self.path.parent)
        if not replay.ran:
            from jostle.commands.replay import OF_GRADIENT

            pytest.skip(OF_GRADIENT)
        if replay.still_wrong:
            self.user_properties.append((DEFECT, self.name))
            pytest.fail(self._told(replay), pytrace=False)

    def _told(self, replay: Replay) -> str:
        from jostle.storage.defect_case import read_case

        case = read_case(replay.folder)
        ways = "; ".join(violation.summary for violation in replay.other_ways)
        what = f"{case.defect.cause.kind}: {case.defect.title} ({replay.status}{f': {ways}' if ways else ''})"
        return f"{what}\n  {command_of(self)}"

    def _replays(self) -> CaseReplays:
        found = self.session.stash.get(REPLAYS, None)
        if found is None:
            folders = [item.path.parent for item in self.session.items if isinstance(item, CaseItem)]
            model = self.config.getini("jostle_model") or None
            found = self.session.stash[REPLAYS] = CaseReplays(folders, self.config.rootpath, model)
        return found

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, JostleError):
            return f"{type(excinfo.value).__name__}: {excinfo.value}"
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"case {self.name}"


class CaseReplays:
    """What cases show, each found out once, with all that one model is loaded for."""

    def __init__(self, folders: Iterable[Path], root: Path, model: str | None):
        self._folders, self._root, self._model = list(folders), root, model
        self._done: dict[Path, Replay] = {}

    def of(self, folder: Path) -> Replay:
        from jostle.commands.promote import options_of_case
        from jostle.commands.replay import replay

        if folder not in self._done:
            options = options_of_case(folder, self._root, self._model)
            alike = [folder, *self._like(folder)]
            try:
                self._done |= dict(zip(alike, replay(alike, options), strict=True))
            except JostleError:  # of whichever of them
                self._done[folder] = replay([folder], options)[0]
        return self._done[folder]

    def _like(self, folder: Path) -> list[Path]:
        """Other cases that the same model is loaded for."""
        from jostle.storage.campaign_record import COPY

        content = (folder / COPY).read_bytes()
        others = (one for one in self._folders if one != folder and one not in self._done)
        return [one for one in others if (one / COPY).is_file() and (one / COPY).read_bytes() == content]


REPLAYS = pytest.StashKey[CaseReplays]()
