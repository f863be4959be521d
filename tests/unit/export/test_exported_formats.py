"""Every format is valid by its published schema and means the same, whatever strangers wrote into a campaign."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
import xmlschema
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from campaign_folders import defect
from jostle.export.exported import ExportedCampaign, exported_defects, line_of
from jostle.export.github import MOST_SHOWN, annotation_lines, command
from jostle.export.junit import junit
from jostle.export.location import location_of, seen_from
from jostle.export.markdown import as_text, markdown
from jostle.export.sarif import FINGERPRINT, sarif
from jostle.storage.campaign_record import CampaignRecord
from jostle.storage.defect_record import Defect
from jostle.storage.finding_record import InputType
from jostle.triage.kinds import KINDS
from jostle.visible import one_line, visible

SCHEMAS = Path(__file__).parents[2] / "schemas"
HOSTILE = [
    "</failure><script>alert(1)</script>",
    "]]>&quot;&#0;<!--",
    "\0\x01\x0b\x1b[31m\x7f\x85\u2028\u202e\ud800\uffff",
    "a\n::error title=x::y\r\n::stop-commands::z",
    "%0A::set-output name=x::1",
    "| a | b |\n|---|---|\n# heading\n- item\n1. one",
    "1) one\n2. two\n=====\n    code",
    "[click](https://evil.example) ![x](y) <b>bold</b> `code` *em* ~~no~~ @everyone #1 www.evil.example",
    "</summary></details><details open>",
    "{0} {placeholder} {{",
    "x" * 5000,
    "@|" * 600,
    "",
]
ANYTHING = st.one_of(st.text(st.characters(codec=None, exclude_categories=())), st.sampled_from(HOSTILE)) | st.text(
    "<>&'\"|`*_[]()#@:,%{}\\!~-+=.\n\r\t 1ab/"
)
hostile = pytest.mark.parametrize("words", HOSTILE, ids=range(len(HOSTILE)))


@cache
def sarif_validator() -> Any:
    schema = json.loads((SCHEMAS / "sarif-2.1.0.json").read_text(encoding="utf-8"))
    return jsonschema.Draft7Validator(schema)


@cache
def junit_schema() -> xmlschema.XMLSchema:
    return xmlschema.XMLSchema(SCHEMAS / "junit-10.xsd")


def worded(place: int, words: str, kind: str | None = None) -> Defect:
    one = defect(place, [f"{place + 1:04}-flip-x"], words)
    return replace(one, cause=replace(one.cause, kind=f"flip{words}" if kind is None else kind))


def exported(defects: list[Defect], words: str = "", model: str = "net.py:model") -> ExportedCampaign:
    source = location_of(f"{model}{words}", "/work", Path("/work"))
    return ExportedCampaign(
        version="0.1.0",
        model=line_of(f"{model}{words}", 200),
        source=source,
        folder=seen_from(f"runs/one{words}", "/work", Path("/work")),
        sentences=(line_of(f"It was tested{words}."), line_of(f"This was found{words}.")),
        notes=(line_of(f"A note{words}"),),
        defects=tuple(exported_defects(defects, Path(f"runs/one{words}"), source, CampaignRecord({}))),
    )


def checked_sarif(campaign: ExportedCampaign) -> dict[str, Any]:
    log = json.loads(sarif(campaign))
    sarif_validator().validate(log)
    (run,) = log["runs"]
    assert isinstance(run, dict)
    return run


def checked_junit(campaign: ExportedCampaign) -> ElementTree.Element:
    content = junit(campaign)
    junit_schema().validate(content.decode())
    return ElementTree.fromstring(content)


class Outline(HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        assert not attributes
        self.elements.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self.elements.append(f"/{tag}")

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)


def outlined(text: bytes) -> Outline:
    outline = Outline()
    outline.feed(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text.decode()))
    outline.close()
    return outline


def runners_view(lines: list[str]) -> Iterator[tuple[str, dict[str, str], str]]:
    """What the runner of GitHub Actions makes of lines: name, properties and message of each command."""
    for line in "\n".join(lines).splitlines():
        found = re.fullmatch(r"::(\w+)(?: (.*?))?::(.*)", line)
        assert found is not None, line
        pairs = (pair.partition("=") for pair in found[2].split(","))
        yield found[1], {key: unescaped(value) for key, _, value in pairs}, unescaped(found[3])


def unescaped(text: str) -> str:
    signs = {"%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ",", "%25": "%"}
    return re.sub("%0D|%0A|%3A|%2C|%25", lambda found: signs[found[0]], text)


def test_a_clean_campaign_is_one_test_that_passes_and_no_result() -> None:
    campaign = exported([])
    (test,) = checked_junit(campaign).iter("testcase")
    assert test.get("name") == "no defects" and not list(test)
    run = checked_sarif(campaign)
    assert run["results"] == run["tool"]["driver"]["rules"] == []
    assert b"no defects" in markdown(campaign) and b"|" not in markdown(campaign)
    ((name, _, message),) = runners_view(annotation_lines(campaign))
    assert name == "notice" and message.startswith("It was tested.")


def test_every_format_tells_every_defect_once() -> None:
    defects = [worded(place, "", kind) for place, kind in enumerate(("flip", "agree int8", "nan", "crash"))]
    campaign = exported(defects)
    titles = [one.title for one in campaign.defects]
    tests = list(checked_junit(campaign).iter("testcase"))
    failures = [test.find("failure") for test in tests]
    assert [test.get("name") for test in tests] == ["flip: 0 → 1", "agree int8: 1 → 2", "nan: 2 → 3", "crash: 3 → 4"]
    assert [one.get("type") for one in failures if one is not None] == ["flip", "agree int8", "nan", "crash"]
    run = checked_sarif(campaign)
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == ["jostle/flip", "jostle/agree", "jostle/nan", "jostle/crash"]
    assert [rules[one["ruleIndex"]] for one in run["results"]] == [one["ruleId"] for one in run["results"]]
    assert all(title in one["message"]["text"] for title, one in zip(titles, run["results"], strict=True))
    shown = outlined(markdown(campaign))
    assert all(shown.text.count(title) == 2 for title in titles) and shown.elements.count("details") == 4
    named = [properties["title"] for _, properties, _ in runners_view(annotation_lines(campaign))]
    assert sorted(named) == sorted(f"{one.family}: {one.title}" for one in campaign.defects)


def test_what_only_some_runs_show_fails_too_and_is_flagged() -> None:
    campaign = exported([worded(3, "", "flip"), worded(1, "", "flip")])
    assert [bool(one.unstable) for one in campaign.defects] == [True, False]
    root = checked_junit(campaign)
    messages = [one.get("message") or "" for one in root.iter("failure")]
    assert messages[0].endswith("(in 60% of runs)") and not messages[1].endswith("of runs)")
    assert [one["level"] for one in checked_sarif(campaign)["results"]] == ["warning", "error"]
    assert [name for name, _, _ in runners_view(annotation_lines(campaign))] == ["error", "warning"]
    assert b"60% of runs |" in markdown(campaign)


def test_every_kind_has_a_rule_with_help() -> None:
    run = checked_sarif(exported([worded(place, "", kind) for place, kind in enumerate(KINDS)]))
    for rule in run["tool"]["driver"]["rules"]:
        assert len(rule["help"]["text"]) > 60 and rule["help"]["text"].endswith(".")


def test_names_and_fingerprints_do_not_depend_on_order_number_or_mutation() -> None:
    first, second, same = worded(1, "", "flip"), worded(2, "", "nan"), worded(1, "", "flip")
    same = replace(same, cause=replace(same.cause, place=1), findings=("0009-flip-x",))
    later = replace(first, title="otherwise", seeds=99, cause=replace(first.cause, mutation="several"), weight=0.1)
    before, after = exported([first, second, same]), exported([same, second, later])

    def fingerprints(campaign: ExportedCampaign) -> list[str]:
        return [one["partialFingerprints"][FINGERPRINT] for one in checked_sarif(campaign)["results"]]

    assert fingerprints(before) == fingerprints(after)[::-1] and len(set(fingerprints(before))) == 3
    assert [one.identity for one in before.defects] == ["flip: 1 → 2", "nan: 2 → 3", "flip: 1 → 2 (2)"]


def test_a_crash_in_the_models_own_file_is_shown_at_its_line() -> None:
    crash = worded(0, "", "crash")
    cause = replace(crash.cause, what="ValueError net.py:12 in forward from helper.py:7 in call")
    campaign = exported([replace(crash, cause=cause)])
    physical = checked_sarif(campaign)["results"][0]["locations"][0]["physicalLocation"]
    assert physical == {"artifactLocation": {"uri": "net.py"}, "region": {"startLine": 12}}
    ((_, properties, _),) = runners_view(annotation_lines(campaign))
    assert properties["file"] == "net.py" and properties["line"] == "12"


@pytest.mark.parametrize(
    ("record", "command"),
    [
        (CampaignRecord({"model": "net.py:model"}), "jostle replay 'my runs/findings/0001-flip-x'"),
        (
            CampaignRecord({"model": "jostle.held:Net"}),
            "jostle replay 'my runs/findings/0001-flip-x' --model FILE.py:function",
        ),
        (
            CampaignRecord({"model": "a.py:b", "twin": ["jostle.held:Net"], "oracle": ["flip", "jostle.held:large"]}),
            "jostle replay 'my runs/findings/0001-flip-x' --twin FILE.py:function --oracle flip,FILE.py:function",
        ),
        (
            CampaignRecord({"model": "a.py:b", "profile": "jostle.held:profile", "mutator": ["jostle.held:Mine"]}),
            "jostle replay 'my runs/findings/0001-flip-x'",
        ),
        (CampaignRecord({}, input_type=InputType.GRAPH), "python 'my runs/findings/0001-flip-x/reproduce.py'"),
    ],
)
def test_the_command_that_shows_a_defect_again_is_that_of_its_model(record: CampaignRecord, command: str) -> None:
    (one,) = exported_defects([worded(0, "")], Path("my runs"), None, record)
    assert one.replay == command


def test_a_model_without_a_file_is_shown_at_the_campaign() -> None:
    campaign = exported([worded(0, "")], model="package.module:net")
    assert campaign.source is None
    place = checked_sarif(campaign)["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": "runs/one/config.json"}
    assert all("file" not in properties for _, properties, _ in runners_view(annotation_lines(campaign)))


@pytest.mark.skipif(os.name == "nt", reason="paths of another system")
@pytest.mark.parametrize(
    ("model", "ran_in", "uri"),
    [
        ("net.py:model", "/work", "net.py"),
        ("net.py:model", "/work/models", "models/net.py"),
        ("../net.py:model", "/work/models", "net.py"),
        ("/work/a b/net.onnx", "/elsewhere", "a%20b/net.onnx"),
        ("models/net.onnx", "/builds/1", "models/net.onnx"),
        ("models/net.onnx", "C:\\builds", "models/net.onnx"),
        ("/opt/net.onnx", "/work", "file:///opt/net.onnx"),
        ("../../net.onnx", "/work", "file:///net.onnx"),
        ("a:b/ä.onnx", "/work", "a%3Ab/%C3%A4.onnx"),
        ("net.onnx\n\ud800", "/work", "net.onnx%0A%3F"),
    ],
)
def test_places_are_relative_to_the_checkout_where_possible(model: str, ran_in: str, uri: str) -> None:
    place = location_of(model, ran_in, Path("/work"))
    assert place is not None and place.uri == uri


def check_everything(words: str, number: int) -> None:
    campaign = exported([worded(place, words) for place in range(number)], words)
    plain = exported([worded(place, " words") for place in range(number)], " words")
    tests = list(checked_junit(campaign).iter("testcase"))
    assert len(tests) == max(number, 1) and len({test.get("name") for test in tests}) == len(tests)
    assert len(checked_sarif(campaign)["results"]) == number
    lines = list(runners_view(annotation_lines(campaign)))
    assert [name for name, _, _ in lines] == [name for name, _, _ in runners_view(annotation_lines(plain))]
    assert all(set(properties) <= {"file", "line", "title"} for _, properties, _ in lines)
    text = markdown(campaign)
    shown = outlined(text)
    if b"more, which" not in text:
        assert shown.elements == outlined(markdown(plain)).elements
    assert len(text.decode()) < 65_536
    assert set(shown.elements) <= {
        *("h2", "p", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "br", "code", "strong"),
        *("/h2", "/p", "/table", "/thead", "/tbody", "/tr", "/th", "/td", "/details", "/summary", "/code", "/strong"),
    }


@hostile
@pytest.mark.parametrize("number", [0, 1, 4])
def test_hostile_words_break_no_format(words: str, number: int) -> None:
    check_everything(words, number)


@settings(max_examples=60, deadline=None)
@given(ANYTHING, st.integers(0, 4))
def test_no_words_break_any_format(words: str, number: int) -> None:
    check_everything(words, number)


@settings(max_examples=300, deadline=None)
@given(ANYTHING)
def test_markdown_shows_a_text_as_it_is_and_nothing_else(words: str) -> None:
    line = one_line(words)
    for before in ("", "- ", "a ", "<details><summary>"):
        after = "</summary></details>" if before.startswith("<") else ""
        shown = outlined(f"{before}{as_text(line)}{after}".encode())
        bare = outlined(f"{before}x{after}".encode())
        if line:
            assert shown.elements == bare.elements
            expected = f"{before if before == 'a ' else ''}{line}".strip()
            assert " ".join(shown.text.replace("\u200b", "").split()) == expected
        assert not re.search(r"[@#]\w", shown.text), "a mention or a reference"
    assert not re.search(r"://|www\.", as_text(line)), "a link"


@settings(max_examples=200, deadline=None)
@given(ANYTHING, ANYTHING)
def test_a_workflow_command_is_one_line_that_gives_its_parts_back(title: str, message: str) -> None:
    title, message = visible(title), visible(message)
    line = command("error", message, title=title, file="a,b:c")
    assert "\n" not in line and "\r" not in line
    ((name, properties, back),) = runners_view([line])
    assert (name, properties, back) == ("error", {"title": title, "file": "a,b:c"}, message)


def test_no_more_annotations_than_are_shown_and_the_others_are_counted() -> None:
    defects = [replace(worded(place, ""), unstable=None) for place in range(MOST_SHOWN + 3)]
    *shown, last = runners_view(annotation_lines(exported(defects)))
    assert len(shown) == MOST_SHOWN and last[0] == "notice" and last[2].startswith("3 more defects")


def test_a_thousand_defects_fit_into_a_comment_and_the_others_are_counted() -> None:
    campaign = exported([worded(place, " with some more words") for place in range(1000)])
    text = markdown(campaign).decode()
    assert len(text) < 65_536 and len(re.findall(r"… and [0-9,]+ more, which", text)) == 2
    assert len(list(checked_junit(campaign).iter("testcase"))) == len(checked_sarif(campaign)["results"]) == 1000


def test_the_schemas_refuse_what_is_wrong() -> None:
    """Else validating against them would say nothing."""
    log = json.loads(sarif(exported([worded(0, "")])))
    log["runs"][0]["results"][0]["level"] = "fatal"
    assert not sarif_validator().is_valid(log)
    content = junit(exported([worded(0, "")])).decode()
    assert not junit_schema().is_valid(content.replace("<failure ", "<fault ").replace("</failure>", "</fault>"))
