"""Large changes of every kind, which are made more often where they pay."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch

from jostle.catalogue import mutator_of
from jostle.composition.settle import settled
from jostle.errors import UsageError
from jostle.inputs.inferred_table import inferred_table
from jostle.inputs.tokens import Tokens
from jostle.inputs.value_range import ValueRange
from jostle.interfaces import Mutator
from jostle.lineage import UNCHANGED, Mutation
from jostle.mutations import Mutations
from jostle.mutators.earned_shares import EXPLORED
from jostle.mutators.havoc import NAMES, Havoc
from jostle.mutators.in_domain import InUnits
from jostle.part import PartContext
from jostle.randomness import randomness
from jostle.recipes.random import RANDOM
from jostle.records import Candidates, Lesson, Seeds
from jostle.task import Task
from making import batch_of, lesson, options, seeds_of, texts_of

FEW = torch.rand(30, 4, 4, generator=torch.Generator().manual_seed(0))


def paid(*texts: str, found: int = 0) -> Lesson:
    """A step that kept a mutant of each of these."""
    mutations = tuple(map(Mutation.parsed, texts))
    rows = replace(batch_of(torch.zeros(len(texts), 2)), mutations=Mutations.of(mutations))
    return lesson(rows, torch.ones(len(texts), 1), mutations[:1] * found)


def many(mutator: Mutator, steps: int = 20, rows: torch.Tensor = FEW) -> list[Candidates]:
    return [mutator.mutate(batch_of(rows), randomness(0, step)) for step in range(steps)]


def test_every_operation_is_done_and_a_child_has_one_to_four() -> None:
    done = [mutation.operations for rows in many(Havoc(0, 1)) for mutation in rows.mutations]
    assert {name for names in done for name in names} == set(NAMES)
    lengths = Counter(map(len, done))
    assert set(lengths) == {1, 2, 3, 4} and lengths[1] > lengths[2] > lengths[3]
    assert all(len(set(names)) == len(names) for names in done)


def test_a_child_is_what_its_text_says() -> None:
    for rows in many(Havoc(-1, 1)):
        for text, child, parent in zip(texts_of(rows), rows.inputs, FEW, strict=True):
            if text in ("shuffle", "swap"):
                assert torch.equal(child.flatten().sort().values, parent.flatten().sort().values)
            if text == "negate":
                assert torch.equal(child.abs(), parent) and (child < 0).any()
            if text == "ends":
                assert set(child[child != parent].tolist()) in ({-1.0}, {1.0})


def test_whatever_pays_is_done_more_often_and_all_else_still_is() -> None:
    havoc = Havoc(0, 1)
    for _ in range(40):
        havoc.learn(paid("splice + fill", "splice"))
    shares = havoc.shares()
    assert shares["splice"] > shares["fill"] > shares["negate"] >= EXPLORED / len(NAMES)
    done = Counter(name for rows in many(havoc) for mutation in rows.mutations for name in mutation.operations)
    assert done["splice"] > 2 * done["negate"] > 0


def test_a_new_bug_is_worth_more_than_new_coverage() -> None:
    by_bug, by_gain = Havoc(0, 1), Havoc(0, 1)
    by_bug.learn(paid("scale", found=1))
    by_gain.learn(paid("scale"))
    assert by_bug.shares()["scale"] > by_gain.shares()["scale"] > 1 / len(NAMES)


def test_what_another_mutator_did_under_the_same_name_earns_nothing() -> None:
    havoc, even = Havoc(0, 1), 1 / len(NAMES)
    havoc.learn(paid("metamorphic: scale", "noise: noise", "unchanged", ""))
    assert havoc.shares() == pytest.approx(dict.fromkeys(NAMES, even))
    havoc.learn(paid("havoc: scale"))
    assert havoc.shares()["scale"] > even


def test_the_same_lessons_and_generator_give_the_same_children() -> None:
    def children() -> Candidates:
        havoc = Havoc(0, 1)
        for _ in range(5):
            havoc.learn(paid("fill", "negate + swap", found=1))
        return havoc.mutate(batch_of(FEW), randomness(3, 1))

    one, other = children(), children()
    assert torch.equal(one.inputs, other.inputs) and one.mutations == other.mutations


def test_values_come_from_other_rows_and_from_seeds() -> None:
    parents = batch_of(torch.zeros(200, 6))
    parents = replace(parents, seeds=seeds_of(torch.full((200, 6), 0.375)))
    children = [Havoc(0, 1).mutate(parents, randomness(0, step)) for step in range(4)]
    spliced = [text == "splice" for rows in children for text in texts_of(rows)]
    values = torch.cat([rows.inputs for rows in children])[torch.tensor(spliced)].unique().tolist()
    assert values == [0.0, 0.375]


def test_minus_zero_is_a_change_and_is_kept() -> None:
    children = torch.cat([rows.inputs for rows in many(Havoc(-1, 1), rows=torch.zeros(100, 5))])
    assert (children.signbit() & (children == 0)).any()


def test_children_that_cannot_change_are_known_for_it() -> None:
    seeds = torch.full((20, 3), 0.5)
    children = Havoc(0, 1, radius=1e-12).mutate(batch_of(seeds), randomness(0, 1))  # less than a float can tell apart
    assert set(children.mutations) == {UNCHANGED} and torch.equal(children.inputs, seeds)


def test_a_child_that_comes_out_like_its_parent_is_drawn_anew() -> None:
    alike = torch.full((60, 5), 0.25)  # to which moves and splices do nothing
    children = Havoc(0, 1).mutate(batch_of(alike), randomness(0, 1))
    assert (children.inputs != alike).any(1).all()
    assert not {"shuffle", "swap", "copy", "splice"} & set(texts_of(children))


def test_floats_of_two_sizes_are_mutated_as_they_are() -> None:
    for dtype in (torch.float64, torch.float16):
        children = Havoc(0, 1, dtype=dtype).mutate(batch_of(FEW.to(dtype)), randomness(0, 1))
        assert children.inputs.dtype == dtype and children.inputs.isfinite().all()


def test_without_bounds_everything_stays_finite_unless_asked_for() -> None:
    unbounded = -math.inf, math.inf, 0.1
    plain = torch.cat([rows.inputs for rows in many(Havoc(*unbounded), 40, FEW * 1e38)])
    assert plain.isfinite().all() and plain.abs().max() == torch.finfo(torch.float32).max
    asked = torch.cat([rows.inputs for rows in many(Havoc(*unbounded, special_values=("nan", "inf")), 40)])
    assert asked.isnan().any() and asked.isposinf().any() and asked.isneginf().any()


def test_a_refused_radius_sigma_or_value_names_its_option() -> None:
    with pytest.raises(UsageError, match="--havoc-radius"):
        Havoc(0, 1, radius=0.0)
    with pytest.raises(UsageError, match="--sigma"):
        Havoc(0, 1, sigma=-1.0)
    with pytest.raises(UsageError, match="--special-values"):
        Havoc(0, 1, special_values=("huge",))


def made(seeds: Seeds, **chosen: object) -> Mutator:
    settings = settled(RANDOM, options(mutator="havoc", **chosen), Task.CLASSES)
    return mutator_of(settings, PartContext(seeds))


def in_range(low: float, high: float) -> Seeds:
    return replace(seeds_of(FEW), domain=ValueRange(low, high))


def far(mutator: Mutator) -> float:
    """The largest change from the seeds."""
    return max(float((rows.inputs - FEW).abs().max()) for rows in many(mutator))


@pytest.mark.parametrize(
    ("chosen", "radius"),
    [
        ({"oracle": "flip"}, 0.1),
        ({"oracle": "agree,flip", "twin": "float16"}, 0.1),
        ({"oracle": "flip", "radius": 0.3}, 0.3),
        ({"oracle": "agree", "twin": "float16", "radius": 0.3}, 0.3),
        ({"oracle": "flip", "radius": 0.3, "havoc_radius": 0.2}, 0.2),
        ({"oracle": "agree", "twin": "float16"}, 1.0),
        ({"oracle": "nan,crash"}, 1.0),
        ({"oracle": "operator:not_"}, 1.0),
        ({"oracle": "differ", "models": "a.pt2"}, 1.0),
    ],
)
def test_it_keeps_near_the_seed_where_answers_are_compared_with_the_seeds(
    chosen: dict[str, object], radius: float
) -> None:
    assert far(made(in_range(0, 1), **chosen)) == pytest.approx(radius, rel=0.05)


def test_tables_are_kept_with_their_columns() -> None:
    rng = np.random.default_rng(0)
    columns = [rng.integers(18, 90, 50), rng.uniform(0, 1e5, 50), rng.integers(0, 2, 50)]
    rows = torch.from_numpy(np.stack(columns, 1).astype(np.float32))
    table = inferred_table(rows)
    mutator = made(replace(seeds_of(rows), domain=table), oracle="nan")
    assert isinstance(mutator, InUnits)
    for step in range(10):
        children = mutator.mutate(batch_of(rows), randomness(0, step))
        assert table.outside(children.inputs) is None
        assert (children.inputs != rows).any(1).float().mean() > 0.8


def test_tokens_are_refused_with_what_changes_them() -> None:
    seeds = replace(seeds_of(torch.randint(9, (5, 4))), domain=Tokens(9))
    with pytest.raises(
        UsageError, match="--mutator havoc is for values, and the seeds are tokens: use --mutator tokens"
    ):
        made(seeds, oracle="nan")


def test_special_values_need_a_range_without_ends_and_nan_no_radius() -> None:
    with pytest.raises(UsageError, match="give --range=-inf,inf"):
        made(in_range(0, 1), oracle="nan", special_values="inf")
    anywhere = {"oracle": "nan", "range": "-inf,inf", "sigma": 0.1}
    seeds = in_range(-math.inf, math.inf)
    assert math.isinf(far(made(seeds, special_values="inf", **anywhere)))
    assert far(made(seeds, special_values="inf", radius=2, **anywhere)) == pytest.approx(2)
    with pytest.raises(UsageError, match="--special-values nan is near no seed"):
        made(seeds, special_values="nan", radius=2, **anywhere)
