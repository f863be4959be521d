"""A finding's record is read as it was written, or refused in one line that names the field."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from jostle.errors import OutputRefused
from jostle.lineage import NO_GRADIENT, SEED, Mutation
from jostle.records import Finding, Violation
from jostle.storage.finding_block import LONGEST_TEXT, encode_findings, finding_record_of, folders_in
from jostle.storage.finding_record import (
    DEPARTS,
    NOT_FINITE,
    RECORD,
    Answer,
    ChangeSizes,
    Confirmation,
    Divergence,
    FindingRecord,
    FinishedArray,
    FinishedGraph,
    GraphDefect,
    InputType,
    LabelChange,
    LayerDivergence,
    Location,
    decode_record,
    encode_record,
    record_as_json,
    record_from_json,
)
from jostle.storage.findings import recorded
from making import batch_of

TEXTS = st.text(max_size=12)
WHOLE = st.integers(1 - 2**63, 2**63 - 1)
NUMBERS = st.floats(allow_nan=False)
SIZES = st.builds(ChangeSizes, WHOLE, NUMBERS, NUMBERS, NUMBERS)
ANSWERS = st.dictionaries(TEXTS, st.dictionaries(TEXTS, st.builds(Answer, WHOLE, NUMBERS), max_size=3), max_size=4)
DIVERGENCES = st.builds(
    Divergence,
    TEXTS,
    st.none() | TEXTS,
    st.booleans(),
    st.lists(st.builds(LayerDivergence, TEXTS, TEXTS, NUMBERS, NUMBERS), max_size=3).map(tuple),
)
JSON = st.recursive(
    st.none() | st.booleans() | WHOLE | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
KNOWN = {
    **dict.fromkeys(("kind", "summary", "fingerprint", "seed"), TEXTS),
    "mutation": TEXTS.map(Mutation.parsed),
    **dict.fromkeys(("bug", "step", "execution", "root", "parent"), WHOLE),
    "alone": st.booleans(),
    "details": st.dictionaries(TEXTS, JSON, max_size=4),
}
CONFIRMATIONS = st.builds(
    lambda shown, hidden, same: Confirmation(shown + hidden, shown, same),
    *(st.integers(1, 9), st.integers(0, 9), st.booleans()),
)
ARRAYS = st.builds(
    FindingRecord,
    **KNOWN,
    input_type=st.just(InputType.ARRAY),
    largest_change=NUMBERS,
    finished=st.none()
    | st.builds(
        FinishedArray,
        SIZES,
        st.none() | SIZES,
        ANSWERS,
        st.none() | DIVERGENCES,
        st.none() | CONFIRMATIONS,
        st.none() | st.builds(Location, TEXTS, st.sampled_from([NOT_FINITE, DEPARTS]), NUMBERS, NUMBERS),
        st.none() | st.lists(KNOWN["mutation"], max_size=3).map(tuple),
    ),
    own_label=st.booleans(),
)
GRAPHS = st.builds(
    FindingRecord,
    **KNOWN,
    input_type=st.just(InputType.GRAPH),
    largest_change=st.none(),
    finished=st.none() | st.builds(FinishedGraph, st.booleans(), st.lists(TEXTS, max_size=3).map(tuple)),
)
SIZE = ChangeSizes(3, 1.5, 0.25, 1.0)
FLIP = FindingRecord(
    input_type=InputType.ARRAY,
    kind="flip",
    summary="label 3 became 5",
    fingerprint="flip:7:3:5",
    alone=True,
    bug=75,
    step=2,
    execution=24,
    seed="seed 7",
    root=7,
    parent=11,
    mutation=Mutation(("noise",)),
    largest_change=0.5,
    details={"label": 3, "taken for": 5, "scores": [0.25, "nan"]},
    finished=FinishedArray(
        SIZE,
        SIZE,
        {"seed": {"model": Answer(3, 0.9)}, "input": {}},
        Divergence("int8", "fc1", True, (LayerDivergence("fc1", "module.fc1", math.inf, 0.25),)),
        Confirmation(4, 3),
        Location("fc1", NOT_FINITE, -2.5, math.inf),
        (Mutation(("rotation 11",)), Mutation(("noise",), "noise")),
        cut_off=True,
    ),
    own_label=True,
)
GRAPH = replace(
    FLIP,
    input_type=InputType.GRAPH,
    largest_change=None,
    details={"signature": "torch predict values abs - float32 -", "phase": "predict"},
    finished=FinishedGraph(True, ("abs", "relu")),
)


MAY_BE_MISSING = (
    *("largest change", "minimised", "change", "divergence", "confirmation", "location", "steps"),
    *("reproduced by its script", "minimising was cut off", "label is the model's own answer"),
)


@given(ARRAYS | GRAPHS)
def test_what_was_written_is_read(record: FindingRecord) -> None:
    assert decode_record(encode_record(record_as_json(record))) == record


def test_a_size_that_is_no_number_is_read_as_it_was() -> None:
    again = record_from_json(record_as_json(replace(FLIP, largest_change=math.nan)))
    assert again.largest_change is not None and math.isnan(again.largest_change)


def nodes(content: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path to every field of a record, details left out, of which a user's property says what it likes."""
    inner = content.items() if isinstance(content, dict) else ()
    return [path] * bool(path) + [
        one for name, value in inner if name != "details" for one in nodes(value, (*path, name))
    ]


def changed(content: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    first, *rest = path
    return {**content, first: changed(content[first], tuple(rest), value) if rest else value}


def every_field() -> list[tuple[FindingRecord, tuple[Any, ...]]]:
    return [(record, path) for record in (FLIP, GRAPH) for path in nodes(record_as_json(record))]


@pytest.mark.parametrize(("record", "path"), every_field(), ids=lambda one: ".".join(one) if type(one) is tuple else "")
def test_a_field_of_another_type_is_refused_by_name(record: FindingRecord, path: tuple[Any, ...]) -> None:
    for value in (None, [None], "nonsense", -0.5, True):
        damaged = changed(record_as_json(record), path, value)
        try:
            read = record_from_json(damaged)
        except ValueError as error:
            assert "\n" not in str(error) and path[-1] in str(error)
        else:
            assert record_as_json(read) == damaged, "what is not refused is a value that the field can have"


@pytest.mark.parametrize("field", ["layer", "layer of the twin", "divergence", "on the seeds"])
def test_a_damaged_row_of_the_table_of_layers_is_refused_by_name(field: str) -> None:
    for value in (None, [None], True, {}):
        content = record_as_json(FLIP)
        content["divergence"]["layers"][0][field] = value
        with pytest.raises(ValueError, match=field):
            record_from_json(content)
    del content["divergence"]["layers"][0][field]
    with pytest.raises(ValueError, match=f"{field} is not there"):
        record_from_json(content)


@pytest.mark.parametrize("name", [path[0] for _, path in every_field() if len(path) == 1])
def test_a_field_that_is_missing_is_refused_by_name_unless_it_may_be(name: str) -> None:
    for record in (FLIP, GRAPH):
        content = {key: value for key, value in record_as_json(record).items() if key != name}
        if name in MAY_BE_MISSING:
            record_from_json(content)
        elif name in record_as_json(record):
            with pytest.raises(
                ValueError, match="it is of version None" if name == "version" else f"^{name} is not there$"
            ):
                record_from_json(content)


@pytest.mark.parametrize("content", [None, [], "text", 5])
def test_what_is_no_object_is_no_record(content: Any) -> None:
    with pytest.raises(ValueError, match="no JSON object"):
        record_from_json(content)


@pytest.mark.parametrize("version", [0, 3, "2", None])
def test_a_record_of_another_version_is_refused(version: Any) -> None:
    with pytest.raises(ValueError, match=f"version {version}, this Jostle reads 2"):
        record_from_json({**record_as_json(FLIP), "version": version})


def test_every_flipped_bit_of_a_record_is_noticed() -> None:
    whole = encode_record(record_as_json(FLIP))
    for place in range(len(whole)):
        flipped = bytearray(whole)
        flipped[place] ^= 4
        try:
            assert decode_record(bytes(flipped)) == FLIP
        except ValueError:
            continue


def test_what_our_own_code_reads_of_the_details_has_a_type() -> None:
    assert FLIP.label_change == LabelChange(label=3, taken_for=5)
    assert GRAPH.graph_defect == GraphDefect("torch predict values abs - float32 -", "predict")
    assert replace(FLIP, mutation=NO_GRADIENT).of_gradient and not FLIP.of_gradient
    of_seed = replace(FLIP, mutation=SEED)
    assert record_from_json(record_as_json(of_seed)) == of_seed
    for details in ({}, {"label": "three", "taken for": None}, {"signature": 5, "phase": []}):
        damaged = replace(FLIP, details=details)
        for read in (lambda one: one.label_change, lambda one: one.graph_defect):
            with pytest.raises(OutputRefused, match=r"finding flip:7:3:5 are damaged \(.*\): move its folder away$"):
                read(damaged)


def found(inputs: torch.Tensor, **details: Any) -> Finding:
    violation = Violation("nan", "nan:x", "NaN in x", details)
    return Finding(violation, 1, 2, 3, batch_of(inputs, references=torch.zeros_like(inputs)), True)


@pytest.mark.parametrize("dtype", [torch.int64, torch.float32, torch.uint8])
def test_the_campaign_says_whether_an_input_is_a_graph_and_not_its_dtype(dtype: torch.dtype) -> None:
    finding = found(torch.full((1, 4), 7, dtype=dtype))
    for input_type, largest in ((InputType.ARRAY, 7.0), (InputType.GRAPH, None)):
        (files,) = folders_in(encode_findings({"findings/0001-x": finding}, input_type)).values()
        record = decode_record(files[RECORD])
        assert (record.input_type, record.largest_change) == (input_type, largest)


def test_a_text_without_end_is_shortened_once_and_for_good() -> None:
    finding = found(torch.rand(1, 4), traceback="a" * LONGEST_TEXT + "end")
    record = finding_record_of(finding, InputType.ARRAY, 0.5)
    shortened = record.details["traceback"]
    assert len(shortened) < LONGEST_TEXT + 50 and shortened.endswith("end") and "3 characters left out" in shortened
    assert record_from_json(record_as_json(record)) == record


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'{"kind": "nan"}', b"[" * 100_000])
def test_a_damaged_record_is_refused_in_one_line_that_names_its_file(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "0001-x").mkdir()
    (tmp_path / "0001-x" / RECORD).write_bytes(content)
    with pytest.raises(OutputRefused, match=r"^.*finding\.json is damaged \(.*\): move its folder away$"):
        list(recorded(tmp_path))
