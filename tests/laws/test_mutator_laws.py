"""What do we try next? What holds of every Mutator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from jostle.code_points import UNICODE
from jostle.domain import Domain
from jostle.inputs.several import Several
from jostle.inputs.table import Table
from jostle.inputs.table_columns import Column, ColumnKind
from jostle.inputs.table_groups import Group, Together
from jostle.inputs.tokens import Tokens
from jostle.inputs.value_range import IMAGE, ValueRange
from jostle.interfaces import Mutator
from jostle.layout import Field, Layout
from jostle.mutators.ascent import Ascent
from jostle.mutators.audio import Sounding
from jostle.mutators.bounded_edits import BoundedEdits
from jostle.mutators.each import Each
from jostle.mutators.embedding import EmbeddingEdits
from jostle.mutators.goals import AnotherClass
from jostle.mutators.havoc import Havoc
from jostle.mutators.metamorphic import Metamorphic
from jostle.mutators.mixed import Costed, Mixed
from jostle.mutators.neuron_choice import NeuronChoice, near, uncovered
from jostle.mutators.noise import Noise
from jostle.mutators.perturbations import occlusion
from jostle.mutators.table import TableSteps
from jostle.mutators.text import TextEdits
from jostle.mutators.tokens import TokenEdits
from jostle.mutators.transform_ranges import careful
from jostle.randomness import randomness
from jostle.records import Candidates
from jostle.subjects.torch_target import TorchTarget
from jostle.zoo import lenet1
from making import batch_of, placements_of, texts_of

VALUES = ((5, 3), (2, 3, 8, 8), (1, 7, 2))
ANY_VALUES = (*VALUES, (4, 1), (3, 1, 1), (5, 2, 1, 3, 2, 2), (7,))
IMAGES = ((2, 3, 8, 8), (2, 1, 9, 6), (2, 1, 3, 8, 8))  # the last are volumes
VOLUMES = ((2, 3, 5, 8, 6), (3, 1, 1, 6, 6))
DIGITS = ((3, 1, 28, 28),)  # what a LeNet takes
WAVES = ((2, 1, 400), (3, 2, 300), (4, 250))  # sounds with one channel, with two, and without
PACKED = ((2, 38), (5, 38))  # a picture of 5 by 7 pixels, and three numbers


@dataclass(frozen=True)
class Case:
    """A mutator with the value range and the L∞ radius it promises to keep, and what parents it is made for."""

    make: Callable[[], Mutator]
    low: float = 0.0
    high: float = 1.0
    radius: float = float("inf")
    away: float = 1.0  # how far parents may be from their root, as a share of the range
    shapes: tuple[tuple[int, ...], ...] = VALUES  # among those that it takes
    fewer: bool = False  # may make fewer children than it is given rows, though never none
    domain: Domain | None = None  # that it keeps, where that is more than a range

    @property
    def parents(self) -> tuple[int, ...]:
        """The shape of a few parents."""
        shapes = {
            DIGITS: (6, 1, 28, 28),
            VOLUMES: (6, 1, 3, 4, 4),
            ROWS: (6, 7),
            PACKED: (6, 38),
            WAVES: (6, 1, 300),
            ROWS_OF_TOKENS: (6, 24),
        }
        return shapes.get(self.shapes, (6, 1, 4, 4))


ROWS = ((5, 7), (1, 7))  # of the table
TABLE = Table(
    (
        *(Column(name, ColumnKind.REAL, 0, 10) for name in ("a", "b", "c")),
        *(Column(name, ColumnKind.INTEGER, 0, 10) for name in ("d", "e")),
        Column("f", ColumnKind.CATEGORY, 0, 10, codes=(0.0, 5.0, 10.0)),
        Column("g", ColumnKind.BOOLEAN, 0, 1),
    ),
    (Group(Together.ORDERED, (0, 1)),),
)


def table_steps(**choices: Any) -> TableSteps:
    seeds = TABLE.nearest(torch.rand(50, 7, generator=randomness(5, 0)) * 10, torch.zeros(50, 7))
    return TableSteps(TABLE, seeds, **choices)


WATCHED = (("conv1", 4), ("conv2", 12))


def ascent(**choices: Any) -> Ascent:
    target = TorchTarget(lenet1(), [name for name, _ in WATCHED], extremes=True)
    return Ascent(target, AnotherClass(10, 4), 0, 1, **choices)


def towards_neurons() -> Ascent:
    return ascent(choice=NeuronChoice(WATCHED, 4, (near, uncovered)))


SENTENCES = Tokens(500, pad=0, special=(1,))
FULL_ROWS = Tokens(256)
TEXTS = Tokens(UNICODE, 0, kind="text", mutator="text")
ROWS_OF_TOKENS = ((5, 24), (2, 9))


def embedding_steps() -> BoundedEdits:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        lookup, scores = torch.nn.Embedding(500, 8), torch.nn.Linear(8, 10)
    model = torch.nn.Sequential(lookup, MeanOfRow(), scores)
    steps = EmbeddingEdits(TorchTarget(model), AnotherClass(10, 4), SENTENCES, lookup.weight.detach())
    return BoundedEdits(SENTENCES, steps)


class MeanOfRow(torch.nn.Module):
    def forward(self, looked_up: torch.Tensor) -> torch.Tensor:
        return looked_up.tanh().mean(1)


def mixed(**mutators: Mutator) -> Mixed:
    return Mixed({name: Costed(mutator) for name, mutator in mutators.items()})


def each(low: float, high: float, **mutators: Mutator) -> Each:
    layout = Layout((Field("picture", (1, 5, 7)), Field("numbers", (3,))))
    domains = {"picture": ValueRange(low, high, IMAGE), "numbers": ValueRange(low, high)}
    named = {name: "metamorphic" if isinstance(one, Metamorphic) else "noise" for name, one in mutators.items()}
    return Each(Several(layout, domains, named, {}), mutators)


MUTATORS: dict[str, Case] = {
    "noise": Case(lambda: Noise(0.1, 0, 1)),
    "violent noise": Case(lambda: Noise(50, 0, 1)),
    "noise in a ball": Case(lambda: Noise(0.3, 0, 1, radius=0.2), radius=0.2),
    "noise on bytes": Case(lambda: Noise(25, 0, 255, radius=16), 0, 255, 16),
    "noise around zero": Case(lambda: Noise(0.2, -1, 1, radius=0.4), -1, 1, 0.4),
    "havoc": Case(lambda: Havoc(0, 1), shapes=ANY_VALUES),
    "havoc around zero": Case(lambda: Havoc(-1, 1), -1, 1, shapes=ANY_VALUES),
    "havoc in a ball": Case(lambda: Havoc(-1, 1, radius=0.2), -1, 1, 0.2, shapes=ANY_VALUES),
    "havoc on bytes": Case(lambda: Havoc(0, 255, radius=16), 0, 255, 16),
    "havoc far from zero": Case(lambda: Havoc(1000, 1001), 1000, 1001),
    "noise and havoc": Case(lambda: mixed(noise=Noise(0.1, 0, 1), havoc=Havoc(0, 1))),
    "metamorphic": Case(lambda: Metamorphic(0, 1), away=0.1, shapes=IMAGES),
    "metamorphic on bytes": Case(lambda: Metamorphic(0, 255), 0, 255, away=0.1, shapes=IMAGES),
    "metamorphic around zero": Case(lambda: Metamorphic(-1, 1), -1, 1, away=0.1, shapes=IMAGES),
    "metamorphic, careful, from edges": Case(
        lambda: Metamorphic(0, 1, transforms=careful((1, 8, 8)), border="edge"), away=0.1, shapes=IMAGES
    ),
    "metamorphic on mirrored volumes": Case(
        lambda: Metamorphic(-1, 1, transforms=careful((1, 3, 8, 8)), border="reflect"), -1, 1, away=0.1, shapes=VOLUMES
    ),
    "gradient": Case(towards_neurons, shapes=DIGITS, fewer=True),
    "gradient in a box, as images": Case(
        lambda: ascent(perturbation=occlusion, as_images=True), shapes=DIGITS, fewer=True
    ),
    "tokens": Case(
        lambda: BoundedEdits(SENTENCES, TokenEdits(SENTENCES)), 0, 499, shapes=ROWS_OF_TOKENS, domain=SENTENCES
    ),
    "tokens without padding": Case(
        lambda: BoundedEdits(FULL_ROWS, TokenEdits(FULL_ROWS), 3), 0, 255, shapes=ROWS_OF_TOKENS, domain=FULL_ROWS
    ),
    "text": Case(
        lambda: BoundedEdits(TEXTS, TextEdits(TEXTS, {"ab": ["cd"]})), 0, UNICODE, shapes=ROWS_OF_TOKENS, domain=TEXTS
    ),
    "embedding": Case(embedding_steps, 0, 499, shapes=ROWS_OF_TOKENS, domain=SENTENCES),
    "noise and metamorphic": Case(
        lambda: mixed(noise=Noise(0.1, 0, 1), metamorphic=Metamorphic(0, 1)), away=0.1, shapes=IMAGES
    ),
    "noise and gradient": Case(
        lambda: mixed(noise=Noise(0.1, 0, 1), gradient=towards_neurons()), shapes=DIGITS, fewer=True
    ),
    "audio": Case(lambda: Sounding(8000), -1, 1, away=0.1, shapes=WAVES),
    "audio, far from the seed": Case(lambda: Sounding(8000, snr=0), -1, 1, shapes=WAVES),
    "each, in a ball": Case(
        lambda: each(-1, 1, picture=Noise(0.3, -1, 1, 0.2), numbers=Noise(0.1, -1, 1, 0.2)),
        *(-1, 1, 0.2),
        shapes=PACKED,
    ),
    "each, moved": Case(
        lambda: each(0, 1, picture=Metamorphic(0, 1), numbers=Noise(0.1, 0, 1)), away=0.1, shapes=PACKED
    ),
    "each, by havoc": Case(lambda: each(-1, 1, picture=Havoc(-1, 1), numbers=Havoc(-1, 1)), -1, 1, shapes=PACKED),
    "table": Case(lambda: table_steps(), 0, 10, shapes=ROWS, domain=TABLE),
    "table in a ball": Case(lambda: table_steps(radius=0.2, columns=7), 0, 10, 2.0, shapes=ROWS, domain=TABLE),
    "table, columns together": Case(lambda: table_steps(joint=1.0), 0, 10, shapes=ROWS, domain=TABLE),
}
every_mutator = pytest.mark.parametrize("name", MUTATORS)


def parents_for(case: Case, seed: int, shape: tuple[int, ...] = ()) -> Candidates:
    """Parents somewhere in the ball around their root seeds, which touch both ends of the range; ids go up from 100."""
    rng = randomness(seed, 0)
    shape = shape or case.parents
    if isinstance(case.domain, Tokens):
        return rows_of_tokens(case.domain, shape, rng)
    span = case.high - case.low
    references = (torch.rand(shape, generator=rng) * 1.4 - 0.2).clamp(0, 1) * span + case.low
    away = (torch.rand(shape, generator=rng) * 2 - 1) * min(case.radius, case.away * span)
    labels = torch.full(shape[:1], 8)  # what a LeNet takes most such noise for
    inputs = (references + away).clamp(case.low, case.high)
    if case.domain is not None:
        references = inputs = case.domain.nearest(inputs, references)
    return batch_of(inputs, labels, references)


def rows_of_tokens(domain: Tokens, shape: tuple[int, ...], rng: torch.Generator) -> Candidates:
    """Parents one token away from their roots, of several lengths where there is padding."""
    high = 91 if domain.kind == "text" else domain.vocabulary
    roots = torch.randint(65, high, shape, generator=rng)
    if domain.pad is not None:
        lengths = torch.randint(shape[1] // 2, shape[1] + 1, shape[:1], generator=rng)
        roots = roots.masked_fill(torch.arange(shape[1]) >= lengths[:, None], domain.pad)
        roots[:, 0] = 1 if 1 in domain.special else roots[:, 0]
    parents = roots.clone()
    parents[:, 1] = (roots[:, 1] - 65 + 1) % (high - 65) + 65
    return batch_of(parents, torch.full(shape[:1], 8), roots)


def own_parents(children: Candidates, parents: Candidates) -> Candidates:
    """The parent of each child, found by its id."""
    return parents.select(children.parents - 100)


@every_mutator
@settings(deadline=None, derandomize=True, max_examples=50)
@given(seed=st.integers(0, 10**6))
def test_children_stay_in_the_range_and_in_the_ball_around_their_root(name: str, seed: int) -> None:
    case = MUTATORS[name]
    parents = parents_for(case, seed)
    children = case.make().mutate(parents, randomness(seed, 1))
    assert children.inputs.isfinite().all()
    assert case.low <= float(children.inputs.min()) <= float(children.inputs.max()) <= case.high
    assert case.domain is None or case.domain.outside(children.inputs) is None
    change = (children.inputs.double() - own_parents(children, parents).references.double()).abs().max()
    assert float(change) <= case.radius + 1e-6 * case.high


@every_mutator
def test_parents_have_one_child_each_in_their_shape_and_lineage(name: str) -> None:
    case = MUTATORS[name]
    for shape in case.shapes:
        parents = parents_for(case, 0, shape)
        children = case.make().mutate(parents, randomness(0, 1))
        assert (children.inputs.shape, children.inputs.dtype) == (shape, parents.inputs.dtype)
        assert children.parents.sort().values.equal(parents.parents)
        for field in ("originals", "roots", "labels"):
            assert torch.equal(getattr(children, field), getattr(own_parents(children, parents), field))
        assert len(children) == len(parents) == len(placements_of(children)) and all(texts_of(children))


@every_mutator
def test_no_row_has_two_children_and_only_mutators_that_may_leave_rows_out(name: str) -> None:
    case = MUTATORS[name]
    parents = parents_for(case, 0).select(torch.tensor([0, 1, 0, 0, 2, 0, 1, 0]))
    children = case.make().mutate(parents, randomness(0, 1))
    rows, made = (some.parents.bincount(minlength=103) for some in (parents, children))
    assert (made <= rows).all() and len(children) > 0
    assert case.fewer or torch.equal(made, rows)


@every_mutator
def test_every_child_differs_from_its_parent_and_from_its_siblings(name: str) -> None:
    case = MUTATORS[name]
    parents = parents_for(case, 0)
    children = case.make().mutate(parents.select(torch.tensor([0, 0, 1, 1])), randomness(0, 1))
    assert (children.inputs != own_parents(children, parents).inputs).flatten(1).any(1).all()
    assert len(children.inputs.unique(dim=0)) == len(children)


@every_mutator
def test_parents_are_left_as_they_were(name: str) -> None:
    case = MUTATORS[name]
    parents = parents_for(case, 0)
    fields = (lambda rows: rows.inputs, lambda rows: rows.references, lambda rows: rows.originals, placements_of)
    before = [field(parents).clone() for field in fields]
    case.make().mutate(parents, randomness(0, 1)).inputs.zero_()
    assert all(torch.equal(field(parents), was) for field, was in zip(fields, before, strict=True))


@every_mutator
def test_the_generator_alone_decides_the_children(name: str) -> None:
    case = MUTATORS[name]
    parents = parents_for(case, 0)
    torch.manual_seed(1)
    first = case.make().mutate(parents, randomness(7, 1)).inputs
    state = torch.get_rng_state()
    assert torch.equal(case.make().mutate(parents, randomness(7, 1)).inputs, first)
    assert not torch.equal(case.make().mutate(parents, randomness(7, 2)).inputs, first)
    assert torch.equal(torch.get_rng_state(), state)
