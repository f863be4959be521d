"""Several inputs as one domain, read off arrays by name."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from jostle.errors import SeedsRefused, UsageError
from jostle.inputs.audio import Audio
from jostle.inputs.domain_files import encode_domain
from jostle.inputs.domains import domain_of
from jostle.inputs.geometry import Border, Placements, unmoved
from jostle.inputs.seeds import SeedForm, load_seeds
from jostle.inputs.several import (
    PlacementsOfOne,
    Several,
    check_image_among,
    image_placements,
    image_shape,
    layout_of,
)
from jostle.inputs.tokens import Tokens
from jostle.inputs.value_range import ValueRange
from jostle.layout import Field, Layout
from jostle.options.campaign import InputOptions
from jostle.records import Seeds
from making import seeds_of

RNG = np.random.default_rng(0)
ARRAYS: dict[str, Any] = {
    "image": RNG.random((6, 1, 4, 4), dtype=np.float32),
    "age": np.array([20, 30, 40, 50, 60, 70]),
    "ids": np.array([[5, 7, 9, 0], [4, 0, 0, 0], [1, 2, 0, 0], [3, 3, 3, 3], [8, 6, 0, 0], [2, 9, 1, 0]]),
}
ARRAYS["mask"] = (ARRAYS["ids"] != 0).astype(np.int64)


def seeds_in(folder: Path, inputs: tuple[str, ...] = (), **arrays: Any) -> Seeds:
    np.savez(folder / "seeds.npz", **arrays)
    return load_seeds(str(folder / "seeds.npz"), SeedForm(inputs=inputs))


def several_in(folder: Path, inputs: tuple[str, ...] = ()) -> tuple[Seeds, Several]:
    seeds = seeds_in(folder, inputs, **ARRAYS, y=np.arange(6))
    assert isinstance(seeds.domain, Several)
    return seeds, seeds.domain


def test_all_arrays_but_labels_are_inputs_by_name(tmp_path: Path) -> None:
    seeds, domain = several_in(tmp_path)
    assert domain.layout.names == ("image", "age", "ids", "mask") and domain.layout.by_name
    assert seeds.labels.tolist() == [0, 1, 2, 3, 4, 5]
    for name, array in domain.layout.unpacked(seeds.inputs).items():
        assert np.array_equal(array.numpy(), ARRAYS[name])


def test_one_array_named_x_stays_one_input(tmp_path: Path) -> None:
    assert layout_of(seeds_in(tmp_path, x=ARRAYS["image"], y=np.arange(6))) is None


def test_arrays_without_names_are_inputs_in_their_order(tmp_path: Path) -> None:
    np.savez(tmp_path / "seeds.npz", ARRAYS["image"], ARRAYS["ids"])
    layout = layout_of(load_seeds(str(tmp_path / "seeds.npz"), SeedForm()))
    assert layout is not None and not layout.by_name and len(layout.fields) == 2


def test_a_function_gives_a_dict_or_a_tuple_of_arrays(tmp_path: Path) -> None:
    (tmp_path / "data.py").write_text(
        "import torch\n"
        "def named(): return {'a': torch.rand(3, 2), 'b': torch.arange(3), 'labels': torch.ones(3).long()}\n"
        "def ordered(): return (torch.rand(3, 2), torch.arange(3)), torch.zeros(3).long()\n"
    )
    named, ordered = (load_seeds(f"{tmp_path / 'data.py'}:{name}", SeedForm()) for name in ("named", "ordered"))
    assert [layout_of(seeds).names for seeds in (named, ordered)] == [("a", "b"), ("0", "1")]  # type: ignore[union-attr]
    assert named.labels.tolist() == [1, 1, 1] and ordered.labels.tolist() == [0, 0, 0]


def test_seeds_are_inside_and_what_leaves_is_named(tmp_path: Path) -> None:
    seeds, domain = several_in(tmp_path)
    assert domain.outside(seeds.inputs) is None
    beyond = domain.layout.replaced(seeds.inputs.clone(), "age", torch.tensor([20, 30, 40, 99, 60, 70]))
    assert domain.outside(beyond) == (3, "age: age is 99, above 70")
    unmasked = domain.layout.replaced(seeds.inputs.clone(), "mask", torch.ones(6, 4))
    assert domain.outside(unmasked) == (0, "mask is no mask of ids")


def test_the_nearest_is_inside_whole_and_masked_and_leaves_alone_what_was_inside(tmp_path: Path) -> None:
    seeds, domain = several_in(tmp_path)
    assert torch.equal(domain.nearest(seeds.inputs, seeds.inputs), seeds.inputs)
    wild = seeds.inputs + torch.randn(seeds.inputs.shape, generator=torch.Generator().manual_seed(0)) * 50
    inside = domain.nearest(wild, seeds.inputs)
    assert domain.outside(inside) is None
    arrays = domain.layout.unpacked(inside)
    assert torch.equal(arrays["mask"], (arrays["ids"] != 0).long())


def test_inputs_that_are_not_named_stay_as_in_the_root(tmp_path: Path) -> None:
    seeds, domain = several_in(tmp_path, ("age=noise",))
    inside = domain.layout.unpacked(domain.nearest(seeds.inputs + 1, seeds.inputs))
    assert all(np.array_equal(inside[name].numpy(), ARRAYS[name]) for name in ("image", "ids", "mask"))
    assert not np.array_equal(inside["age"].numpy(), ARRAYS["age"])


def test_references_move_the_one_input_that_is_moved(tmp_path: Path) -> None:
    seeds, domain = several_in(tmp_path, ("image=metamorphic", "age"))
    placements = unmoved(6)
    placements[2, 0, 2] = 0.5  # across
    lineage = domain.placed(placements)
    references = domain.layout.unpacked(lineage.references(seeds.inputs.clone()))
    changed = (references["image"].numpy() != ARRAYS["image"]).any((1, 2, 3))
    assert changed.tolist() == lineage.moved.tolist() == [False, False, True, False, False, False]
    assert np.array_equal(references["age"].numpy(), ARRAYS["age"])


def test_findings_hold_the_named_arrays(tmp_path: Path) -> None:
    seeds, domain = several_in(tmp_path)
    held = np.load(BytesIO(domain.files(seeds.inputs[1], seeds.inputs[0])["input.npz"]))
    assert {name: held[name].tolist() for name in held} == {n: a[1:2].tolist() for n, a in ARRAYS.items()}


def test_a_file_says_what_some_inputs_may_be_and_the_seeds_what_the_others_may(tmp_path: Path) -> None:
    seeds, own = several_in(tmp_path)
    (tmp_path / "domain.toml").write_bytes(encode_domain(own))
    assert domain_of(seeds, InputOptions(domain=str(tmp_path / "domain.toml"))).as_toml() == own.as_toml()
    (tmp_path / "domain.toml").write_text('[input.age]\nkind = "table"\n[input.age.column.age]\nlow = 0\nhigh = 120\n')
    domain = domain_of(seeds, InputOptions(domain=str(tmp_path / "domain.toml")))
    assert isinstance(domain, Several) and domain.domains["image"] == own.domains["image"]
    older = own.layout.replaced(seeds.inputs.clone(), "age", torch.full((6,), 119))
    assert own.outside(older) is not None and domain.outside(older) is None
    (tmp_path / "domain.toml").write_text('[input.years]\nkind = "table"\n')
    with pytest.raises(UsageError, match="input: 'years' is unknown"):
        domain_of(seeds, InputOptions(domain=str(tmp_path / "domain.toml")))


@pytest.mark.parametrize(
    ("inputs", "arrays", "problem"),
    [
        ((), {"age": np.arange(5)}, r"differ in their number of rows \(image 6, age 5, ids 6, mask 6\)"),
        ((), {"age": np.arange(6) * 2**23}, r"age holds whole numbers above 16777216"),
        ((), {"age": np.array(list("abcdef"))}, r"age holds <U1 values"),
        ((), {"image": ARRAYS["image"] * 255}, r"images in image hold values .* give --range 0,25"),
        (("picture=noise",), {}, r"--input 'picture' is unknown: choose from image, age, ids, mask"),
        (("age", "age=noise"), {}, r"--input names age twice"),
        (("mask=noise",), {}, r"--input mask: it follows ids"),
    ],
)
def test_what_does_not_fit_together_is_refused_in_a_line(
    inputs: tuple[str, ...], arrays: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    with pytest.raises((SeedsRefused, UsageError), match=problem):
        seeds_in(tmp_path, inputs, **{**ARRAYS, **arrays})


def test_choosing_an_input_where_there_is_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SeedsRefused, match="--input chooses among several inputs"):
        seeds_in(tmp_path, ("x=noise",), x=ARRAYS["image"])


def test_what_is_called_y_beside_labels_is_an_input(tmp_path: Path) -> None:
    seeds = seeds_in(tmp_path, x=ARRAYS["image"], y=ARRAYS["age"], labels=np.arange(6))
    layout = layout_of(seeds)
    assert layout is not None and layout.names == ("x", "y") and seeds.labels.tolist() == [0, 1, 2, 3, 4, 5]
    assert layout.unpacked(seeds.inputs)["y"].tolist() == ARRAYS["age"].tolist()


def test_bytes_among_several_inputs_are_tokens_of_256(tmp_path: Path) -> None:
    seeds = seeds_in(tmp_path, image=ARRAYS["image"], text=ARRAYS["ids"].astype(np.uint8))
    assert isinstance(seeds.domain, Several)
    text = seeds.domain.domains["text"]
    assert isinstance(text, Tokens) and text.vocabulary == 256


def of_images(second: tuple[int, ...], **mutators: str) -> Seeds:
    """Seeds of two inputs, of which the first is an image."""
    layout = Layout((Field("one", (1, 4, 4)), Field("two", second)))
    rows = torch.zeros(2, sum(field.size for field in layout.fields))
    domain = Several(layout, {name: ValueRange(0, 1) for name in layout.names}, mutators, {})
    return replace(seeds_of(rows), domain=domain)


def test_answers_are_about_the_image_or_of_several_the_one_that_is_moved() -> None:
    assert image_shape(of_images((3,))) == (1, 4, 4)
    assert image_shape(of_images((1, 6, 6), two="metamorphic")) == (1, 6, 6)
    assert image_shape(of_images((1, 4, 4))) == (1, 4, 4)


def test_images_of_different_shapes_do_not_tell_which_one_answers_are_about() -> None:
    check_image_among("boxes", of_images((1, 6, 6), two="metamorphic"))
    with pytest.raises(UsageError, match=r"which of the images one, two answers are about.*--input one=metamorphic"):
        check_image_among("boxes", of_images((1, 6, 6)))


def test_images_stay_where_they_are_while_another_input_moves() -> None:
    layout, shift = Layout((Field("wave", (8,)), Field("image", (1, 4, 4)))), torch.ones(2, 2, 3)
    waves = PlacementsOfOne(Audio(8, (8,)).placed(shift, Border.DARK), layout, "wave")
    assert torch.equal(image_placements(waves), unmoved(2))
    assert torch.equal(image_placements(PlacementsOfOne(Placements(shift), layout, "image")), shift)
