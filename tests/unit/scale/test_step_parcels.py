"""Steps and news as messages: decode∘encode is identity, and bytes of anybody else are refused."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest
import torch
from torch import Tensor

from jostle.inputs.geometry import Border, Placements, unmoved
from jostle.lineage import Mutation, Untouched
from jostle.mutations import Mutations
from jostle.records import NO_TRACE, Candidates, Failures, Finding, Seeds, Trace, Violation
from jostle.scale.parcel import Parcel
from jostle.scale.requests import BeginRequest, RoundFigures, RoundRequest, WorkerSetup
from jostle.scale.step_parcels import DoneRound, News, StepParcels, only_roots
from jostle.step_records import DoneStep, OwnStep, Tries
from making import NOISE, placements_of, seeds_of, trace_of

SEEDS = seeds_of(torch.rand(4, 1, 3, 3, generator=torch.Generator().manual_seed(1)), torch.tensor([3, 2, 1, 0]))
PARCELS = StepParcels(SEEDS)
NOBODY = PARCELS.nothing


def mutants(border: Border | None = None) -> Candidates:
    """One of each seed; with a border the last was moved aside on the way."""
    seeds, placements = SEEDS.as_candidates(), unmoved(4)
    placements[3, 0, 2] = 0.5
    mutations = Mutations.of([NOISE, Mutation(("blur 3", "noise")), NOISE, Mutation(("translation 0.25",))])
    lineage = Untouched(4) if border is None else Placements(placements, border)
    return Candidates(seeds.inputs / 2, SEEDS, torch.tensor([0, 7, 2, 5]), seeds.roots, mutations, lineage)


def traced(rows: int) -> Trace:
    values = torch.arange(rows * 3.0).reshape(rows, 3)
    return trace_of(values, values + 1, {"conv1": values * 2, "fc": values[:, :1]}, {"loss": values[:, 0]},
                    {"conv1": values[:, :2]}, others={"second": values.double()})  # fmt: skip


def found(bug: int, alone: bool = True, row: int = 1) -> Finding:
    details = {"place": "conv1", "share": 0.1 + 0.2, "values": [1, None, "π"], "inside": {"a": True}}
    violation = Violation("nan", f"nan:{bug}", "NaN first in conv1", details)
    return Finding(violation, bug, 3, 44, mutants(Border.DARK).select(torch.tensor([row])), alone)


def failures() -> Failures:
    """Three tests of two inputs, one of which is no image file's."""
    return Failures(
        mutants().select(torch.tensor([1, 3])),
        torch.tensor([1, 3]),
        torch.tensor([0, 1, 1]),
        ("flip", "flip", "nan"),
        torch.tensor([5, 2**62, 0]),
        torch.tensor([4, -1, 9]),
        torch.tensor([True, False, True]),
    )


NOTHING = DoneStep(16, 16, NOBODY, NO_TRACE, (), (), {}, {}, Failures.none(NOBODY), {"model": 0.1 + 0.2})
STEPS = {
    "nothing": NOTHING,
    "kept": replace(NOTHING, kept=mutants(), trace=traced(4)),
    "moved": replace(NOTHING, kept=mutants(Border.DARK), trace=traced(4)),
    "moved with a mirror": replace(NOTHING, kept=mutants(list(Border)[-1]), trace=traced(4)),
    "found": replace(NOTHING, findings=(found(5), found(2**62, row=3)), violations={"nan": 3}, unconfirmed={"nan": 1}),
    "flaky": replace(NOTHING, flaky=(found(6, alone=False),), findings=(found(5),), violations={"nan": 2}),
    "failing": replace(NOTHING, failing=failures(), violations={"flip": 1, "nan": 1}, unconfirmed={"flip": 1}),
    "told by": replace(NOTHING, ran=3, by=OwnStep(worker=2, step=117)),
    "seeds": replace(NOTHING, kept=SEEDS.as_candidates(), trace=traced(4)),
}


def same(one: Any, other: Any) -> bool:
    """Whether two records say the same, whatever they are made of."""
    if isinstance(one, Candidates):
        pairs = [(getattr(one, name), getattr(other, name)) for name in ("inputs", "parents", "roots", "references")]
        return all(same(ours, theirs) for ours, theirs in [*pairs, (placements_of(one), placements_of(other))]) and (
            one.mutations == other.mutations and one.seeds is other.seeds
        )
    if isinstance(one, Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(same(value, other[name]) for name, value in one.items())
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    if is_dataclass(one):
        return all(same(getattr(one, field.name), getattr(other, field.name)) for field in fields(one))
    return bool(one == other)


def sent(parcel: Parcel) -> Parcel:
    return Parcel.decoded(parcel.encoded())


@pytest.mark.parametrize("name", STEPS)
def test_a_step_arrives_as_it_was_sent(name: str) -> None:
    (back,) = PARCELS.round_in(sent(PARCELS.of_round(DoneRound([STEPS[name]])))).steps
    assert same(back, STEPS[name])
    assert not any(same(back, other) for which, other in STEPS.items() if which != name)


def test_steps_of_a_round_arrive_in_their_order_with_the_files_and_figures_of_the_round() -> None:
    steps, files = [*STEPS.values(), *STEPS.values()], {"graphs/1.json": torch.arange(9, dtype=torch.uint8)}
    figures = RoundFigures(0.1 + 0.2, 1 / 3, 7, 1e-9, 16, True, {"known": 3}, {"blur": Tries(3, 1, "why")})
    done = DoneRound(steps, files, figures)
    assert same(PARCELS.round_in(sent(PARCELS.of_round(done))), done)


def test_a_round_without_steps_arrives_too() -> None:
    assert PARCELS.round_in(sent(PARCELS.of_round(DoneRound([])))) == DoneRound([])


def test_steps_of_a_round_are_joined_in_their_order_under_the_name_of_the_last() -> None:
    parts = [STEPS[name] for name in ("nothing", "kept", "failing", "found", "moved", "flaky", "failing", "told by")]
    one = DoneStep.joined(parts)
    assert (one.planned, one.ran, one.by) == (16 * 8, 16 * 7 + 3, OwnStep(worker=2, step=117))
    assert same(one.kept, Candidates.joined([mutants(), mutants(Border.DARK)]))
    assert same(one.trace.outputs, Trace.joined([traced(4), traced(4)]).outputs)
    assert same(one.findings, (found(5), found(2**62, row=3), found(5))) and same(one.flaky, (found(6, alone=False),))
    assert one.violations == {"nan": 7, "flip": 2} and one.unconfirmed == {"nan": 1, "flip": 2}
    assert one.seconds["model"] == pytest.approx(8 * 0.3)
    failing = one.failing
    assert failing.rows.tolist() == [33, 35, 97, 99] and failing.input_of.tolist() == [0, 1, 1, 2, 3, 3]
    assert failing.kinds == ("flip", "flip", "nan") * 2 and len(failing.bugs) == len(failing.answers) == 6
    assert torch.equal(failing.inputs.inputs[failing.input_of[3:]], failures().inputs.inputs[failures().input_of])


def test_steps_of_which_none_kept_anything_are_joined_too() -> None:
    one = DoneStep.joined([NOTHING, NOTHING])
    assert same(one.kept, NOBODY) and one.ran == 32 and not len(one.failing)
    assert same(DoneStep.joined([STEPS["kept"]]), STEPS["kept"])


@pytest.mark.parametrize("limit", [None, 800])
def test_requests_arrive_as_they_were_sent(limit: int | None) -> None:
    setup = WorkerSetup("fuzz", {"oracle": ["flip"]}, "abc", {"torch": "2"}, "/here", ["/a", "/b"])
    begin = BeginRequest(setup, 0.1 + 0.2, limit, [("nan", 5), ("flip", 2**62)], [("nan", 7)], 3)
    assert BeginRequest.of(sent(begin.parcel)) == begin
    asked = RoundRequest(limit, 1 / 3, 0.1, limit)
    assert RoundRequest.of(sent(asked.parcel)) == asked


WORKERS = torch.tensor([0, 2, 0, 1])


@pytest.mark.parametrize(
    ("told", "inputs_told"),
    [*((one, True) for one in (mutants(), *map(mutants, Border))), (only_roots(SEEDS, mutants().roots), False)],
)
def test_news_arrive_as_they_were_sent(told: Candidates, inputs_told: bool) -> None:
    bugs, flaky = frozenset({("nan", 5), ("flip", 2**62)}), frozenset({("nan", 7)})
    news = News(WORKERS, told, traced(4), bugs, flaky, inputs_told)
    assert same(PARCELS.news_in(sent(PARCELS.of_news(news))), news)
    rows = torch.empty(0, dtype=torch.int64)
    nothing = News(rows, told.select(rows), NO_TRACE, frozenset({("nan", 5)}), frozenset(), inputs_told)
    back = PARCELS.news_in(sent(PARCELS.of_news(nothing)))
    assert not len(back.kept) and back.bugs == nothing.bugs


def test_several_news_are_told_as_one() -> None:
    nobody = torch.empty(0, dtype=torch.int64)
    parts = [
        News(WORKERS, mutants(), traced(4), {("nan", 5)}, set()),
        News(nobody, NOBODY, NO_TRACE, {("flip", 1)}, {("nan", 6)}),
        News(WORKERS + 1, mutants(Border.DARK), traced(4), {("nan", 5)}, set()),
    ]
    joined = News.joined(parts)
    assert joined.workers.tolist() == [0, 2, 0, 1, 1, 3, 1, 2]
    assert same(joined.kept, Candidates.joined([mutants(), mutants(Border.DARK)]))
    assert same(joined.trace.outputs, Trace.joined([traced(4), traced(4)]).outputs)
    assert joined.bugs == {("nan", 5), ("flip", 1)} and joined.flaky == {("nan", 6)}
    assert same(News.joined([parts[1], parts[1]]).kept, NOBODY)


def test_a_worker_is_spared_what_it_kept_itself() -> None:
    news = News(WORKERS, mutants(), traced(4), {("nan", 5)}, set())
    others, rows = news.of_others(0), torch.tensor([1, 3])
    assert others.workers.tolist() == [2, 1] and others.bugs == news.bugs
    assert same(others.kept, mutants().select(rows)) and same(others.trace.outputs, traced(4).select(rows).outputs)
    assert news.of_others(7) is news


def test_values_and_arrays_of_every_type_arrive_as_they_were_sent() -> None:
    arrays = {
        "floats": torch.tensor([torch.nan, torch.inf, -0.0]),
        "doubles": torch.rand(2, 0, 3).double(),
        "bytes": torch.arange(5, dtype=torch.uint8),
        "whole": torch.tensor([-(2**63), 2**63 - 1]),
        "flags": torch.tensor([[True], [False]]),
        "halves": torch.tensor([0.5]).half(),
        "apart": torch.arange(12).reshape(3, 4).t(),
    }
    back = sent(Parcel({"text": "π", "none": None, "list": [1, [2.5]]}, arrays))
    assert back.fields == {"text": "π", "none": None, "list": [1, [2.5]]}
    assert back.arrays.keys() == arrays.keys()
    for name, array in arrays.items():
        assert back.arrays[name].dtype == array.dtype
        assert torch.equal(back.arrays[name].nan_to_num(9), array.nan_to_num(9)), name


def test_what_numpy_does_not_have_arrives_as_the_same_numbers() -> None:
    (back,) = sent(Parcel(arrays={"a": torch.tensor([0.5, -3.0]).bfloat16()})).arrays.values()
    assert back.tolist() == [0.5, -3.0]


WHOLE = Parcel({"a": 1}, {"b": torch.arange(4)}).encoded()
FOREIGN = {
    "nothing": b"",
    "a word": b"hello",
    "zeros": bytes(64),
    "cut": WHOLE[:-3],
    "cut in its header": WHOLE[:20],
    "a header beyond the end": struct.pack("<Q", 2**62) + WHOLE[8:],
    "longer": WHOLE + b"\0",
    "no fields": WHOLE.replace(b'"fields"', b'"fjelds"'),
    "fields that are no JSON": WHOLE.replace(b'{"a": 1}', b'{"a": 1)'),
    "a pickle": b"\x80\x04\x95\x1b\x00\x00\x00\x00\x00\x00\x00\x8c\x02os\x94\x8c\x05mkdir\x94\x93\x94.",
}


@pytest.mark.parametrize("name", FOREIGN)
def test_bytes_of_anybody_else_are_refused(name: str) -> None:
    with pytest.raises(ValueError):
        Parcel.decoded(FOREIGN[name])


def test_entries_that_do_not_fit_the_seeds_are_refused() -> None:
    other: Seeds = seeds_of(torch.rand(2, 1, 5, 5))
    parcel = sent(PARCELS.of_round(DoneRound([STEPS["kept"]])))
    with pytest.raises(ValueError, match="a worker's step has inputs"):
        StepParcels(other).round_in(parcel)
