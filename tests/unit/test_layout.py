"""Several inputs in one row."""

from __future__ import annotations

import json

import pytest
import torch

from jostle.layout import Field, Layout

LAYOUT = Layout(
    (
        Field("image", (1, 3, 2)),
        Field("age", (), torch.int64),
        Field("ids", (4,), torch.int32),
        Field("member", (1,), torch.bool),
    )
)
ARRAYS = {
    "image": torch.rand(5, 1, 3, 2, generator=torch.Generator().manual_seed(0)),
    "age": torch.tensor([0, 17, 65, 2**24, -3]),
    "ids": torch.arange(20, dtype=torch.int32).view(5, 4),
    "member": torch.tensor([[True], [False], [True], [True], [False]]),
}


def test_arrays_come_back_as_they_were_packed() -> None:
    rows = LAYOUT.packed(ARRAYS)
    assert (rows.shape, rows.dtype) == ((5, 12), torch.float32)
    for name, array in LAYOUT.unpacked(rows).items():
        assert array.dtype == ARRAYS[name].dtype and torch.equal(array, ARRAYS[name])


def test_floats_are_views_so_that_gradients_reach_the_row() -> None:
    rows = LAYOUT.packed(ARRAYS).requires_grad_()
    LAYOUT.unpacked(rows)["image"].sum().backward()
    assert rows.grad is not None and torch.equal(rows.grad[0], (torch.arange(12) < 6).float())


def test_one_input_is_replaced_and_no_other() -> None:
    rows = LAYOUT.packed(ARRAYS)
    other = LAYOUT.unpacked(LAYOUT.replaced(rows.clone(), "age", torch.full((5,), 9)))
    assert (other.pop("age") == 9).all()
    assert all(torch.equal(array, ARRAYS[name]) for name, array in other.items())


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"fields": 3, "by_name": True},
        {"fields": [["a", [-1], "int64"]], "by_name": True},
        {"fields": [["a", [2], "save"]], "by_name": True},
        {"fields": [["a", ["2"], "int64"]], "by_name": True},
    ],
)
def test_what_is_no_layout_is_refused(broken: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="input"):
        Layout.parsed(broken)


def test_a_layout_survives_json() -> None:
    assert Layout.parsed(json.loads(json.dumps(LAYOUT.as_json()))) == LAYOUT
