"""Curves over several seeds of randomness as SVG pictures, the same bytes for the same figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from math import ceil
from statistics import median

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

WIDTH, HEIGHT = 4.2, 3.4  # inches of one panel
IN_A_ROW, TICKS = 3, 5  # panels, and at most so many marks across one
STYLE = {"svg.hashsalt": "jostle", "svg.fonttype": "none", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3}


@dataclass(frozen=True)
class Curve:
    """One line: the median of all runs at each point, in a band from the smallest to the largest."""

    label: str
    points: Sequence[float]
    runs: Sequence[Sequence[float]]  # of each seed of randomness, a value at each point


def line_chart(panels: Mapping[str, Sequence[Curve]], across: str, up: str) -> bytes:
    """A picture with a panel for each title, up to three in a row; labels are explained once, below."""
    columns = len(panels) if len(panels) <= IN_A_ROW else 2
    rows = ceil(len(panels) / columns)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH * columns, HEIGHT * rows), layout="constrained")
        every = figure.subplots(rows, columns, squeeze=False).ravel()
        for unused in every[len(panels) :]:
            unused.set_axis_off()
        for axes, (title, curves) in zip(every, panels.items(), strict=False):
            axes.set(title=title, xlabel=across, ylabel=up)
            axes.xaxis.set_major_locator(MaxNLocator(TICKS, integer=True))
            axes.xaxis.set_major_formatter("{x:,.0f}")
            for curve in curves:
                _draw(axes, curve)
        handles, labels = every[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 3 * columns))
        picture = BytesIO()
        figure.savefig(picture, format="svg", metadata={"Date": None, "Creator": None})
        return picture.getvalue()


def _draw(axes: matplotlib.axes.Axes, curve: Curve) -> None:
    at_each_point = list(zip(*curve.runs, strict=True))
    (line,) = axes.plot(curve.points, [median(values) for values in at_each_point], label=curve.label, linewidth=1.4)
    low, high = [min(values) for values in at_each_point], [max(values) for values in at_each_point]
    axes.fill_between(curve.points, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
