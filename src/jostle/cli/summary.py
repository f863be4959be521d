"""What came of a campaign, for a person."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from jostle.campaign import Summary
from jostle.cli.display import corpus_text, coverage_text
from jostle.records import MODEL, TWIN

SHOWN = 8  # findings listed by name


def print_summary(console: Console, summary: Summary, folder: Path) -> None:
    rate = summary.executions / max(summary.seconds, 1e-9)
    table = Table(show_header=False, box=None, padding=(0, 2))
    table.add_row("[bold]executions[/bold]", f"{summary.executions:,} in {summary.seconds:,.1f} s ({rate:,.0f}/s)")
    table.add_row("[bold]coverage[/bold]", coverage_text(summary.coverage))
    table.add_row("[bold]corpus[/bold]", corpus_text(summary.corpus, summary.admission_rate))
    if TWIN in summary.rates:
        table.add_row("[bold]speed[/bold]", _speeds(summary))
    for kind, count in sorted(summary.findings.items()):
        table.add_row(
            f"[bold red]{kind}[/bold red]", f"{count:,} distinct, shown by {summary.violations[kind]:,} inputs"
        )
    if not summary.findings:
        table.add_row("[bold green]findings[/bold green]", "none")
    table.add_row("[bold]written to[/bold]", escape(str(folder)))
    console.print(table, soft_wrap=True)
    _print_examples(console, folder)


def _speeds(summary: Summary) -> str:
    """Inputs per second of the model and its twin side by side."""
    model, twin = summary.rates[MODEL], summary.rates[TWIN]
    return f"model {model:,.0f}/s, twin {twin:,.0f}/s: the twin is {twin / model:.2f} times as fast"


def _print_examples(console: Console, folder: Path) -> None:
    """The first findings of each kind, with where to look."""
    told = [(path.parent, json.loads(path.read_text())) for path in sorted(folder.glob("findings/*/finding.json"))]
    shown: Counter[str] = Counter()
    for place, finding in told:
        shown[finding["kind"]] += 1
        if shown[finding["kind"]] <= SHOWN:
            doubt = "" if finding["shown again alone"] else " (in its batch, not when run alone)"
            line = f"  {place.name}: {finding['summary']}{doubt}"
            console.print(line, highlight=False, soft_wrap=True, markup=False)
    left = sum(max(0, count - SHOWN) for count in shown.values())
    if left:
        console.print(f"  … and {left:,} more in {folder / 'findings'}", highlight=False, soft_wrap=True, markup=False)
