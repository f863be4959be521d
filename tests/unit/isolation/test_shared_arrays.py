"""Arrays in a file that two processes have open at once."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from jostle.errors import WriteFailed
from jostle.isolation.shared_arrays import ALIGNED, DTYPES, SharedArrays


def bits(array: torch.Tensor) -> torch.Tensor:
    """So that NaN equals itself."""
    return array.contiguous().flatten().view(torch.uint8)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    shapes=st.lists(st.lists(st.integers(0, 5), max_size=4), max_size=6),
    dtypes=st.lists(st.sampled_from(sorted(DTYPES)), min_size=6, max_size=6),
)
def test_what_one_process_puts_another_gets(
    shapes: list[list[int]], dtypes: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("arena") / "arrays"
    arrays = {
        f"array {i}/é": (torch.randn(shape) * 3).to(DTYPES[dtype])
        for i, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=False))
    }
    SharedArrays(path).put(arrays)
    got = SharedArrays(path).get()
    assert list(got) == list(arrays)
    for name, array in arrays.items():
        assert got[name].dtype == array.dtype and got[name].shape == array.shape
        assert torch.equal(bits(got[name]), bits(array))


def test_it_grows_and_shrinks_with_what_is_put(tmp_path: Path) -> None:
    putting, getting = SharedArrays(tmp_path / "arrays"), SharedArrays(tmp_path / "arrays")
    for size in (10, 3_000_000, 7):
        putting.put({"x": torch.arange(size)})
        assert torch.equal(getting.get()["x"], torch.arange(size))
    SharedArrays(tmp_path / "arrays").put({"x": torch.ones(2)})  # a new process on the old file
    assert torch.equal(getting.get()["x"], torch.ones(2))


def test_views_and_slices_are_put_as_they_look(tmp_path: Path) -> None:
    whole = torch.arange(24).view(4, 6)
    arena = SharedArrays(tmp_path / "arrays")
    arena.put({"across": whole.T, "some": whole[1:3, ::2], "spread": torch.ones(1, 3).expand(5, 3)})
    got = arena.get()
    assert torch.equal(got["across"], whole.T) and torch.equal(got["some"], whole[1:3, ::2])
    assert got["spread"].shape == (5, 3)


def test_a_type_that_cannot_be_handed_over_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="x is of complex64"):
        SharedArrays(tmp_path / "arrays").put({"x": torch.zeros(2, dtype=torch.complex64)})


@pytest.mark.parametrize(
    "table",
    [
        [{"name": "x", "dtype": "float32", "shape": [10**9], "start": 0}],
        [{"name": "x", "dtype": "float32", "shape": [-1], "start": 0}],
        [{"name": "x", "dtype": "float32", "shape": [1], "start": -(2**20)}],
        [{"name": "x", "dtype": "float32", "shape": [1], "start": 2**40}],
    ],
)
def test_a_table_that_points_outside_the_file_is_refused(table: list[dict[str, object]], tmp_path: Path) -> None:
    head = json.dumps(table).encode()
    (tmp_path / "arrays").write_bytes(len(head).to_bytes(8, "little") + head + bytes(4 * ALIGNED))
    with pytest.raises(ValueError, match="outside the file"):
        SharedArrays(tmp_path / "arrays").get()


def test_a_table_longer_than_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "arrays").write_bytes((10**9).to_bytes(8, "little") + bytes(100))
    with pytest.raises(ValueError, match="longer than the file"):
        SharedArrays(tmp_path / "arrays").get()


def test_a_file_that_cannot_be_written_is_our_failure_and_not_the_targets(tmp_path: Path) -> None:
    with pytest.raises(WriteFailed, match="its folder was removed meanwhile"):
        SharedArrays(tmp_path / "no folder" / "arrays").put({"x": torch.ones(1)})


@pytest.mark.parametrize("size", [0, 4, 200, 70_000])
def test_a_file_that_the_other_process_makes_shorter_is_refused_and_nobody_is_killed(size: int, tmp_path: Path) -> None:
    putting, getting = SharedArrays(tmp_path / "arrays"), SharedArrays(tmp_path / "arrays")
    putting.put({"x": torch.arange(10_000), "y": torch.ones(3)})
    kept = getting.get()
    os.truncate(tmp_path / "arrays", size)
    with pytest.raises(ValueError, match=r"longer than the file|outside the file"):
        getting.get()
    assert torch.equal(kept["x"], torch.arange(10_000))  # a copy
    putting.put({"x": torch.ones(5)})
    assert torch.equal(getting.get()["x"], torch.ones(5))


def test_a_file_that_was_removed_is_made_anew(tmp_path: Path) -> None:
    putting, getting = SharedArrays(tmp_path / "arrays"), SharedArrays(tmp_path / "arrays")
    putting.put({"x": torch.ones(2)})
    assert len(getting.get()["x"]) == 2
    (tmp_path / "arrays").unlink()
    putting.put({"x": torch.zeros(3)})
    assert torch.equal(getting.get()["x"], torch.zeros(3))


def test_arrays_that_claim_the_same_bytes_again_and_again_are_refused(tmp_path: Path) -> None:
    table = [{"name": str(i), "dtype": "uint8", "shape": [4 * ALIGNED], "start": 0} for i in range(50)]
    head = json.dumps(table).encode()
    (tmp_path / "arrays").write_bytes(len(head).to_bytes(8, "little") + head + bytes(6 * ALIGNED))
    with pytest.raises(ValueError, match="larger together"):
        SharedArrays(tmp_path / "arrays").get()
