"""A finding made to a small case that tests keep: its names stand from the folder that tests run in, not from here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from jostle.commands.kept_findings import kept_finding, record_in
from jostle.errors import UsageError
from jostle.held import is_held
from jostle.named_objects import names_object
from jostle.options.schema import Given
from jostle.session.reopen import LOADED, python_file, recorded_campaign
from jostle.storage.campaign_record import CONFIG, COPY, CampaignRecord, Origin
from jostle.storage.class_names import campaign_class_names
from jostle.storage.defect_case import CASE, DefectCase, read_case, write_case
from jostle.storage.defect_record import Defect
from jostle.storage.defects import DEFECTS, read_defects
from jostle.storage.finding_record import InputType
from jostle.triage.grouping import defects_of
from jostle.triage.triaged_finding import TriagedFinding, gather
from jostle.triage.words import Words


def promote(finding: Path, to: Path, model: str | None = None) -> Path:
    """Writes the case of a finding into a folder of cases, and gives the case's folder.

    Names of files are written as they stand from the working folder. A model of one's own stands for an object.
    """
    record = record_in(finding)
    if record.input_type is InputType.GRAPH:
        raise UsageError(f"{finding} is of a framework: its reproduce.py is the test that fails while it is there")
    kept = kept_finding(finding, record)
    campaign = portable_campaign(kept.campaign.record, model)
    case = DefectCase(_defect(finding, kept.campaign.record), record, campaign)
    place = _place(to, case)
    write_case(place, case, finding)
    return place


def _place(to: Path, case: DefectCase) -> Path:
    """The case's folder: its own if it was promoted before, else one that nothing has."""
    names = (f"{case.defect.name}{'' if number == 1 else f'-{number}'}" for number in count(1))
    return next(place for place in (to / name for name in names) if not place.exists() or _holds(place, case))


def _holds(place: Path, case: DefectCase) -> bool:
    return (place / CASE).exists() and read_case(place).record.fingerprint == case.record.fingerprint


def _defect(finding: Path, campaign: CampaignRecord) -> Defect:
    """The defect that a folder is of; of a finding's, what that alone shows."""
    if (finding / CASE).exists():
        return read_case(finding).defect
    folder = finding.resolve()
    home = folder.parent.parent
    if not (home / CONFIG).exists():
        return defects_of([TriagedFinding(folder, record_in(folder))])[0]
    if folder.parent.name == DEFECTS:
        return next(defect for defect in read_defects(home) if defect.name == folder.name)
    found = [one for one in gather(home, campaign).findings if one.name == folder.name]
    return defects_of(found, Words(campaign_class_names(home)))[0]


def portable_campaign(record: CampaignRecord, model: str | None = None) -> CampaignRecord:
    """The record of a campaign with names of files as they stand from the working folder, and of it alone."""
    ran = Path(record.origin.folder)
    settings = {**record.all_settings, **({} if model is None else {"model": model, "weights": None})}
    named = _renamed(settings, lambda name: _from_here(name, Path.cwd() if name == model else ran))
    origin = Origin("", record.origin.task, record.origin.cut, record.origin.layout)
    return replace(record, settings={**settings, **named, "out": None}, changeable={}, files={}, origin=origin)


def _renamed(settings: Mapping[str, Any], renamed: Callable[[str], str]) -> dict[str, Any]:
    """What a model and its oracles are loaded from, by other names."""
    given = {name: settings[name] for name in LOADED if settings.get(name)}
    return {
        name: renamed(value) if isinstance(value, str) else [renamed(one) for one in value]
        for name, value in given.items()
    }


def _from_here(name: str, ran: Path) -> str:
    """A name of a file as it stands from the working folder, where the file lies in it; other names as they are."""
    file = python_file(name)
    path = (ran / (file or name)).absolute()
    if (file is None and names_object(name)) or not path.exists() or not path.is_relative_to(Path.cwd()):
        return name
    here = path.relative_to(Path.cwd()).as_posix()
    return here if file is None else f"{here}:{name.rpartition(':')[2]}"


def options_of_case(folder: Path, root: Path, model: str | None = None) -> Given:
    """The options that load what a case was found with, whose names stand from a root folder.

    A case of an object of a script is run on the model that is given.
    """
    given = recorded_campaign(folder, COPY).given
    held = is_held(given.get("model"))
    if held and model is None:
        raise UsageError(
            f"the model of {folder.name} was an object of a test: promote it with --model FILE.py:function, or set "
            f"jostle_model = FILE.py:function in pytest's configuration"
        )
    settings = {**given.values, **({"model": model} if held else {})}
    named = _renamed(settings, lambda name: _absolute(name, root))
    layers = {name: settings[name] for name in ("layers",) if settings.get(name)}
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in named.items()}
    return Given({**values, **layers})


def _absolute(name: str, root: Path) -> str:
    file = python_file(name)
    path = root / (file or name)
    if (file is None and names_object(name)) or not path.exists():
        return name
    return str(path) if file is None else f"{path}:{name.rpartition(':')[2]}"
