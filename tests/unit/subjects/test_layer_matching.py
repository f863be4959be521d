"""Which layers of a model and of a twin of it correspond to each other."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle.subjects.layer_matching import NamedLayer, matched

WORDS = st.sampled_from(["conv", "conv1", "_module.conv", "a/conv/Relu", "a/conv1/Conv;b/fc/Add", "fc", "fc#2", "x.fc"])
LAYERS = st.lists(
    st.builds(NamedLayer, WORDS, st.integers(1, 2), st.just(1), st.lists(WORDS, max_size=2).map(tuple)), max_size=8
)


def layers(*names: str, units: int = 4) -> list[NamedLayer]:
    return [NamedLayer(name, units, 2) for name in names]


def named(model: list[NamedLayer], twin: list[NamedLayer]) -> list[tuple[str, str]]:
    return [(model[ours].name, twin[theirs].name) for ours, theirs in matched(model, twin)]


@given(LAYERS, LAYERS)
def test_pairs_are_in_order_on_both_sides_none_is_in_two_and_sizes_are_equal(
    model: list[NamedLayer], twin: list[NamedLayer]
) -> None:
    pairs = matched(model, twin)
    for (ours, theirs), (next_of_ours, next_of_theirs) in pairwise(pairs):
        assert ours < next_of_ours and theirs < next_of_theirs
    assert all(model[ours].size == twin[theirs].size for ours, theirs in pairs)


@given(LAYERS)
def test_a_model_corresponds_to_itself_layer_by_layer(model: list[NamedLayer]) -> None:
    once = list({layer.name: layer for layer in model}.values())
    assert matched(once, once) == [(number, number) for number in range(len(once))]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("conv1", "_module.conv1"),
        ("conv1", "module.conv1"),
        ("conv1", "_orig_mod.conv1"),
        ("block.module.conv1", "module.block.conv1"),
        ("features.0", "features_0"),
        ("relu#2", "module.relu#2"),
        ("conv2d_1", "functional_1/conv2d_1/Relu"),
        ("conv2d_1", "functional_1/conv2d_1/Relu;functional_1/conv2d_1/BiasAdd"),
        ("functional_1/conv2d_1/Relu", "functional_1/conv2d_1/BiasAdd;functional_1/conv2d_1/Relu"),
        ("features.0", "/features/features.0/Conv"),
        ("layer1.0.conv1", "/layer1/layer1.0/conv1/Conv"),
    ],
)
def test_names_correspond_as_wrappers_and_exporters_write_them(ours: str, theirs: str) -> None:
    for one, other in ((ours, theirs), (theirs, ours)):
        assert named(layers("first", one, "last"), layers("first", other, "last"))[1:2] == [(one, other)]


@pytest.mark.parametrize(
    ("ours", "theirs"), [("conv1", "conv2"), ("conv", "conv.2"), ("fc", "a/fc2/MatMul"), ("a", "")]
)
def test_other_names_do_not_correspond(ours: str, theirs: str) -> None:
    assert named(layers(ours), layers(theirs)) == named(layers(theirs), layers(ours)) == []


def test_equal_names_go_before_names_that_are_merely_alike() -> None:
    assert named(layers("conv"), layers("module.conv", "conv")) == [("conv", "conv")]


def test_aliases_are_names_too() -> None:
    quantised = [NamedLayer("conv2d_output_scale_mul", 4, 2, ("conv2d",))]
    assert named([NamedLayer("conv1", 4, 2, ("node_conv2d", "conv2d"))], quantised) == [
        ("conv1", "conv2d_output_scale_mul")
    ]


def test_of_several_steps_of_a_layer_the_last_of_its_size_corresponds_to_it() -> None:
    steps = layers("m/conv/Conv", "m/conv/BiasAdd", "m/conv/Relu")
    pooled = [NamedLayer("m/conv/Pool", 1, 1)]
    assert named(layers("conv"), [*steps, *pooled]) == [("conv", "m/conv/Relu")]


def test_layers_of_different_sizes_are_left_out() -> None:
    assert named(layers("a", "b"), [*layers("a", units=5), *layers("b")]) == [("b", "b")]
    assert named([NamedLayer("a", 4, 4)], [NamedLayer("a", 4, 2)]) == []


def test_of_layers_in_another_order_as_many_correspond_as_can() -> None:
    assert named(layers("a", "b", "c", "d"), layers("d", "a", "b", "c")) == [("a", "a"), ("b", "b"), ("c", "c")]


def test_without_layers_there_is_nothing_to_correspond() -> None:
    assert matched([], layers("a")) == matched(layers("a"), []) == []
