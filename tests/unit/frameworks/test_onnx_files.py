"""ONNX files become graphs that compute the same, or are refused in one line."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from jostle.errors import ModelRefused
from jostle.frameworks.backends.onnx.programs import ONNXRUNTIME
from jostle.frameworks.backends.onnx.signals import prepare
from jostle.frameworks.backends.program import PREDICT, Unsupported, arrays_of
from jostle.frameworks.drawing import single
from jostle.frameworks.graph import CONSTANT, INPUT, PARAMETER, Graph
from jostle.frameworks.importing.onnx_files import graph_from_onnx, partial_onnx
from jostle.frameworks.importing.onnx_inputs import GivenInputs, arrays_for, symbols_of
from jostle.frameworks.workers.backend_server import MISSING

Nodes = list[onnx.NodeProto]
RNG = np.random.default_rng(0)


def weights(**shapes: tuple[int, ...]) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    return {name: rng.uniform(0.1, 1, shape).astype(np.float32) for name, shape in shapes.items()}


def saved(
    folder: Path,
    nodes: Nodes,
    constants: dict[str, Any],
    shape: list[Any],
    outputs: tuple[str, ...] = ("y",),
    opset: int = 18,
) -> Path:
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    computed = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    arrays = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "graph", inputs, computed, arrays)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    path = folder / "model.onnx"
    path.write_bytes(onnx.shape_inference.infer_shapes(model).SerializeToString())
    return path


def agreed(path: Path, rng: np.random.Generator) -> Graph:
    """The graph of a file, having seen that it computes the same."""
    graph = graph_from_onnx(path, rng)
    session = onnxruntime.InferenceSession(path.read_bytes())
    names = [name for name, leaf in graph.leaves.items() if leaf.role == INPUT]
    fed = {one.name: graph.leaves[name].array for one, name in zip(session.get_inputs(), names, strict=True)}
    namespace: dict[str, Any] = dict(arrays_of(graph, PREDICT))
    exec(ONNXRUNTIME.program(graph, PREDICT), namespace)
    for name, wanted in zip(graph.outputs, session.run(None, fed), strict=True):
        got = namespace["result"][name]
        assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(got.astype(np.float64), wanted.astype(np.float64), rtol=1e-3, atol=1e-4)
    return graph


def convolutional() -> tuple[Nodes, dict[str, Any]]:
    """As exporters write it: the batch without a size, and the shape to flatten to computed."""
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], pads=[1, 1, 1, 1], kernel_shape=[3, 3]),
        helper.make_node("BatchNormalization", ["c1", "s", "t", "m", "v"], ["n1"]),
        helper.make_node("Relu", ["n1"], ["r1"]),
        helper.make_node("MaxPool", ["r1"], ["p1"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["p1", "w2"], ["c2"], auto_pad="SAME_UPPER", strides=[2, 2]),
        helper.make_node("AveragePool", ["c2"], ["p2"], kernel_shape=[2, 2], pads=[0, 0, 1, 1], count_include_pad=1),
        helper.make_node("Shape", ["p2"], ["shape"]),
        helper.make_node("Gather", ["shape", "zero"], ["size"], axis=0),
        helper.make_node("Unsqueeze", ["size", "first"], ["sizes"]),
        helper.make_node("Concat", ["sizes", "rest"], ["flat_shape"], axis=0),
        helper.make_node("Reshape", ["p2", "flat_shape"], ["flat"]),
        helper.make_node("Gemm", ["flat", "w3", "b3"], ["g"], transB=1),
        helper.make_node("Softmax", ["g"], ["y"], axis=-1),
    ]
    numbers = {"zero": np.array(0), "first": np.array([0]), "rest": np.array([-1])}
    arrays = weights(w1=(4, 3, 3, 3), b1=(4,), s=(4,), t=(4,), m=(4,), v=(4,), w2=(2, 4, 2, 2), w3=(5, 8), b3=(5,))
    return nodes, arrays | numbers


def test_a_convolutional_network_computes_the_same_with_the_batch_asked_for(tmp_path: Path) -> None:
    nodes, constants = convolutional()
    path = saved(tmp_path, nodes, constants, ["batch", 3, 8, 8])
    graph = agreed(path, RNG)
    assert graph.leaves["x"].array.shape == (2, 3, 8, 8)
    assert graph_from_onnx(path, RNG, GivenInputs({"batch": 1})).leaves["x"].array.shape == (1, 3, 8, 8)
    assert {"w1", "w2", "w3"} <= set(graph.named(PARAMETER))
    assert [node.operator for node in graph.nodes] == [
        *["conv", "batch_norm", "relu", "max_pool", "conv", "pad", "avg_pool", "reshape", "linear", "softmax"]
    ]


def test_an_attention_block_computes_the_same(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("LayerNormalization", ["x", "s", "t"], ["n"], axis=-1),
        helper.make_node("MatMul", ["n", "wq"], ["q"]),
        helper.make_node("MatMul", ["n", "wk"], ["k"]),
        helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["q", "kt"], ["scores"]),
        helper.make_node("Div", ["scores", "scale"], ["scaled"]),
        helper.make_node("Softmax", ["scaled"], ["shares"]),
        helper.make_node("MatMul", ["shares", "n"], ["mixed"]),
        helper.make_node("Add", ["mixed", "x"], ["sum"]),
        helper.make_node("Concat", ["sum", "x"], ["both"], axis=2),
        helper.make_node("Pow", ["both", "two"], ["squares"]),
        helper.make_node("ReduceMean", ["squares", "axes"], ["y"], keepdims=0),
    ]
    numbers = {"two": np.array(2), "axes": np.array([-1]), "scale": np.array(2, np.float32)}
    agreed(saved(tmp_path, nodes, weights(s=(4,), t=(4,), wq=(4, 4), wk=(4, 4)) | numbers, [2, 3, 4]), RNG)


@pytest.mark.parametrize(
    ("kind", "gates", "more"), [("RNN", 1, {}), ("LSTM", 4, {}), ("GRU", 3, {"linear_before_reset": 1})]
)
def test_recurrent_layers_compute_the_same_with_their_last_state(
    tmp_path: Path, kind: str, gates: int, more: dict[str, int]
) -> None:
    nodes = [helper.make_node(kind, ["x", "w", "r", "b"], ["y", "last"], hidden_size=3, **more)]
    arrays = weights(w=(1, 3 * gates, 4), r=(1, 3 * gates, 3), b=(1, 6 * gates))
    agreed(saved(tmp_path, nodes, arrays, [5, 2, 4], ("y", "last")), RNG)


@pytest.mark.parametrize(
    ("node", "constants"),
    [
        (("GlobalAveragePool", {}), {}),
        (("Flatten", {"axis": 2}), {}),
        (("PRelu", {}), {"a": np.full((3, 1, 1), 0.2, np.float32)}),
        (("Slice", {}), {"a": np.array([-1]), "b": np.array([-(2**63)]), "c": np.array([3]), "d": np.array([-2])}),
        (("Split", {"axis": 1}), {"a": np.array([2, 1])}),
        (("Clip", {}), {"a": np.array(0, np.float32)}),
        (("Gather", {"axis": 2}), {"a": np.array([[0, -1], [1, 1]])}),
        (("MaxPool", {"kernel_shape": [2, 2], "pads": [0, 1, 1, 0]}), {}),
        (("HardSigmoid", {}), {}),
        (("Dropout", {}), {}),
    ],
    ids=lambda one: one[0] if isinstance(one, tuple) else "",
)
def test_variants_of_operators_compute_the_same(
    tmp_path: Path, node: tuple[str, dict[str, Any]], constants: dict[str, Any]
) -> None:
    kind, attributes = node
    outputs = ("y", "z") if kind == "Split" else ("y",)
    nodes = [helper.make_node(kind, ["x", *constants], list(outputs), **attributes)]
    agreed(saved(tmp_path, nodes, constants, [2, 3, 4, 5], outputs), RNG)


SAMPLE = (
    "conv",
    "resize",
    "pad",
    "slice",
    "layer_norm",
    "group_norm",
    "conv_transpose",
    "max_pool",
    "argmax",
    "scatter",
)


@pytest.mark.parametrize("operator", SAMPLE)
def test_what_we_write_ourselves_computes_the_same_when_read(tmp_path: Path, operator: str) -> None:
    prepare()
    rng, compared = np.random.default_rng(2), 0
    for _ in range(4):
        graph = single(operator, rng)
        namespace: dict[str, Any] = dict(arrays_of(graph, PREDICT))
        try:
            exec(ONNXRUNTIME.program(graph, PREDICT), namespace)
        except Unsupported:
            continue
        except Exception as error:
            if type(error).__name__ in (*MISSING, "InvalidArgument"):
                continue
            raise
        path = tmp_path / "model.onnx"
        path.write_bytes(namespace["model"].SerializeToString())
        agreed(path, rng)
        compared += 1
    assert compared


def test_weights_of_whole_numbers_are_constants(tmp_path: Path) -> None:
    nodes = [helper.make_node("Gather", ["x", "rows"], ["y"])]
    graph = graph_from_onnx(saved(tmp_path, nodes, {"rows": np.array([1, 0])}, [2, 3]), RNG)
    assert graph.named(CONSTANT) == ["rows"]


def refusal(path: Path) -> str:
    with pytest.raises(ModelRefused) as caught:
        graph_from_onnx(path, RNG)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(path))
    return str(caught.value)


def test_everything_without_counterpart_is_listed(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Einsum", ["x"], ["e"], equation="ij->ji"),
        helper.make_node("Relu", ["e"], ["r"]),
        helper.make_node("Det", ["r"], ["d"]),
        helper.make_node("ArgMax", ["x"], ["a"], select_last_index=1),
        helper.make_node("Cast", ["a"], ["y"], to=TensorProto.FLOAT),
    ]
    path = saved(tmp_path, nodes, {}, [2, 2])
    assert refusal(path).endswith("no counterpart: ArgMax with select_last_index=1, Det, Einsum")


def test_data_in_other_files_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, [helper.make_node("Add", ["x", "w"], ["y"])], weights(w=(3,)), [3])
    model = onnx.load(path)
    (tensor,) = model.graph.initializer
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../../../../etc/passwd")
    path.write_bytes(model.SerializeToString())
    assert "another file" in refusal(path)


def test_inputs_without_sizes_and_huge_ones_are_refused(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    assert "give --shape width=N" in refusal(saved(tmp_path, nodes, {}, ["batch", "width"]))
    assert "too large" in refusal(saved(tmp_path, nodes, {}, [10**6, 10**7]))


def test_axes_get_the_sizes_that_were_given_and_the_batch_has_one_size_wherever_its_name_stands(tmp_path: Path) -> None:
    shapes = {"x": ["batch", "width"], "y": ["width", "batch", 3], "z": [-1, "?", None]}
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    assert symbols_of(inputs) == {"batch", "width", "z.0", "z.1", "z.2"}
    arrays = arrays_for(inputs, GivenInputs({"width": 5, "z.1": 4, "z.2": 6}), RNG)
    assert {name: array.shape for name, array in arrays.items()} == {"x": (2, 5), "y": (5, 2, 3), "z": (2, 4, 6)}


def test_what_has_a_counterpart_is_read_on_values_of_the_rest(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("NonZero", ["x"], ["places"]),  # whose size is known only when the model runs
        helper.make_node("Cast", ["places"], ["floats"], to=TensorProto.FLOAT),
        helper.make_node("Cast", ["floats"], ["halves"], to=TensorProto.FLOAT16),
        helper.make_node("Neg", ["halves"], ["negated"], name="of_halves"),
        helper.make_node("Cast", ["negated"], ["back"], to=TensorProto.FLOAT),
        helper.make_node("Relu", ["back"], ["y"]),
    ]
    imported = partial_onnx(saved(tmp_path, nodes, {}, [2, 2]), RNG)
    assert [node.operator for node in imported.graph.nodes] == ["relu"]
    assert set(imported.left_out) == {"places", "halves", "of_halves", "back"}
    assert imported.left_out["of_halves"] == "Neg of halves, which our graphs do not hold"
    assert imported.origins == {imported.graph.nodes[0].name: "y"} and imported.folded == 1


def test_results_that_are_huge_are_refused(tmp_path: Path) -> None:
    nodes = [helper.make_node("Expand", ["x", "shape"], ["y"])]
    assert "more than this machine's memory is enough for" in refusal(
        saved(tmp_path, nodes, {"shape": np.array([2**20, 2**20])}, [1, 1])
    )


def test_weights_that_lie_about_their_size_are_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, [helper.make_node("Add", ["x", "w"], ["y"])], weights(w=(3,)), [3])
    model = onnx.load(path)
    model.graph.initializer[0].dims[0] = 2**40
    path.write_bytes(model.SerializeToString())
    refusal(path)


@pytest.mark.parametrize("content", [b"", b"not a model", b"\x08\x0a" * 500, b"\xff" * 64])
def test_files_that_are_no_models_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.onnx"
    path.write_bytes(content)
    refusal(path)


def test_a_folder_and_nothing_are_refused(tmp_path: Path) -> None:
    refusal(tmp_path)
    refusal(tmp_path / "missing.onnx")


def test_damage_anywhere_is_refused_or_harmless(tmp_path: Path) -> None:
    nodes, constants = convolutional()
    content = saved(tmp_path, nodes, constants, ["batch", 3, 8, 8]).read_bytes()
    rng, path = np.random.default_rng(3), tmp_path / "damaged.onnx"
    for _ in range(150):
        damaged = bytearray(content)
        for place in rng.integers(len(content), size=3):
            damaged[place] = int(rng.integers(256))
        path.write_bytes(bytes(damaged[: int(rng.integers(len(content) // 2, len(content) + 1))]))
        try:
            graph_from_onnx(path, rng)
        except ModelRefused as error:
            assert "\n" not in str(error)
