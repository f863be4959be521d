"""`jostle frameworks --no-mutation` as a user runs it: models of one's own, node by node."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from running import in_this_process as run


def a_model(folder: Path) -> Path:
    """One node that ONNX Runtime computes too coarsely, one that nobody but ONNX Runtime has, and sizes left open."""
    x = helper.make_tensor_value_info("x", TensorProto.DOUBLE, ["batch", "width"])
    y = helper.make_tensor_value_info("y", TensorProto.DOUBLE, ["batch", "width"])
    nodes = [
        helper.make_node("Shrink", ["x"], ["s"], name="shrink", lambd=0.5, bias=0.0),
        helper.make_node("Cast", ["x"], ["f"], name="narrow", to=TensorProto.FLOAT),
        helper.make_node("Hardmax", ["f"], ["m"], name="hardest"),
        helper.make_node("Cast", ["m"], ["d"], name="widen", to=TensorProto.DOUBLE),
        helper.make_node("Add", ["s", "d"], ["y"], name="sum"),
    ]
    graph = helper.make_graph(nodes, "graph", [x], [y])
    path = folder / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), str(path))
    np.savez(folder / "given.npz", x=np.array([[0.5 + 1e-9, 2.0, -3.0]]))
    return path


@pytest.mark.slow
def test_every_node_of_a_model_is_told_with_its_distance_and_nodes_without_counterpart_by_name(tmp_path: Path) -> None:
    command = ("frameworks", str(a_model(tmp_path)), "--no-mutation", "--backends", "onnxruntime",
               "--inputs", str(tmp_path / "given.npz"), "--out", str(tmp_path / "run"))  # fmt: skip
    done = run(*command)
    assert done.code == 1, done.err
    assert "compared 4 of 5 nodes" in done.out and "no counterpart of Hardmax: hardest" in done.out
    (script,) = (tmp_path / "run").glob("findings/*/reproduce.py")
    assert "Shrink" in script.read_text()

    again = run(*command, "--json")
    told = json.loads(again.out)["nodes"]
    rows = {row["node"]: row for row in told["rows"]}
    assert list(rows) == ["shrink", "narrow", "widen", "sum", "whole model"]
    assert rows["shrink"]["wrong"] == ["onnxruntime"] and rows["shrink"]["distances"]["onnxruntime"] > 1
    assert rows["sum"]["distances"]["onnxruntime"] <= 1
    assert told["models"][0]["left_out"] == {"hardest": "Hardmax"}
    assert "all nodes were compared before" in again.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "leaves the sizes of axes open: give --shape width=N"),
        (
            ("--shape", "width=3,height=2"),
            "--shape height: no model leaves a size of this name open; there are batch, width",
        ),
        (("--shape", "width=0"), "give NAME=SIZE"),
        (("--shape", "width=3", "--executions", "9"), "without --executions: leave it out"),
        (("--inputs", "other.npz"), "--inputs z: no model has an input of this name; there are x"),
        (("--inputs", "wide.npz"), "takes x as float64[any, any], and --inputs has float64[2]"),
        (("--inputs", "missing.npz"), "missing.npz"),
    ],
)
def test_what_cannot_be_compared_is_told_in_one_line(
    arguments: tuple[str, ...], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = a_model(tmp_path)
    monkeypatch.chdir(tmp_path)
    np.savez("other.npz", x=np.zeros((1, 2)), z=np.zeros(3))
    np.savez("wide.npz", x=np.zeros(2))
    done = run("frameworks", str(model), "--no-mutation", *arguments, "--out", str(tmp_path / "run"))
    last = done.err.strip().splitlines()[-1]
    assert done.code == 4 and says in last and last.startswith("jostle: "), done.err
    assert not (tmp_path / "run").exists()
