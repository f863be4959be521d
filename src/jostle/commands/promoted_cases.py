"""Promoted cases run again: their names stand from the folder that tests run in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from jostle.commands.kept_findings import kept_finding
from jostle.commands.replay import Replay, replay
from jostle.errors import UsageError
from jostle.held import was_held
from jostle.options.schema import Given
from jostle.session.folder_trust import lies_in
from jostle.session.reopen import python_file
from jostle.storage.campaign_record import CampaignRecord
from jostle.storage.defect_case import DefectCase, read_case, write_case


def replay_cases(
    folders: Sequence[Path], root: Path, model: str | None = None, trust_model: bool = False
) -> list[Replay]:
    """What cases show on their models as these are now; a case of an object of a script runs on the model given.

    Whoever runs the tests of a root folder trusts the Python in it, but not its pickles, nor what lies elsewhere.
    """
    placed = [_placed(folder, root, model) for folder in folders]
    changes = Given({"trust_model": True} if trust_model else {})  # of files that are models
    with TemporaryDirectory(prefix="jostle-", ignore_cleanup_errors=True) as temporary:
        copies = [Path(temporary) / str(number) / folder.name for number, folder in enumerate(folders)]
        for copy, case, folder in zip(copies, placed, folders, strict=True):
            write_case(copy, case, folder)
        return [
            replace(done, folder=folder) for done, folder in zip(replay(copies, changes, root), folders, strict=True)
        ]


def _placed(folder: Path, root: Path, model: str | None) -> DefectCase:
    """The case as if it had been found by a campaign that ran at the root, on a model that has a name."""
    case = read_case(folder)
    kept = kept_finding(folder, case.record)  # refuses damaged arrays
    ran = root / case.campaign.origin.folder
    _refuse_outside(folder, root, [ran, *(ran / (python_file(name) or name) for name in kept.campaign.names())])
    if not ran.is_dir():
        raise UsageError(f"{folder.name} was promoted where there was a folder {ran}: promote it anew")
    origin = replace(case.campaign.origin, folder=str(ran))
    return replace(case, campaign=_on_named_model(replace(case.campaign, origin=origin), folder, root, model))


def _refuse_outside(folder: Path, root: Path, places: Sequence[Path]) -> None:
    """Whoever dropped a case below the root may have chosen what it runs, but not outside the root."""
    for place in places:
        if not place.resolve().is_relative_to(root.resolve()):
            raise UsageError(
                f"{folder.name} runs {place}, which is not in {root}: promote it from a folder that has all it needs"
            )
        if lies_in(place, folder):
            raise UsageError(f"{folder.name} brings {place.name} along, which it would run: move that file elsewhere")


def _on_named_model(campaign: CampaignRecord, folder: Path, root: Path, model: str | None) -> CampaignRecord:
    if not was_held(str(campaign.all_settings["model"])):
        return campaign
    if model is None:
        raise UsageError(
            f"the model of {folder.name} was an object of a test: promote it with --model FILE.py:function, or set "
            f"jostle_model = FILE.py:function in pytest's configuration"
        )
    return replace(campaign, settings={**campaign.settings, "model": _absolute(model, root)})


def _absolute(name: str, root: Path) -> str:
    file = python_file(name)
    path = root / (file or name)
    if not path.exists():
        return name
    return str(path) if file is None else f"{path}:{name.rpartition(':')[2]}"
