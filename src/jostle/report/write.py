"""Reports as files."""

from __future__ import annotations

from pathlib import Path

from jostle.errors import UsageError
from jostle.report.compare import compared
from jostle.report.gather import gather
from jostle.report.render import rendered, rendered_comparison
from jostle.storage.files import write_whole

REPORT, COMPARISON = "report.html", "comparison.html"


def write_report(folder: Path, out: Path | None = None) -> Path:
    """The page of one campaign, in its own folder unless another place is given."""
    place = _checked(out or folder / REPORT)
    return _written(place, rendered(gather(folder)))


def write_comparison(one: Path, other: Path, out: Path | None = None) -> Path:
    """The page of two campaigns, in the working folder unless another place is given."""
    place = _checked(out or Path(COMPARISON))
    return _written(place, rendered_comparison(compared(gather(one), gather(other), (one, other))))


def _checked(out: Path) -> Path:
    if out.is_dir():
        raise UsageError(f"--out {out} is a folder: give the name of a file, such as {out / REPORT}")
    return out


def _written(out: Path, page: str) -> Path:
    if not out.parent.is_dir():
        raise UsageError(f"--out {out}: there is no folder {out.parent}: make it first")
    write_whole(out, page.encode())
    return out
