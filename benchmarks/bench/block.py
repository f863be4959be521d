"""The block of `docs/results.md` that tells what one script measured; nobody edits it."""

from __future__ import annotations

from pathlib import Path

from bench.kept import Kept, read_kept
from bench.rows import Row
from jostle.errors import UsageError
from jostle.storage.files import write_whole
from marked_sections import marked, sections, with_section
from paper.markdown import markdown_table

PAGE = Path("docs") / "results.md"
HEADINGS = ("claim", "bar", "here", "beside it, in the same run", "runs")


def block_name(script: str) -> str:
    """What the marks around a script's block say."""
    return f"measured: {script}"


def block_of(script: str, kept: Kept) -> str:
    """A table of its rows, and where, when and how they were measured."""
    table = markdown_table(HEADINGS, [_cells(row) for row in kept.rows])
    written = f"*Written by `make bench ONLY={script}`, do not edit; {kept.conditions}; {kept.minutes:.1f} minutes.*"
    return f"{table}\n\n{written}"


def check_place(home: Path, script: str) -> None:
    """Refuses a script that has no place on the page, before it measures for an hour."""
    if block_name(script) not in sections((home / PAGE).read_text(encoding="utf-8")):
        lines = "and ".join(f"the line {line} " for line in marked(block_name(script), "").split("\n") if line)
        raise UsageError(f"{PAGE} has no block for {script}: write {lines}where it shall stand, one empty line between")


def renew_block(home: Path, script: str) -> None:
    """Writes what is kept of a script into its block; all other lines of the page stay."""
    path = home / PAGE
    block = block_of(script, read_kept(home, script))
    page = with_section(path.read_text(encoding="utf-8"), block_name(script), block)
    write_whole(path, page.encode())


def _cells(row: Row) -> list[str]:
    """As the rest of the page has it: bold where the bar was reached, and said where it was not by every run."""
    reached = row.verdict.startswith("reached")
    here = f"**{row.here}**" if reached else str(row.here)
    doubt = f": {row.verdict}" if row.verdict not in ("", "reached") else ""
    return [row.claim, row.asked, here + doubt, str(row.beside or ""), row.runs]
