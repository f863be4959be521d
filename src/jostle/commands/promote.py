"""A finding made to a small case that tests keep: its names stand from the folder that tests run in, not from here."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from jostle.commands.kept_findings import kept_finding, record_in
from jostle.errors import UsageError
from jostle.held import shown_name, was_held
from jostle.options.schema import NOTHING_ELSE, Given
from jostle.session.folder_trust import FolderTrust
from jostle.session.reopen import LOADED, NO_CONSENT, Reopened, python_file
from jostle.storage.campaign_record import CONFIG, REPLAYED, CampaignRecord, Origin, held_names
from jostle.storage.class_names import campaign_class_names
from jostle.storage.defect_case import DefectCase, read_case, write_case
from jostle.storage.defect_record import CASE, Defect
from jostle.storage.defects import DEFECTS, read_defects
from jostle.storage.finding_record import FindingRecord, InputType
from jostle.storage.findings import FINDINGS
from jostle.triage.grouping import defects_of
from jostle.triage.triaged_finding import TriagedFinding, gather
from jostle.triage.words import Words
from jostle.untrusted.files import read_plain

INPUT = "input.npy"
# Options that name files which only a search reads, or whoever looks at a campaign.
NOT_OF_CASES = ("profile", "synonyms", "domain", "classes", "out", "fail_if_more_than")


def promote(finding: Path, to: Path, changes: Given = NOTHING_ELSE) -> Path:
    """Writes the case of a finding into a folder of cases, and gives the case's folder.

    Tests will run in the working folder. A model of one's own stands for an object. Code that a finding names and that
    is not the user's own is refused unless its folder is trusted, because tests would run it unasked.
    """
    model: str | None = changes.get("model")
    if (finding / CONFIG).is_file():
        raise UsageError(f"{finding} is a whole campaign: give the findings to keep, {finding / FINDINGS}/…")
    if to.exists() and not to.is_dir():
        raise UsageError(f"{to} is a file: give a folder for cases, such as tests/regressions")
    record = record_in(finding)
    if record.input_type is InputType.GRAPH:
        raise UsageError(f"{finding} is of a framework: its reproduce.py is the test that fails while it is there")
    kept = kept_finding(finding, record)
    _refuse_objects(finding, kept.campaign)
    named = kept.campaign.but_for(*(() if model is None else ("model", "weights"))).naming_only(*REPLAYED)
    trust, whole_path = FolderTrust.of(changes), finding.resolve()  # from here, and not from where the campaign ran
    with named.in_its_folder(trust):
        trust.check(named.given.over(**NO_CONSENT), [whole_path])
    case = _portable(DefectCase(_defect(finding, kept.campaign.record), record, kept.campaign.record), model)
    place = _place(to, case, finding)
    write_case(place, case, finding)
    return place


def _refuse_objects(finding: Path, campaign: Reopened) -> None:
    """Refuses what was judged by objects of a script, of which only the model can be replaced."""
    held = list(held_names(campaign.but_for("model").given.values))
    if held:
        raise UsageError(
            f"{finding} needs {' and '.join(map(shown_name, held))}, an object of a script that no later run has: let "
            f"the script name it as FILE.py:name, and promote what it finds then"
        )


def _place(to: Path, case: DefectCase, finding: Path) -> Path:
    """The case's folder: its own if it was promoted before, else one that nothing has."""
    names = (f"{case.defect.name}{'' if number == 1 else f'-{number}'}" for number in count(1))
    places = (to / name for name in names)
    return next(place for place in places if not place.exists() or _holds(place, case, finding))


def _holds(place: Path, case: DefectCase, finding: Path) -> bool:
    """Whether this is a case of the same input, model and bug; a model that was an object may have a name by now."""
    if not (place / CASE).exists():
        return False
    before = read_case(place)
    same = before.model == case.model or was_held(before.model)
    return same and before.record.fingerprint == case.record.fingerprint and _input(place) == _input(finding)


def _input(folder: Path) -> bytes | None:
    return read_plain(folder / INPUT) if (folder / INPUT).is_file() else None


def _defect(finding: Path, campaign: CampaignRecord) -> Defect:
    """The defect that a folder is of; of a finding's, what that alone shows."""
    if (finding / CASE).exists():
        return read_case(finding).defect
    folder = finding.resolve()
    home = folder.parent.parent
    if not (home / CONFIG).exists():
        return defects_of([TriagedFinding(folder, record_in(folder))])[0]
    if folder.parent.name == DEFECTS:
        listed = [defect for defect in read_defects(home) if defect.name == folder.name]
    else:
        found = [one for one in gather(home, campaign).findings if one.name == folder.name]
        listed = defects_of(found, Words(campaign_class_names(home))) if folder.parent.name == FINDINGS else []
    if not listed:
        raise UsageError(
            f"{finding} is not known to its campaign as a defect or as a finding that shows again when it runs alone: "
            f"give one of {home / FINDINGS}, or let jostle triage {home} write its defects anew"
        )
    return listed[0]


def _portable(case: DefectCase, model: str | None) -> DefectCase:
    """The case without names of this machine.

    Kinds and fingerprints hold names of twins and properties, so names are kept as they were written, and the case
    remembers in which folder within the working folder they stand. Full paths into the working folder are shortened.
    Of a full path to seeds, which findings hold themselves, the last part is kept.
    """
    settings = case.campaign.all_settings
    ran = _ran_in(case.campaign.origin)
    named = {name: settings[name] for name in LOADED if settings.get(name)}
    texts = (one for value in named.values() for one in ([value] if isinstance(value, str) else value))
    short = {text: _within(text, ran) for text in texts}
    chosen: dict[str, Any] = {
        name: short[value] if isinstance(value, str) else [short[one] for one in value] for name, value in named.items()
    }
    if model is not None:
        chosen |= {"model": _seen_from(model, ran), "weights": None}
    old = case.campaign.origin
    origin = Origin(ran, old.task, old.cut, old.layout)
    settings |= {**chosen, **dict.fromkeys(NOT_OF_CASES & settings.keys()), "seeds": _last(settings["seeds"])}
    campaign = replace(case.campaign, settings=settings, changeable={}, files={}, origin=origin)
    record = replace(case.record, seed=_last(case.record.seed))
    return DefectCase(case.defect, _renamed(record, short), campaign)


def _last(seeds: str) -> str:
    """What seeds are called, without where on this machine they were."""
    path = Path(seeds)
    return path.name if path.is_absolute() else seeds


def _ran_in(origin: Origin) -> str:
    """The folder that a campaign ran in, as it stands from the working folder if it lies in it; else that itself."""
    ran, here = Path(origin.folder), Path.cwd()
    if not ran.is_absolute():
        return origin.folder
    return ran.relative_to(here).as_posix() if ran.is_relative_to(here) and ran.is_dir() else ""


def _within(name: str, ran: str) -> str:
    """A full path as it stands from where the campaign ran, if it leads into the working folder."""
    path = python_file(name) or Path(name)
    return _seen_from(name, ran) if path.is_absolute() and path.is_relative_to(Path.cwd()) else name


def _seen_from(name: str, ran: str) -> str:
    """A name that stands from the working folder as it stands from a folder in it."""
    file, here = python_file(name), Path.cwd()
    path = here / (file or name)
    if not path.exists() or not path.is_relative_to(here):
        return name
    seen = Path(os.path.relpath(path, here / ran)).as_posix()
    return seen if file is None else f"{seen}:{name.rpartition(':')[2]}"


def _renamed(record: FindingRecord, names: Mapping[str, str]) -> FindingRecord:
    kind, fingerprint = record.kind, record.fingerprint
    for old in sorted((name for name in names if names[name] != name), key=len, reverse=True):
        kind, fingerprint = kind.replace(old, names[old]), fingerprint.replace(old, names[old])
    return replace(record, kind=kind, fingerprint=fingerprint)
