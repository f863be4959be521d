"""How far each neuron ranges on known data, and the file that keeps it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from jostle.errors import UsageError
from jostle.profile import Profile, encode_profile, load_profile, profiled
from jostle.randomness import randomness
from jostle.records import Trace
from making import trace_of

OURS = {"weights": "abc", "units": "channels", "mean": (0.5,), "std": (), "layers": ["early", "late"]}
ODD = torch.tensor([torch.nan, torch.inf, -torch.inf])


def rows_from(seed: int, count: int) -> Tensor:
    """Activations [count, 5], some of them not finite."""
    rng = randomness(seed, count)
    values = torch.randn(count, 5, generator=rng)
    strange = ODD[torch.randint(3, values.shape, generator=rng)]
    return torch.where(torch.rand(values.shape, generator=rng) < 0.2, strange, values)


def seen_in(rows: Tensor) -> Trace:
    return trace_of(rows, activations={"early": rows[:, :3], "late": rows[:, 3:]})


def some_profile() -> Profile:
    return profiled([seen_in(rows_from(0, 20)), seen_in(rows_from(1, 3))])


def same(one: Profile, other: Profile) -> bool:
    ranges = torch.equal(one.low, other.low) and torch.equal(one.high, other.high)
    return ranges and (one.layers, one.inputs) == (other.layers, other.inputs)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(rows=st.builds(rows_from, st.integers(0, 10**6), st.integers(1, 20)), size=st.integers(1, 20))
def test_ranges_are_the_extremes_of_what_is_finite_batch_by_batch_or_at_once(rows: Tensor, size: int) -> None:
    profile = profiled(seen_in(part) for part in rows.split(size))
    assert same(profile, profiled([seen_in(rows)]))
    assert (profile.layers, profile.inputs) == ((("early", 3), ("late", 2)), len(rows))
    for neuron, column in enumerate(rows.T.tolist()):
        finite = [value for value in column if math.isfinite(value)]
        assert float(profile.low[neuron]) == min(finite, default=math.inf)
        assert float(profile.high[neuron]) == max(finite, default=-math.inf)
        assert bool(profile.constant[neuron]) == (len(set(finite)) < 2)


def test_neurons_that_never_change_are_told() -> None:
    rows = torch.tensor([[0.0, 7.0, 1.0, torch.nan, 2.0], [0.0, 7.0, 2.0, torch.nan, 3.0]])
    profile = profiled([seen_in(rows)])
    assert profile.constant.tolist() == [True, True, False, True, False]
    assert profile.explained() == "5 neurons in 2 layers profiled on 2 inputs, 3 of them constant and left out"
    assert "left out" not in profiled([seen_in(torch.eye(5))]).explained()


def test_rows_that_crashed_widen_no_range() -> None:
    crashed = trace_of(torch.zeros(2, 1), activations={"only": torch.tensor([[5.0], [9.0]])}, crashed=[1])
    assert profiled([crashed]).high.tolist() == [5.0]


def test_a_saved_profile_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "it.safetensors"
    profile = some_profile()
    path.write_bytes(encode_profile(profile, OURS))
    assert same(load_profile(path, OURS), profile)
    assert encode_profile(load_profile(path, OURS), OURS) == path.read_bytes()


def test_a_neuron_that_was_never_finite_comes_back_so(tmp_path: Path) -> None:
    path = tmp_path / "it.safetensors"
    path.write_bytes(encode_profile(profiled([seen_in(torch.full((2, 5), torch.nan))]), OURS))
    assert load_profile(path, OURS).constant.all()


@pytest.mark.parametrize(
    "change",
    [{"weights": "abd"}, {"units": "every"}, {"mean": ()}, {"std": (1.0,)}, {"layers": ["early"]}, {"weights": None}],
    ids=str,
)
def test_a_profile_of_something_else_is_refused_with_what_differs(tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "it.safetensors"
    path.write_bytes(encode_profile(some_profile(), OURS))
    with pytest.raises(UsageError, match=rf"different: {next(iter(change))}\)") as refusal:
        load_profile(path, {**OURS, **change})
    assert "\n" not in str(refusal.value)


def saved(told: object, **arrays: Tensor) -> bytes:
    given = arrays or {"low": torch.zeros(5), "high": torch.ones(5)}
    return safetensors.torch.save(given, {"profile": json.dumps(told)})


TOLD = {"layers": [["early", 3], ["late", 2]], "inputs": 9, "belongs to": OURS}
WHOLE = saved(TOLD)
DAMAGED: dict[str, bytes] = {
    "empty": b"",
    "no bytes of ours": b"\x89PNG\r\n\x1a\n" + bytes(200),
    "text": b"low = 0\nhigh = 1\n" * 20,
    "cut off in the header": WHOLE[:40],
    "cut off in the arrays": WHOLE[:-7],
    "too long a header": b"\xff" * 8 + WHOLE[8:],
    "no metadata": safetensors.torch.save({"low": torch.zeros(5), "high": torch.ones(5)}),
    "metadata is no JSON": safetensors.torch.save({"low": torch.zeros(5)}, {"profile": "{"}),
    "metadata of another kind": saved([1, 2]),
    "metadata is a number": saved(3),
    "no layers": saved({name: value for name, value in TOLD.items() if name != "layers"}),
    "layers are no pairs": saved({**TOLD, "layers": ["early", "late"]}),
    "layers without a size": saved({**TOLD, "layers": [["early", None]]}),
    "a size without end": saved({**TOLD, "layers": [["early", math.inf]]}),
    "belongs to nothing": saved({**TOLD, "belongs to": 5}),
    "belongs to a text": saved({**TOLD, "belongs to": "us"}),
    "high is missing": saved(TOLD, low=torch.zeros(5)),
    "too few neurons": saved(TOLD, low=torch.zeros(4), high=torch.ones(4)),
    "another shape": saved(TOLD, low=torch.zeros(5, 1), high=torch.ones(5, 1)),
    "unequal": saved(TOLD, low=torch.zeros(5), high=torch.ones(4)),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_file_is_refused_in_a_line(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "it.safetensors"
    path.write_bytes(DAMAGED[damage])
    with pytest.raises(UsageError, match="jostle profile") as refusal:
        load_profile(path, OURS)
    assert "\n" not in str(refusal.value) and str(path) in str(refusal.value)


def test_the_file_that_the_damaged_ones_are_made_of_is_sound(tmp_path: Path) -> None:
    path = tmp_path / "it.safetensors"
    path.write_bytes(WHOLE)
    assert load_profile(path, OURS).inputs == 9


def test_no_file_and_a_folder_are_refused_in_a_line(tmp_path: Path) -> None:
    for path in (tmp_path / "none.safetensors", tmp_path):
        with pytest.raises(UsageError, match="is no saved profile: make one with jostle profile"):
            load_profile(path, OURS)
