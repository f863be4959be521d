"""What came of each node of models that were compared as they are, for a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from jostle.cli.terminal import say
from jostle.frameworks.campaign.node_table import Distance, ModelCount, NodeRow, NodeTable
from jostle.triage.words import counted
from jostle.visible import visible

SHOWN = 30  # rows: all of a small model, else those that are farthest off
MOST_NAMED = 10  # nodes without counterpart of one kind


def print_nodes(console: Console, table: NodeTable) -> None:
    """Distances in units of the tolerance by node and backend, and what was not compared."""
    if not table.rows:
        return
    backends = list(dict.fromkeys(name for row in table.rows for name in row.distances))
    several = len(table.models) > 1
    shown = Table(box=None, padding=(0, 2))
    for heading in (*(("model",) if several else ()), "node", "operators", *backends):
        shown.add_column(heading)
    for row in _shown(table.rows):
        cells = [visible(row.node), ", ".join(dict.fromkeys(row.operators)), *_cells(row, backends)]
        shown.add_row(*map(escape, [*((visible(row.model),) if several else ()), *cells]))
    console.print(shown, soft_wrap=True)
    say(console, "distances in units of the tolerance: above 1 is more than rounding explains, ! is a finding")
    if len(table.rows) > SHOWN:
        say(console, f"the {SHOWN} farthest off of {len(table.rows):,} rows; all are in nodes.json")
    for model in table.models:
        for line in _count(model):
            say(console, line)


def _shown(rows: tuple[NodeRow, ...]) -> list[NodeRow]:
    """In the order of the model."""
    farthest = {id(row) for row in sorted(rows, key=lambda row: row.worst, reverse=True)[:SHOWN]}
    return [row for row in rows if id(row) in farthest]


def _cells(row: NodeRow, backends: list[str]) -> Iterator[str]:
    for name in backends:
        yield _text(row.distances.get(name, "not run")) + (" !" if name in row.wrong else "")


def _text(distance: Distance) -> str:
    return visible(distance) if isinstance(distance, str) else f"{distance:.2g}"


def _count(model: ModelCount) -> Iterator[str]:
    yield (
        f"{model.model}: compared {model.compared:,} of {counted(model.nodes, 'node')}; {model.folded:,} compute "
        "nothing at run time (constants, shapes, what passes its input on)"
    )
    by_reason: dict[str, list[str]] = {}
    for node, reason in model.left_out.items():
        by_reason.setdefault(reason, []).append(node)
    yield from _left_out(by_reason)


def _left_out(by_reason: Mapping[str, list[str]]) -> Iterator[str]:
    for reason, nodes in by_reason.items():
        more = f" and {len(nodes) - MOST_NAMED:,} more" if len(nodes) > MOST_NAMED else ""
        yield f"  not compared, no counterpart of {reason}: {', '.join(nodes[:MOST_NAMED])}{more}"
