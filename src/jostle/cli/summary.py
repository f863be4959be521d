"""What came of a campaign, for a person."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from jostle.cli.display import corpus_text, coverage_text, failing_text, findings_text, rate_text
from jostle.cli.triage import print_defects
from jostle.commands.triage import Triaged
from jostle.records import MODEL
from jostle.step_records import Summary
from jostle.storage.beginnings import beginnings, divergences
from jostle.storage.finding_record import FinishedArray
from jostle.storage.findings import FINDINGS, FLAKY, recorded
from jostle.triage.words import counted
from jostle.visible import visible

SHOWN = 10  # defects, those that matter most


def print_summary(console: Console, summary: Summary, result: Triaged, more: Mapping[str, str]) -> None:
    """What came of a campaign: its defects, and figures with more rows by their headings."""
    folder = result.folder
    if result.defects:
        print_defects(console, result, SHOWN)
    rate = summary.executions / max(summary.seconds, 1e-9)
    table = Table(show_header=False, box=None, padding=(0, 2))
    table.add_row("[bold]executions[/bold]", f"{summary.executions:,} in {summary.seconds:,.1f} s ({rate_text(rate)})")
    table.add_row("[bold]coverage[/bold]", coverage_text(summary.coverage, summary.counted))
    table.add_row("[bold]corpus[/bold]", corpus_text(summary.corpus, summary.admission_rate))
    for line in summary.in_vain.values():
        table.add_row("[bold yellow]in vain[/bold yellow]", escape(visible(line)))
    for heading, text in more.items():
        table.add_row(f"[bold]{heading}[/bold]", escape(text))
    if MODEL in summary.rates and len(summary.rates) > 1:
        table.add_row("[bold]speed[/bold]", escape(_speeds(summary)))
    for kind in sorted(summary.findings.keys() | summary.unconfirmed.keys()):
        count, inputs = summary.findings.get(kind, 0), summary.violations.get(kind, 0)
        shown = f"{count:,} distinct, shown by {counted(inputs, 'input')}"
        table.add_row(f"[bold red]{kind}[/bold red]", shown + _lost(summary.unconfirmed.get(kind, 0)))
    if summary.failing:
        table.add_row("[bold]failing tests[/bold]", failing_text(summary.failing_kept, summary.failing))
    if not summary.findings:
        table.add_row("[bold green]findings[/bold green]", "none")
    if summary.flaky:
        shown = f"{findings_text(summary.flaky)}: in a batch, but not when run alone (see {folder / FLAKY})"
        table.add_row("[bold yellow]flaky[/bold yellow]", escape(shown))
    found = list(recorded(folder / FINDINGS))
    finished = [record.finished for _, record in found if isinstance(record.finished, FinishedArray)]
    if any(one.minimised is not None for one in finished):
        table.add_row("[bold]changes[/bold]", _changes(finished))
    for some in beginnings(divergences(record for _, record in found)):
        table.add_row("[bold]begins[/bold]", escape(visible(str(some))))
    table.add_row("[bold]written to[/bold]", escape(visible(str(folder))))
    console.print(table, soft_wrap=True)


def _lost(count: int) -> str:
    return f"; {count:,} more do not show it when saved as images" if count else ""


def _changes(findings: list[FinishedArray]) -> str:
    """How far findings are from their seeds, before and after they were minimised; seeds that fail alone left out."""
    shrunk = [(one.change, one.minimised) for one in findings if one.minimised and one.change.euclidean > 0]
    if not shrunk:
        return "none"
    before, after = (median(sizes.relative for sizes in column) for column in zip(*shrunk, strict=True))
    return f"median relative L2 {before:.3f}, {after:.3f} when minimised"


def _speeds(summary: Summary) -> str:
    """Inputs per second of the model and of what it is compared with, side by side."""
    model = summary.rates[MODEL]
    others = {name: rate for name, rate in summary.rates.items() if name != MODEL}
    each = (f"{name} {rate:,.0f}/s ({rate / model:.2f} times as fast)" for name, rate in others.items())
    return ", ".join([f"model {model:,.0f}/s", *each])
