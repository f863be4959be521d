"""Models of one operator for the sweep: valid, the same for the same draws, and from all that an operator takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import pytest

from jostle.frameworks.backends.program import PREDICT
from jostle.frameworks.campaign.single_operators import LONG, drawn_anew
from jostle.frameworks.graph import DTYPES, FLOATS, INPUT, LAYOUTS, STYLES, Array, Attributes, Graph, decode, encode
from jostle.frameworks.operators.all_operators import LARGEST, OPERATORS, types_of
from jostle.frameworks.reference.run import result
from jostle.frameworks.reference.undefined import Undefined
from jostle.frameworks.training import check_training
from jostle.frameworks.value_classes import OF_BOOLS, OF_FLOATS, OF_INTEGERS, of_class

DRAWS = 600


@cache
def drawn(name: str) -> tuple[Graph, ...]:
    rng = np.random.default_rng([5, *name.encode()])
    return tuple(drawn_anew(name, rng) for _ in range(DRAWS))


def attributes(name: str) -> Iterator[Attributes]:
    return (graph.nodes[0].attributes for graph in drawn(name))


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_a_model_of_any_operator_is_valid_small_and_what_a_file_gives_back(name: str) -> None:
    rng = np.random.default_rng(3)
    for _ in range(8):
        graph = drawn_anew(name, rng)
        types = types_of(graph)
        check_training(graph, types)
        assert [node.operator for node in graph.nodes] == [name]
        assert max(one.size for one in types.values()) <= LARGEST
        again = decode(graph.encoded)
        assert encode(again) == graph.encoded
        for leaf, other in zip(graph.leaves.values(), again.leaves.values(), strict=True):
            assert (leaf.array.dtype, leaf.array.strides) == (other.array.dtype, other.array.strides)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_same_draws_give_the_same_models(seed: int) -> None:
    def all_of_them() -> list[bytes]:
        rng = np.random.default_rng(seed)
        return [drawn_anew(name, rng).encoded for name in OPERATORS]

    assert all_of_them() == all_of_them()
    assert len(set(all_of_them())) == len(OPERATORS)


def counted(names: str, of: Callable[[Graph], str]) -> Counter[str]:
    return Counter(of(graph) for name in names.split() for graph in drawn(name))


def first(graph: Graph) -> Array:
    return graph.leaves["x"].array


def test_dtypes_and_ranks_have_the_same_chance() -> None:
    dtypes = counted("transpose", lambda graph: first(graph).dtype.name)
    ranks = counted("relu", lambda graph: str(first(graph).ndim))
    assert set(dtypes) == set(DTYPES) and min(dtypes.values()) > DRAWS / len(DTYPES) / 2
    assert set(ranks) == set("012345") and min(ranks.values()) > DRAWS / 6 / 3
    assert set(counted("conv", lambda graph: first(graph).dtype.name)) == set(FLOATS)


def test_empty_and_long_axes_occur() -> None:
    sizes = [size for graph in drawn("relu") for size in first(graph).shape]
    assert {0, 1, *LONG} <= set(sizes)
    assert any(first(graph).size == 0 for graph in drawn("sum"))


def test_layouts_styles_and_trainings_occur() -> None:
    assert {leaf.layout for graph in drawn("conv") for leaf in graph.leaves.values()} == set(LAYOUTS)
    assert {graph.nodes[0].style for graph in drawn("relu")} == set(STYLES)
    assert all(graph.training for graph in drawn("linear") if types_of(graph)["y"].size)
    assert not any(graph.training for graph in drawn("relu"))


def tiny(values: Array) -> Array:
    return (values != 0) & (np.abs(values) < np.finfo(values.dtype).tiny)


def large_mean(values: Array) -> bool:
    finite = bool(values.size > 3 and np.isfinite(values).all())
    return finite and 100 * values.std() < abs(values.mean()) < 1e7 and values.std() > 0


def slice_not_finite(values: Array) -> bool:
    """All at one position of an axis, and nothing else."""
    odd = ~np.isfinite(values)
    slices = (one for axis in range(odd.ndim) for one in np.moveaxis(odd, axis, 0))
    return any(1 < one.size < odd.size and one.all() and one.sum() == odd.sum() for one in slices)


REACHED: dict[str, Callable[[Array], bool]] = {
    "NaN": lambda values: bool(np.isnan(values).any()),
    "infinity": lambda values: bool(np.isposinf(values).any()),
    "minus infinity": lambda values: bool(np.isneginf(values).any()),
    "nothing but minus infinity": lambda values: values.size > 0 and bool(np.isneginf(values).all()),
    "a slice that is not finite": slice_not_finite,
    "one that is not finite": lambda values: int((~np.isfinite(values)).sum()) == 1 < values.size,
    "minus zero": lambda values: bool((np.signbit(values) & (values == 0)).any()),
    "subnormal": lambda values: bool(tiny(values).any()),
    "nothing but subnormal": lambda values: values.size > 0 and bool(tiny(values).all()),
    "ties": lambda values: values.size > 8 and 1 < len(np.unique(values)) <= 3,
    "halves": lambda values: values.size > 1 and bool((np.abs(values) % 1 == 0.5).all()),
    "large mean": large_mean,
    "exp overflows": lambda values: bool(np.isfinite(values).all() and (values > 88).any() and (values < 1000).all()),
    "near the largest": lambda values: bool((np.isfinite(values) & (np.abs(values) > 1e37)).any()),
}


@pytest.mark.parametrize("name", ["softmax", "exp", "sum", "layer_norm", "less", "sort", "argmax", "max_pool", "round"])
@pytest.mark.parametrize("what", REACHED)
def test_values_that_kernels_get_wrong_reach_an_operator(name: str, what: str) -> None:
    with np.errstate(all="ignore"):
        arrays = [leaf.array for graph in drawn(name) for leaf in graph.leaves.values() if leaf.role == INPUT]
        assert sum(REACHED[what](array) for array in arrays if array.dtype.name in FLOATS) >= 1


@pytest.mark.parametrize("name", ["add", "cumsum", "sort", "less", "bitwise_and", "prod", "gather"])
def test_extremes_of_whole_numbers_reach_an_operator(name: str) -> None:
    arrays = [first(graph) for graph in drawn(name) if first(graph).dtype.kind in "iu" and first(graph).size]
    assert any((array == np.iinfo(array.dtype).max).any() for array in arrays)
    assert any((array == np.iinfo(array.dtype).min).any() for array in arrays if array.dtype != np.uint8)
    assert any(array.size > 3 and len(np.unique(array)) == 1 for array in arrays)


SOME: dict[str, tuple[str, Callable[[Attributes], bool]]] = {
    "ceil with padding and dilation": (
        "max_pool",
        lambda a: a["ceil"] and any(p and d > 1 for p, d in zip(a["padding"], a["dilations"], strict=True)),
    ),
    "ceil with uneven padding": ("avg_pool", lambda a: a["ceil"] and len(set(a["padding"])) > 1),
    "steps backwards": ("slice", lambda a: min(a["steps"]) < -1),
    "a slice of nothing": ("slice", lambda a: 0 in a["sizes"]),
    "shifts back beyond the axis": ("roll", lambda a: a["shift"] < -3),
    "negative padding": ("pad", lambda a: min(*a["before"], *a["after"], 0) < -1),
    "padding of the first axis": ("pad", lambda a: len(a["before"]) > 2 and a["before"][0] > 0),
    "no repeats": ("tile", lambda a: 0 in a["repeats"]),
    "expanded to nothing": ("expand", lambda a: 0 in a["shape"]),
    "a diagonal beyond the matrix": ("tril", lambda a: a["diagonal"] < -3),
    "several new axes": ("unsqueeze", lambda a: len(a["axes"]) > 1),
    "more than three of the largest": ("topk_values", lambda a: a["k"] > 3),
    "enlarged": ("resize", lambda a: max(a["size"]) > 4),
    "uneven padding": ("conv", lambda a: a["before"] != a["after"] and max(a["dilations"]) > 2),
    "a threshold that float32 does not hold": ("hardshrink", lambda a: a["threshold"] == 0.3),
}


@pytest.mark.parametrize("what", SOME)
def test_attributes_go_to_where_backends_differ(what: str) -> None:
    name, holds = SOME[what]
    assert sum(map(holds, attributes(name))) >= 2


def test_operands_are_broadcast_both_ways() -> None:
    types = [(first(graph).shape, types_of(graph)["y"].shape) for graph in drawn("add")]
    assert any(x != y for x, y in types) and any(len(y) > len(x) for x, y in types)


@pytest.mark.parametrize("name", ["gather", "take", "scatter"])
def test_indices_lie_in_the_axis(name: str) -> None:
    for graph in drawn(name):
        size, indices = first(graph).shape[graph.nodes[0].attributes["axis"]], graph.leaves["y_a"].array
        assert ((indices >= 0) & (indices < size)).all()


def has_result(graph: Graph) -> bool:
    try:
        result(graph, PREDICT)
    except Undefined:
        return False
    return True


def test_a_window_in_which_there_is_nothing_occurs_and_has_no_result() -> None:
    without = [graph for graph in drawn("max_pool") if not has_result(graph)]
    assert without and all(max(graph.nodes[0].attributes["padding"]) > 0 for graph in without)


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_enough_models_have_a_result_with_a_meaning(name: str) -> None:
    rng = np.random.default_rng(8)
    assert sum(has_result(drawn_anew(name, rng)) for _ in range(40)) >= 10


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_class_of_values_keeps_shape_and_dtype(dtype: str) -> None:
    classes = OF_FLOATS if dtype in FLOATS else OF_BOOLS if dtype == "bool" else OF_INTEGERS
    for shape in ((), (0,), (2, 3)):
        array = np.ones(shape, dtype)
        for name in classes:
            changed = of_class(name, array, np.random.default_rng(1))
            assert (changed.shape, changed.dtype) == (array.shape, array.dtype), name
