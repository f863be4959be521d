"""The six neuron criteria against slow and obvious counting, through the feedback that carries them."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from jostle.errors import UsageError
from jostle.feedback.criteria import LEVELS, ActiveNeurons, Activity, Boundaries, Criterion, Ranked, Sections
from jostle.feedback.neurons import NeuronCoverage
from jostle.profile import Layers, Profile
from jostle.randomness import randomness
from jostle.records import Trace
from making import assessed, trace_of

LAYERS: Layers = (("early", 3), ("single", 1), ("late", 4))
SIZES = [size for _, size in LAYERS]
# Every number below is a multiple of 1/8 and every width a power of 2, so that no quotient is within rounding of a
# border. The third and the last neuron are constant.
LOW = [0.0, -1.0, 0.5, -2.0, 0.0, 0.25, -4.0, 1.0]
HIGH = [1.0, 1.0, 0.5, 2.0, 2.0, 0.75, -2.0, 1.0]
PROFILE = Profile(LAYERS, torch.tensor(LOW), torch.tensor(HIGH), inputs=10)
LIVE = [neuron for neuron in range(8) if LOW[neuron] < HIGH[neuron]]

Units = Iterable[Hashable]


@dataclass(frozen=True)
class Row:
    """What one input did, as plain numbers."""

    values: list[float]  # of all neurons
    extremes: list[list[float]]  # smallest and largest of each layer

    def by_layer(self) -> list[list[tuple[int, float]]]:
        """(neuron, value) of each layer."""
        numbered = iter(enumerate(self.values))
        return [[next(numbered) for _ in range(size)] for size in SIZES]


def active(row: Row, threshold: float, levels: int) -> Units:
    for layer, (smallest, largest) in zip(row.by_layer(), row.extremes, strict=True):
        for neuron, value in layer:
            scaled = (value - smallest) / (largest - smallest) if largest > smallest else 0.0
            if scaled > threshold:
                yield neuron, "active"
            else:
                yield neuron, min(levels - 1, math.floor(scaled / threshold * levels))


def sections(row: Row, k: int) -> Units:
    for neuron in LIVE:
        value, low, high = row.values[neuron], LOW[neuron], HIGH[neuron]
        if low <= value <= high:
            yield neuron, min(k - 1, math.floor((value - low) * k / (high - low)))


def beyond(row: Row, both_sides: bool, buckets: int, k: int) -> Units:
    for neuron in LIVE:
        value, low, high = row.values[neuron], LOW[neuron], HIGH[neuron]
        lower = value < (low + high) / 2
        if lower and not both_sides:
            continue
        distance = (low - value if lower else value - high) / (high - low)
        if distance > 0:
            yield neuron, lower, "bucket", min(buckets - 1, math.floor(distance * k))
        else:
            yield neuron, lower, "level", min(LEVELS - 1, math.floor(LEVELS + distance * 2 * LEVELS))


def ranked(row: Row, k: int, least: bool) -> Units:
    for layer in row.by_layer():
        for neuron, value in layer:
            rank = sum(other <= value if least else other >= value for _, other in layer) - 1
            if rank < k:
                yield neuron, rank


@dataclass(frozen=True)
class Case:
    """A criterion, what it should count in a row, and the figures that should follow."""

    make: Callable[[Layers], Criterion]
    units: Callable[[Row], Units]
    figures: Callable[[set[Hashable]], dict[str, float]]


def _neurons(threshold: float, levels: int) -> Case:
    return Case(
        lambda layers: ActiveNeurons(layers, threshold, levels),
        lambda row: active(row, threshold, levels),
        lambda seen: {"covered": sum(unit[1] == "active" for unit in seen) / 8, "neurons": 8},  # type: ignore[index]
    )


def _sections(k: int) -> Case:
    return Case(
        lambda layers: Sections(PROFILE, k),
        lambda row: sections(row, k),
        lambda seen: {"covered": len(seen) / (6 * k), "neurons": 6, "excluded": 2},
    )


def _boundaries(both: bool, buckets: int, k: int) -> Case:
    # No neuron whose range ends at just 0 goes below it, none whose range ends at just 1 goes above: of six, two each.
    sides, ceiling = (2, (4 / 6 + 4 / 6) / 2) if both else (1, 4 / 6)
    return Case(
        lambda layers: Boundaries(PROFILE, both, buckets, k),
        lambda row: beyond(row, both, buckets, k),
        lambda seen: {
            "covered": len({unit[:2] for unit in seen if "bucket" in unit}) / (6 * sides),  # type: ignore
            "ceiling": pytest.approx(ceiling),
            "buckets": sum("bucket" in unit for unit in seen) / (6 * sides * buckets),  # type: ignore
            "neurons": 6,
            "excluded": 2,
        },
    )


def _ranked(k: int, least: bool) -> Case:
    attainable = sum(size * min(size, k) for size in SIZES)
    return Case(
        lambda layers: Ranked(layers, k, least),
        lambda row: ranked(row, k, least),
        lambda seen: {
            "covered": len({neuron for neuron, _ in seen}) / 8,  # type: ignore[misc]
            "ranks": len(seen) / attainable,
            "neurons": 8,
        },
    )


CASES = {
    **{f"nc {share} by {levels}": _neurons(share, levels) for share, levels in ((0.25, 8), (0.5, 1), (0.75, 8))},
    **{f"kmnc {k}": _sections(k) for k in (1, 2, 3, 1000)},
    **{f"nbc {buckets} of {k}": _boundaries(True, buckets, k) for buckets, k in ((1, 1), (3, 2), (10, 1000))},
    **{f"snac {buckets} of {k}": _boundaries(False, buckets, k) for buckets, k in ((1, 1), (3, 2), (10, 1000))},
    **{f"tknc {k}": _ranked(k, False) for k in (1, 2, 4)},
    **{f"bknc {k}": _ranked(k, True) for k in (1, 2, 4)},
}
ODD = torch.tensor([torch.nan, torch.inf, -torch.inf])


def rows_from(seed: int, count: int, odd: float) -> Tensor:
    """Activations [count, 8], a share of them not finite, many at the very end of a range."""
    rng = randomness(seed, count)
    values = torch.randint(-48, 48, (count, 8), generator=rng) / 8
    kinds = torch.randint(8, values.shape, generator=rng)
    values = torch.where(kinds == 0, PROFILE.low, torch.where(kinds == 1, PROFILE.high, values))
    strange = ODD[torch.randint(3, values.shape, generator=rng)]
    return torch.where(torch.rand(values.shape, generator=rng) < odd, strange, values)


batches_of_rows = st.lists(
    st.builds(rows_from, st.integers(0, 10**6), st.integers(1, 12), st.sampled_from([0.0, 0.02, 0.1])),
    min_size=1,
    max_size=4,
)


def seen_in(rows: Tensor, widened: float = 0.5) -> Trace:
    """A trace of these neurons, whose layers hold values that go further than the neurons do."""
    parts = {name: part for (name, _), part in zip(LAYERS, rows.split(SIZES, 1), strict=True)}
    extremes = {
        name: torch.stack([part.amin(1), part.amax(1) + widened * index], 1)
        for index, (name, part) in enumerate(parts.items())
    }
    return trace_of(rows, activations=parts, extremes=extremes)


def plain(trace: Trace) -> list[Row | None]:
    """The rows of a trace; None for one that is not finite everywhere."""
    values = torch.cat(list(trace.activations.values()), 1)
    extremes = torch.stack(list(trace.extremes.values()), 1)
    both = zip(values.tolist(), extremes.tolist(), strict=True)
    return [Row(one, ends) if all(map(math.isfinite, one)) else None for one, ends in both]


@pytest.mark.parametrize("name", CASES)
@settings(deadline=None, derandomize=True, max_examples=40)
@given(batches=batches_of_rows)
def test_each_criterion_counts_what_slow_counting_counts(name: str, batches: Sequence[Tensor]) -> None:
    case = CASES[name]
    feedback = NeuronCoverage(name, case.make)
    seen: set[Hashable] = set()
    for trace in map(seen_in, batches):
        expected = []
        for row in plain(trace):
            new = set(case.units(row)) - seen if row else set()
            expected.append(len(new))
            seen |= new
        assert assessed(feedback, trace).tolist() == expected
    assert feedback.coverage() == {name: case.figures(seen)}


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_claimed_before_the_first_batch(name: str) -> None:
    assert NeuronCoverage(name, CASES[name].make).coverage() == {name: {}}


def one_neuron(low: float, high: float) -> Profile:
    return Profile((("only", 1),), torch.tensor([low]), torch.tensor([high]), 2)


def feedback_of(criterion: Criterion) -> NeuronCoverage:
    return NeuronCoverage("it", lambda layers: criterion)


def gains(feedback: NeuronCoverage, *values: float) -> list[float]:
    """What is gained by inputs that give the only neuron these values."""
    seen = {"only": torch.tensor(values)[:, None]}
    return assessed(feedback, trace_of(torch.zeros(len(values), 1), activations=seen)).tolist()


def test_both_ends_of_the_range_lie_within_it() -> None:
    assert gains(feedback_of(Sections(one_neuron(0, 1), 1000)), 0.0, 1.0, 0.9995, 0.0005) == [1, 1, 0, 0]
    boundaries = feedback_of(Boundaries(one_neuron(0.5, 2), True))
    gains(boundaries, 0.5, 2.0, 1.25)
    assert boundaries.coverage()["it"]["covered"] == 0


def test_boundaries_fill_bucket_by_bucket_and_the_last_has_no_end() -> None:
    feedback = feedback_of(Boundaries(one_neuron(0.5, 2.5), True, buckets=3, sections=2))  # buckets are 1 wide
    assert gains(feedback, 2.75, 3.25, 3.75, 4.75, 1e30, 0.25, -1.0, -1e30, -9.0) == [1, 0, 1, 1, 0, 1, 1, 1, 0]
    assert feedback.coverage()["it"]["covered"] == feedback.coverage()["it"]["buckets"] == 1


def test_levels_lead_to_a_boundary_and_count_for_nothing() -> None:
    feedback = feedback_of(Boundaries(one_neuron(-1.0, 1.0), False))
    assert gains(feedback, -0.5, 0.0, 0.5, 0.505, 0.53, 1.0) == [0, 1, 1, 0, 1, 1]
    assert feedback.coverage()["it"]["covered"] == feedback.coverage()["it"]["buckets"] == 0
    assert gains(feedback, 1.5) == [1]
    assert feedback.coverage()["it"]["covered"] == 1


@pytest.mark.parametrize("ends", [(-3e38, 3e38), (0.0, 1e-36), (0.0, 2e-38)], ids=str)
def test_a_range_too_wide_or_too_narrow_to_be_cut_is_left_out_like_a_constant(ends: tuple[float, float]) -> None:
    assert one_neuron(*ends).constant.tolist() == [True]


def test_a_layer_whose_values_differ_by_more_than_a_float_holds_is_no_crash() -> None:
    values = torch.tensor([[3e38, -3e38, 0.0]])
    trace = trace_of(values, activations={"it": values}, extremes={"it": torch.tensor([[-3e38, 3e38]])})
    assert assessed(NeuronCoverage("nc", ActiveNeurons), trace).isfinite().all()


def test_rounding_in_batches_of_another_size_is_not_beyond_the_range() -> None:
    for make in (Sections, lambda profile: Boundaries(profile, True)):
        feedback = feedback_of(make(one_neuron(0.25, 0.75)))
        gains(feedback, 0.25, 0.75)
        before = feedback.coverage()
        assert gains(feedback, 0.25 - 1e-6, 0.75 + 1e-6) == [0, 0]
        assert feedback.coverage() == before


def test_without_a_neuron_that_has_a_range_there_is_nothing_to_measure() -> None:
    for make in (Sections, lambda profile: Boundaries(profile, True)):
        with pytest.raises(UsageError, match="every neuron is constant"):
            make(one_neuron(0.3, 0.3))


@pytest.mark.parametrize(
    ("make", "option"),
    [
        (lambda: ActiveNeurons(LAYERS, 1.0), "--active 1.0"),
        (lambda: ActiveNeurons(LAYERS, 0.0), "--active 0.0"),
        (lambda: ActiveNeurons(LAYERS, -0.1), "--active -0.1"),
        (lambda: ActiveNeurons(LAYERS, math.nan), "--active nan"),
        (lambda: Sections(PROFILE, 0), "--sections 0"),
        (lambda: Boundaries(PROFILE, True, buckets=0), "--buckets 0"),
        (lambda: Boundaries(PROFILE, False, sections=-1), "--sections -1"),
        (lambda: Ranked(LAYERS, 0), "--top 0"),
        (lambda: Ranked(LAYERS, 1000), "--top 1000: the largest watched layer has"),
    ],
)
def test_a_bad_parameter_is_refused_by_its_flag(make: Callable[[], Criterion], option: str) -> None:
    with pytest.raises(UsageError, match=option):
        make()


def test_a_layer_that_does_not_run_counts_as_zero() -> None:
    feedback = NeuronCoverage("tknc", lambda layers: Ranked(layers, 1))
    both = {"a": torch.tensor([[1.0, 2.0]]), "b": torch.tensor([[0.0, 3.0]])}
    assert assessed(feedback, trace_of(torch.zeros(1, 1), activations=both)).tolist() == [2]
    only = {"a": torch.tensor([[1.0, 3.0]])}
    assert assessed(feedback, trace_of(torch.zeros(1, 1), activations=only)).tolist() == [0]  # the zeros of b tie


@pytest.mark.parametrize("least", [False, True])
def test_a_layer_of_one_value_tells_nothing_of_who_is_most_or_least_active(least: bool) -> None:
    feedback = NeuronCoverage("it", lambda layers: Ranked(layers, 2, least))
    flat = {"wide": torch.zeros(1, 4), "narrow": torch.zeros(1, 2)}
    assert assessed(feedback, trace_of(torch.zeros(1, 1), activations=flat)).tolist() == [
        2
    ]  # those of the narrow layer
    assert feedback.coverage()["it"]["covered"] == 2 / 6


def test_neurons_that_tie_share_the_last_of_their_places() -> None:
    criterion = Ranked((("it", 6),), 4)
    values = torch.tensor([[5.0, 7, 5, 1, 1, 1]])
    units = criterion.units(Activity(values, values[:, :0]))
    found = sorted(divmod(unit, 4) for unit in units.flatten().tolist() if unit < criterion.total)
    assert found == [(0, 2), (1, 0), (2, 2)]
