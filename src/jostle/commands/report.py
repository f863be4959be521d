"""Reports as files: one campaign, or two side by side."""

from __future__ import annotations

from pathlib import Path

from jostle.errors import UsageError
from jostle.report.compare import compared
from jostle.report.contents import Contents
from jostle.report.gather import gather
from jostle.report.render import rendered, rendered_comparison
from jostle.storage.campaign_folder import campaign_in
from jostle.storage.class_names import campaign_class_names, read_class_names
from jostle.storage.files import write_whole

REPORT, COMPARISON = "report.html", "comparison.html"


def contents_of(folder: Path, classes: Path | None = None) -> Contents:
    """All that a page shows of the campaign in this folder; refused if there is none."""
    record = campaign_in(folder)
    names = campaign_class_names(folder) if classes is None else read_class_names(classes)
    return gather(folder, record, names, renamed=classes is not None)


def write_report(folder: Path, out: Path | None = None, classes: Path | None = None) -> Path:
    """The page of one campaign, in its own folder unless another place is given."""
    place = _checked(out or folder / REPORT)
    return _written(place, rendered(contents_of(folder, classes)))


def write_comparison(one: Path, other: Path, out: Path | None = None, classes: Path | None = None) -> Path:
    """The page of two campaigns, in the working folder unless another place is given."""
    place = _checked(out or Path(COMPARISON))
    contents = contents_of(one, classes), contents_of(other, classes)
    return _written(place, rendered_comparison(compared(*contents, (one, other))))


def _checked(out: Path) -> Path:
    if out.is_dir():
        raise UsageError(f"--out {out} is a folder: give the name of a file, such as {out / REPORT}")
    return out


def _written(out: Path, page: str) -> Path:
    if not out.parent.is_dir():
        raise UsageError(f"--out {out}: there is no folder {out.parent}: make it first")
    write_whole(out, page.encode())
    return out
