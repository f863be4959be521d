"""Reports as files: one campaign, or two side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from jostle.errors import UsageError, WriteFailed
from jostle.report.compare import compared
from jostle.report.contents import Contents
from jostle.report.gather import gather
from jostle.report.render import rendered, rendered_comparison
from jostle.storage.campaign_folder import campaign_in
from jostle.storage.class_names import campaign_class_names, read_class_names, unnamed_classes
from jostle.storage.files import OF_THE_DISK, write_whole

REPORT, COMPARISON = "report.html", "comparison.html"


def contents_of(folder: Path, classes: Path | None = None) -> Contents:
    """All that a page shows of the campaign in this folder; refused if there is none."""
    record = campaign_in(folder)
    names = campaign_class_names(folder) if classes is None else read_class_names(classes)
    contents = gather(folder, record, names, renamed=classes is not None)
    unnamed = () if classes is None else unnamed_classes(classes, names, contents.classes)
    return replace(contents, notes=(*unnamed, *contents.notes))


def write_report(
    folder: Path,
    out: Path | None = None,
    classes: Path | None = None,
    note: Callable[[str], None] = lambda text: None,
) -> Path:
    """The page of one campaign, in its own folder unless another place is given; `note` is told what is amiss."""
    place, contents = _checked(out or folder / REPORT), contents_of(folder, classes)
    _tell(note, contents)
    return _written(place, rendered(contents))


def write_comparison(
    one: Path,
    other: Path,
    out: Path | None = None,
    classes: Path | None = None,
    note: Callable[[str], None] = lambda text: None,
) -> Path:
    """The page of two campaigns, in the working folder unless another place is given."""
    place = _checked(out or Path(COMPARISON))
    contents = contents_of(one, classes), contents_of(other, classes)
    _tell(note, *contents)
    return _written(place, rendered_comparison(compared(*contents, (one, other))))


def _tell(note: Callable[[str], None], *contents: Contents) -> None:
    """Each note of all contents, once."""
    for text in dict.fromkeys(text for some in contents for text in some.notes):
        note(text)


def _checked(out: Path) -> Path:
    if out.is_dir():
        raise UsageError(f"--out {out} is a folder: give the name of a file, such as {out / REPORT}")
    return out


def _written(out: Path, page: str) -> Path:
    if not out.parent.is_dir():
        raise UsageError(f"--out {out}: there is no folder {out.parent}: make it first")
    try:
        write_whole(out, page.encode())
    except WriteFailed as failure:  # its advice is for a campaign, and no campaign goes on by a report
        error = failure.__cause__
        reason = (error.strerror if isinstance(error, OSError) else None) or failure
        if isinstance(error, OSError) and error.errno in OF_THE_DISK:
            raise WriteFailed(f"cannot write the report {out}: {reason}; make room, or give another --out") from failure
        raise UsageError(
            f"cannot write the report {out}: {reason}; give a place that can be written as --out"
        ) from error
    return out
