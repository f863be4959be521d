"""A campaign's defects as files for continuous integration; its folder is read only, and nothing of it executed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from jostle import __version__
from jostle.commands.triage import Triaged, triaged
from jostle.errors import UsageError
from jostle.export.exported import LONGEST_NAME, ExportedCampaign, exported_defects, line_of
from jostle.export.junit import junit
from jostle.export.location import location_of, seen_from
from jostle.export.markdown import markdown
from jostle.export.sarif import sarif
from jostle.held import shown_name
from jostle.report.gather import workload_of
from jostle.report.sentences import found_sentence, workload_sentence
from jostle.storage.campaign_folder import campaign_in
from jostle.storage.campaign_record import CampaignRecord
from jostle.storage.files import Appended, write_whole
from jostle.storage.journal import JOURNAL, read_journal
from jostle.storage.status import read_status
from jostle.triage.gate import GateOptions, refuse_unknown_kinds
from jostle.triage.words import counted

# By option, what makes the content of its file.
FORMATS: Mapping[str, Callable[[ExportedCampaign], bytes]] = {"junit": junit, "sarif": sarif, "markdown": markdown}


def read_exported(folder: Path, here: Path) -> tuple[Triaged, ExportedCampaign]:
    """What there is to export of the campaign in this folder, seen from a working folder."""
    record, result = campaign_in(folder), triaged(folder)
    workload = workload_of(record, read_journal(folder / JOURNAL), read_status(folder))
    model = record.all_settings.get("model")
    source = location_of(model, record.origin.folder, here) if isinstance(model, str) else None
    sentences = workload_sentence(workload), found_sentence(result.defects, result.findings)
    exported = ExportedCampaign(
        version=__version__,
        model=line_of(_called(record, workload.subject), LONGEST_NAME),
        source=source,
        folder=seen_from(str(folder), str(here), here),
        sentences=tuple(map(line_of, sentences)),
        notes=tuple(_notes(result)),
        defects=tuple(exported_defects(result.defects, folder, source, record)),
    )
    return result, exported


def refuse_unknown_of(campaign: Path, result: Triaged, options: GateOptions) -> None:
    """Refuses kinds in a gate that no defect of this campaign can have."""
    oracles = campaign_in(campaign).all_settings.get("oracle") or ()
    refuse_unknown_kinds(options, map(str, oracles), [defect.cause.kind for defect in result.defects])


def write_formats(exported: ExportedCampaign, files: Mapping[str, Path]) -> list[Path]:
    """Writes a file for each format; all places are looked at before the first is written to."""
    for format, path in files.items():
        if path.is_dir():
            raise UsageError(f"--{format} {path} is a folder: give the name of a file")
        if not path.parent.is_dir():
            raise UsageError(f"--{format} {path}: there is no folder {path.parent}: make it first")
    if len(set(files.values())) < len(files):
        raise UsageError("two formats cannot go to one file: give each a name of its own")
    for format, path in files.items():
        write_whole(path, FORMATS[format](exported))
    return list(files.values())


def append_summary(exported: ExportedCampaign, path: Path) -> None:
    """Puts the Markdown behind what a step's summary says already."""
    if not path.parent.is_dir() or path.is_dir():
        raise UsageError(f"GITHUB_STEP_SUMMARY {path} is no file that can be written: unset it, or make its folder")
    summary = Appended(path)
    summary.append(markdown(exported))
    summary.close()


def _called(record: CampaignRecord, subject: str) -> str:
    """What was tested, as the user named it."""
    model = record.all_settings.get("model")
    return shown_name(model) if isinstance(model, str) else subject


def _notes(result: Triaged) -> Iterator[str]:
    if result.at_work:
        yield "The campaign is still running."
    elif result.unfinished:
        yield f"{counted(result.unfinished, 'finding')} not finished: let the campaign go on to have the model asked."
    if result.unreadable:
        yield f"{counted(result.unreadable, 'finding')} cannot be read and left out."
