"""Plain Python functions as modules."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from jostle.subjects.torch_function import Function, takes_numpy
from jostle.subjects.torch_target import TorchTarget


def flipped_array(images: np.ndarray) -> np.ndarray:
    assert isinstance(images, np.ndarray)
    return images[..., ::-1]


def flipped_tensor(images: Tensor) -> Tensor:
    assert isinstance(images, Tensor)
    return images.flip(-1)


@pytest.mark.parametrize("function", [flipped_array, flipped_tensor])
def test_a_function_gets_what_its_annotation_says_and_either_answer_serves(function: object) -> None:
    images = torch.rand(2, 1, 3, 3)
    assert torch.equal(TorchTarget(Function(function)).predict(images), images.flip(-1))


def test_without_annotation_or_signature_a_function_gets_a_tensor() -> None:
    assert not takes_numpy(lambda images: images)
    assert not takes_numpy(torch.sigmoid)
    assert takes_numpy(flipped_array)
