"""Our operators for those of ONNX that combine elements along axes, or put them in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jostle.frameworks.importing.onnx_reading import Counterpart, NoCounterpart, Read, Reading, axis_of, numbers

REDUCED = {
    "ReduceSum": "sum",
    "ReduceMean": "mean",
    "ReduceProd": "prod",
    "ReduceMax": "max",
    "ReduceMin": "min",
    "ReduceL1": "l1_norm",
    "ReduceL2": "l2_norm",
    "ReduceLogSumExp": "logsumexp",
}
OF_BOOL = {"max": "any", "min": "all"}


def _reduced(operator: str, before: str | None = None) -> Counterpart:
    def add(g: Reading, node: Read) -> Sequence[str]:
        x = g.tensor(node.inputs[0])
        x = x if before is None else g.add(before, x)
        axes = numbers(g, node, "axes", 1)
        if not axes and node.attributes.get("noop_with_empty_axes", 0):
            return [x]
        chosen = sorted(axis_of(axis, g.type(x).rank) for axis in axes or range(g.type(x).rank))
        chosen_operator = OF_BOOL.get(operator, operator) if g.type(x).dtype == "bool" else operator
        return [g.add(chosen_operator, x, axes=chosen, keepdims=bool(node.attributes.get("keepdims", 1)))]

    return add


def _arg(operator: str) -> Counterpart:
    def add(g: Reading, node: Read) -> Sequence[str]:
        node.only(select_last_index=0)
        x = g.tensor(node.inputs[0])
        axis = axis_of(node.attributes.get("axis", 0), g.type(x).rank)
        return [g.add(operator, x, axis=axis, keepdims=bool(node.attributes.get("keepdims", 1)))]

    return add


def _softmax(operator: str) -> Counterpart:
    def add(g: Reading, node: Read) -> Sequence[str]:
        x = g.tensor(node.inputs[0])
        rank = g.type(x).rank
        axis = axis_of(node.attributes.get("axis", -1 if node.opset >= 13 else 1), rank)
        if node.opset < 13 and axis != rank - 1:
            raise NoCounterpart(f"{node.kind} of opset {node.opset} over several axes")
        return [g.add(operator, x, axis=axis)]

    return add


def _cumsum(g: Reading, node: Read) -> Sequence[str]:
    x = g.tensor(node.inputs[0])
    flags = {name: bool(node.attributes.get(name, 0)) for name in ("exclusive", "reverse")}
    return [g.add("cumsum", x, axis=axis_of(g.whole(node, 1)[0], g.type(x).rank), **flags)]


def _cumprod(g: Reading, node: Read) -> Sequence[str]:
    node.only(exclusive=0, reverse=0)
    x = g.tensor(node.inputs[0])
    return [g.add("cumprod", x, axis=axis_of(g.whole(node, 1)[0], g.type(x).rank))]


def _topk(g: Reading, node: Read) -> Sequence[str]:
    node.only(sorted=1)
    x = g.tensor(node.inputs[0])
    axis = axis_of(node.attributes.get("axis", -1), g.type(x).rank)
    given = {"k": g.whole(node, 1)[0], "axis": axis, "largest": bool(node.attributes.get("largest", 1))}
    return [g.add("topk_values", x, **given), g.add("topk_indices", x, **given)]


REDUCTIONS: Mapping[str, Counterpart] = {
    **{kind: _reduced(operator) for kind, operator in REDUCED.items()},
    "ReduceSumSquare": _reduced("sum", before="square"),
    "ArgMax": _arg("argmax"),
    "ArgMin": _arg("argmin"),
    "Softmax": _softmax("softmax"),
    "LogSoftmax": _softmax("log_softmax"),
    "CumSum": _cumsum,
    "CumProd": _cumprod,
    "TopK": _topk,
}
