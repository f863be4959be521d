"""Which defects make a command fail."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaign_folders import defect
from jostle.catalogue import ORACLES
from jostle.composition.contradictions import refuse_contradictions
from jostle.composition.settle import FUZZ
from jostle.errors import UsageError
from jostle.frameworks.judging.disagreement import Symptom
from jostle.options.schema import Schema
from jostle.oracles.properties import PROPERTY
from jostle.storage.defect_record import Cause, Defect
from jostle.storage.defects import defect_as_json, write_defects
from jostle.triage.gate import Gate, GateOptions, gate_of, refuse_unknown_kinds
from jostle.triage.kinds import KINDS, family

SCHEMA = Schema(GateOptions)
KIND = st.sampled_from(["nan", "crash", "flip", "agree int8", "agree float16", "property"])


def of_kinds(*kinds: str) -> list[Defect]:
    one = defect(0, ["0001-flip-x"])
    return [Defect(**{**vars(one), "cause": Cause(kind, "what", "", "", 0)}) for kind in kinds]


def gate(**options: object) -> Gate | None:
    return gate_of(asked(**options))


def asked(**options: object) -> GateOptions:
    return SCHEMA.parsed(options).of(GateOptions)


def written(path: Path, *kinds: str) -> str:
    path.write_text(json.dumps({"defects": [defect_as_json(one) for one in of_kinds(*kinds)]}))
    return str(path)


def test_every_kind_that_an_oracle_or_a_framework_can_have_may_be_named() -> None:
    assert {*ORACLES, PROPERTY, *map(str, Symptom)} == set(KINDS)
    assert SCHEMA.parsed({"fail_on": ",".join(KINDS)}).get("fail_on") == tuple(KINDS)


def test_without_options_there_is_no_gate() -> None:
    assert gate() is None and gate(fail_on=()) is None


@given(st.lists(KIND), st.lists(KIND.map(family), min_size=1, unique=True))
def test_those_kinds_fail_that_were_named_with_all_their_twins(kinds: list[str], named: list[str]) -> None:
    failing = Gate(tuple(named)).excesses(of_kinds(*kinds))
    assert {one.kind for one in failing} == {kind for kind in kinds if family(kind) in named}
    assert sum(one.defects for one in failing) == sum(family(kind) in named for kind in kinds)


@given(st.lists(KIND), st.lists(KIND), st.lists(KIND, min_size=1))
def test_a_campaign_passes_its_own_baseline_and_any_larger_one_and_fails_one_with_less(
    kinds: list[str], fewer: list[str], more: list[str]
) -> None:
    here = of_kinds(*kinds)
    assert not Gate(known=Counter(kinds)).excesses(here)
    assert not Gate(known=Counter([*kinds, *fewer])).excesses(here)
    grown = of_kinds(*kinds, *more)
    assert {one.kind for one in Gate(known=Counter(kinds)).excesses(grown)} == set(more)


@given(st.lists(KIND), st.integers(0, 5))
def test_a_number_is_let_pass_of_each_kind(kinds: list[str], number: int) -> None:
    failing = Gate(of_each=number).excesses(of_kinds(*kinds))
    assert {one.kind: one.defects for one in failing} == {k: n for k, n in Counter(kinds).items() if n > number}


def test_both_together_fail_only_for_more_of_what_was_named(tmp_path: Path) -> None:
    baseline = written(tmp_path / "baseline.json", "nan", "flip")
    both = gate(fail_on="nan,crash", fail_if_more_than=baseline)
    assert both is not None
    assert not both.excesses(of_kinds("nan", "flip", "flip", "flip"))
    assert [str(one) for one in both.excesses(of_kinds("nan", "nan", "crash", "flip"))] == [
        "1 defect of kind crash, and 0 let pass",
        "2 defects of kind nan, and 1 let pass",
    ]


def test_a_defect_that_only_some_runs_show_counts() -> None:
    unstable = Defect(**{**vars(of_kinds("crash")[0]), "unstable": 0.4})
    assert Gate(("crash",)).excesses([unstable])


def test_the_list_of_a_campaign_is_a_baseline_too(tmp_path: Path) -> None:
    write_defects(tmp_path, of_kinds("nan", "nan", "crash"))
    assert gate(fail_if_more_than=str(tmp_path / "defects.json")) == Gate(known={"nan": 2, "crash": 1})


@pytest.mark.parametrize(("value", "number"), [("3", 3), (3, 3), ("0", 0)])
def test_a_number_may_be_a_text_or_a_number(value: object, number: int) -> None:
    assert gate(fail_if_more_than=value) == Gate(of_each=number)


@pytest.mark.parametrize(
    "content", ["{", "[]", "{}", '{"defects": 3}', '{"defects": [1]}', '{"defects": [{}]}', "[" * 5000, "\0", ""]
)
def test_a_file_that_is_no_baseline_is_refused_in_one_line(content: str, tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    path.write_text(content)
    with pytest.raises(UsageError, match=r"--fail-if-more-than .*: give a number, or the file") as refused:
        gate(fail_if_more_than=str(path))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["gone.json", "."])
def test_a_file_that_is_not_there_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"does not exist|is a folder"):
        gate(fail_if_more_than=str(tmp_path / name))


@pytest.mark.parametrize("oracles", [(), ("nan", "flip")])
def test_the_nearest_kind_is_named(oracles: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match=r"--fail-on .crsh. is unknown: did you mean crash\?"):
        refuse_unknown_kinds(asked(fail_on="nan,crsh"), oracles)
    with pytest.raises(UsageError, match=r"--fail-on .crsh. is unknown: did you mean crash\?"):
        refuse_contradictions(FUZZ.parsed({"fail_on": "nan,crsh", "oracle": oracles}))


def test_a_kind_of_an_own_oracle_may_be_named_where_it_can_be_known(tmp_path: Path) -> None:
    wanted = asked(fail_on="gain,nan")
    refuse_unknown_kinds(wanted, ["nan"], found=["gain int8"])
    refuse_unknown_kinds(asked(fail_on="gain", fail_if_more_than=written(tmp_path / "known.json", "gain")), ["nan"])
    for own in ("oracle.py:NoGain", "jostle.held:NoGain", "of_a_package"):
        refuse_unknown_kinds(wanted, ["nan", own])
    with pytest.raises(UsageError, match=r"--fail-on .gain. is unknown"):
        refuse_unknown_kinds(wanted, ["nan"], found=["flip"])


def test_fuzz_takes_both_and_they_do_not_tell_campaigns_apart() -> None:
    options = FUZZ.options
    assert all(options[name].may_change for name in ("fail_on", "fail_if_more_than"))
