"""Inputs reach a module by the names of its parameters, by position, or not at all."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from jostle.errors import ModelRefused
from jostle.layout import Field, Layout
from jostle.subjects.arguments import PackedArguments, check_takes_one
from jostle.subjects.torch_arguments import parameters_of
from jostle.subjects.torch_module import of_module


class Two(nn.Module):
    def forward(self, first: Tensor, second: Tensor, third: Tensor | None = None) -> Tensor:
        return first + second


class AnyName(nn.Module):
    def forward(self, first: Tensor, second: Tensor | None = None, **others: Any) -> Tensor:
        return first


class AnyNumber(nn.Module):
    def forward(self, *inputs: Tensor) -> Tensor:
        return inputs[0]


def layout(*names: str, by_name: bool = True) -> Layout:
    return Layout(tuple(Field(name, (2,), torch.float32) for name in names), by_name)


def test_inputs_are_given_by_the_names_of_parameters() -> None:
    arguments = PackedArguments.fitting(layout("second", "first"), parameters_of(Two()))
    positional, named = arguments.of(torch.tensor([[1.0, 2.0, 3.0, 4.0]]), torch.float32)
    assert positional == () and {name: value.tolist() for name, value in named.items()} == {
        "second": [[1.0, 2.0]],
        "first": [[3.0, 4.0]],
    }


@pytest.mark.parametrize("names", [("first",), ("first", "second", "fourth")])
def test_names_that_are_not_the_models_are_refused_with_both_lists(names: tuple[str, ...]) -> None:
    with pytest.raises(ModelRefused, match="and the model takes first, second, third"):
        PackedArguments.fitting(layout(*names), parameters_of(Two()))


def test_a_model_that_takes_any_name_gets_inputs_by_name_and_never_by_position() -> None:
    arguments = PackedArguments.fitting(layout("first", "mask"), parameters_of(AnyName()))
    assert (arguments.positional, arguments.named) == ((), ("first", "mask"))
    with pytest.raises(ModelRefused, match="the model takes first, second"):
        PackedArguments.fitting(layout("second", "mask"), parameters_of(AnyName()))


def test_a_model_that_takes_any_number_gets_inputs_in_their_order() -> None:
    assert PackedArguments.fitting(layout("b", "a"), parameters_of(AnyNumber())).positional == ("b", "a")


def test_a_model_of_two_inputs_refuses_one() -> None:
    with pytest.raises(ModelRefused, match="the model takes first, second, and seeds are one array"):
        check_takes_one(parameters_of(Two()))


def test_all_outputs_are_seen_of_a_model_in_another_precision() -> None:
    class Pair(nn.Linear):
        def forward(self, inputs: Tensor) -> Any:
            return {"scores": super().forward(inputs), "mean": inputs.mean()}

    assert of_module(Pair(3, 2).double()).outputs(torch.rand(4, 3)) == {"scores": [4, 2], "mean": []}
