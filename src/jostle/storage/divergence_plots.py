"""Plots of where twins depart from their model: one for each finding, and one for all of a campaign."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jostle.storage.beginnings import Beginnings, beginnings, divergences
from jostle.storage.files import write_whole
from jostle.storage.finding_record import Divergence, LayerDivergence
from jostle.storage.findings import FINDINGS, recorded
from jostle.storage.layer_chart import ChartRow, LayerChart, drawn_charts
from jostle.storage.pictures import as_png

PLOT = "divergence.png"
MOST_LAYERS = 300  # in one chart: the first ones, and of all others those that it begins in
BAND = (0.1, 0.5, 0.9)  # shares of the findings
AXIS = "root mean square of the difference, in units of the layer's scale"
ON_SEEDS = "95 % of the seeds are below"


def draw_divergences(campaign: Path) -> None:
    """A plot for every finding of twins that has none yet, and one for all of them if there are new ones."""
    found = [(folder, one) for folder, record in recorded(campaign / FINDINGS) for one in divergences([record])]
    new = [(folder, one) for folder, one in found if one.layers and not (folder / PLOT).exists()]
    for folder, one in new:
        write_whole(folder / PLOT, as_png(drawn_charts([chart_of_finding(one, folder.name)])))
    if new:
        charts = [chart_of_all(some) for some in beginnings(one for _, one in found if one.layers)]
        write_whole(campaign / PLOT, as_png(drawn_charts(charts)))


def chart_of_finding(divergence: Divergence, name: str) -> LayerChart:
    """One finding beside what the seeds show."""
    rows = [
        ChartRow(one.layer, one.on_seeds, one.value, one.value, one.value, marked=one.layer == divergence.begins)
        for one in divergence.layers
    ]
    title = f"model and {Path(divergence.twin).name}: {_where_it_begins(divergence)}"
    return LayerChart(title, name, ON_SEEDS, "this input", AXIS, _few(rows))


def chart_of_all(some: Beginnings) -> LayerChart:
    """All findings of one twin, and how many begin in each layer."""
    by_layer: dict[str, list[LayerDivergence]] = {}
    for divergence in some.divergences:
        for one in divergence.layers:
            by_layer.setdefault(one.layer, []).append(one)
    counts, most = some.layers, max(some.layers.values())
    rows: list[ChartRow] = []
    for layer, layers in by_layer.items():
        low, middle, high = (_quantile([one.value for one in layers], share) for share in BAND)
        note = f"begins in {counts[layer]}" if counts[layer] else ""
        rows.append(ChartRow(layer, layers[0].on_seeds, low, middle, high, note, counts[layer] == most))
    title = f"model and {some.name}: {_counted(len(some.divergences))}"
    beyond = f"{some.beyond_seeds} of them are far beyond what the seeds show"
    return LayerChart(title, beyond, ON_SEEDS, "median of findings, 10 to 90 %", AXIS, _few(rows))


def _where_it_begins(divergence: Divergence) -> str:
    if divergence.begins is None:
        return "no layer differs beyond rounding"
    how = "far beyond what the seeds show" if divergence.beyond_seeds else "hardly further than on the seeds"
    return f"begins in {divergence.begins}, {how}"


def _quantile(values: Sequence[float], share: float) -> float:
    """Of numbers among which some may be infinite."""
    return sorted(values)[round(share * (len(values) - 1))]


def _few(rows: Sequence[ChartRow]) -> list[ChartRow]:
    """As many as a picture holds."""
    return [row for number, row in enumerate(rows) if number < MOST_LAYERS or row.marked or row.note]


def _counted(findings: int) -> str:
    return "1 finding" if findings == 1 else f"{findings:,} findings"
