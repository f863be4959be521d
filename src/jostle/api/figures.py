"""Pictures of a campaign as plotly figures, from what its report shows."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

from PIL import Image

from jostle.errors import UsageError
from jostle.options.choices import chosen
from jostle.report.contents import Contents, Curve, DefectCard, Picture, SheetImage

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def figure_of(what: str, contents: Contents, defect: str | None = None) -> Figure:
    """The figure of this name; those of one defect show the first, unless another is named."""
    chosen("figure", what, [*OF_CAMPAIGN, *OF_DEFECT])
    if what in OF_CAMPAIGN:
        return OF_CAMPAIGN[what](contents)
    return OF_DEFECT[what](_card(contents, defect), contents.sheets)


def _card(contents: Contents, name: str | None) -> DefectCard:
    if not contents.defects:
        raise UsageError("there is no defect to show: nothing was found")
    return next(card for card in contents.defects if name is None or card.name == name)


def _figure(title: str, traces: Sequence[Any], **layout: Any) -> Figure:
    from plotly.graph_objects import Figure

    figure: Figure = Figure(list(traces))
    return figure.update_layout(title=title, template="plotly_white", **layout)


def _matrix(contents: Contents) -> Figure:
    """What is taken for what, and how often."""
    from plotly.graph_objects import Heatmap

    pairs = Counter((one.label, one.said) for one in contents.findings if one.label and one.said)
    labels = sorted({pair[0] for pair in pairs}, key=_in_order)
    said = sorted({pair[1] for pair in pairs}, key=_in_order)
    counts = [[pairs[label, one] or None for one in said] for label in labels]
    trace = Heatmap(x=said, y=labels, z=counts, colorscale="Blues", texttemplate="%{z}", showscale=False)
    axes = {"xaxis": {"title": "taken for", "type": "category"}, "yaxis": {"title": "label", "type": "category"}}
    return _figure("Findings by label", [trace] if pairs else [], **axes)


def _in_order(label: str) -> tuple[int, float, str]:
    """Numbers by size, then names by the alphabet."""
    return (0, float(label), label) if label.isdecimal() else (1, 0.0, label)


def _curves(title: str, curves: Sequence[Curve]) -> Figure:
    from plotly.graph_objects import Scatter

    traces = [Scatter(x=curve.executions, y=curve.values, name=curve.name, mode="lines") for curve in curves]
    return _figure(title, traces, xaxis_title="executions", showlegend=True)


def _coverage(contents: Contents) -> Figure:
    return _curves("Coverage", contents.curves)


def _progress(contents: Contents) -> Figure:
    return _curves("Inputs kept and findings", contents.growth)


def _mutations(contents: Contents) -> Figure:
    from plotly.graph_objects import Bar

    names = [one.name for one in contents.yields]
    figures = {
        "findings": [one.findings for one in contents.yields],
        "inputs kept": [one.kept for one in contents.yields],
    }
    traces = [Bar(x=names, y=values, name=name) for name, values in figures.items()]
    return _figure("What mutations gave", traces, barmode="group", yaxis_type="log")


def _lineage(card: DefectCard, sheets: Sequence[SheetImage]) -> Figure:
    """The way from the seed to the finding, a picture for each step."""
    from plotly.graph_objects import Image as ImageTrace
    from plotly.subplots import make_subplots

    stages = [stage for stage in card.stages if stage.picture is not None]
    if not stages:
        raise UsageError(f"{card.name} has no pictures of its steps: lineage is for images")
    figure: Figure = make_subplots(1, len(stages), subplot_titles=[stage.words for stage in stages])
    for column, stage in enumerate(stages, 1):
        assert stage.picture is not None
        figure.add_trace(ImageTrace(source=_cut_out(stage.picture, sheets)), 1, column)
    figure.update_xaxes(visible=False).update_yaxes(visible=False)
    return figure.update_layout(title=card.title, template="plotly_white")


def _cut_out(picture: Picture, sheets: Sequence[SheetImage]) -> str:
    """One picture of a sheet, as a data: URL."""
    content = base64.b64decode(sheets[picture.sheet].source.partition(",")[2])
    box = (picture.x, picture.y, picture.x + picture.width, picture.y + picture.height)
    out = BytesIO()
    Image.open(BytesIO(content)).convert("RGB").crop(box).save(out, "png")
    return f"data:image/png;base64,{base64.b64encode(out.getvalue()).decode()}"


def _layers(card: DefectCard, sheets: Sequence[SheetImage]) -> Figure:
    """How far a twin is from the model, layer by layer."""
    from plotly.graph_objects import Scatter

    if card.divergence is None or not card.divergence.layers:
        raise UsageError(f"{card.name} is not of a twin whose layers correspond to the model's: layers shows such")
    layers = card.divergence.layers
    names = [one.layer for one in layers]
    lines = {"this finding": [one.middle for one in layers], "seeds": [one.on_seeds for one in layers]}
    traces = [Scatter(x=names, y=values, name=name, mode="lines+markers") for name, values in lines.items()]
    return _figure(card.divergence.told, traces, yaxis_type="log", yaxis_title="divergence")


OF_CAMPAIGN: Mapping[str, Callable[[Contents], Figure]] = {
    "matrix": _matrix,
    "coverage": _coverage,
    "progress": _progress,
    "mutations": _mutations,
}
OF_DEFECT: Mapping[str, Callable[[DefectCard, Sequence[SheetImage]], Figure]] = {
    "lineage": _lineage,
    "layers": _layers,
}
