"""The list of known findings that ships: what docs/findings.md lists, recognised by signature."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jostle.frameworks.backends.all_backends import LOWERINGS
from jostle.frameworks.judging.known_issues import known_as, shipped
from jostle.graph_signature import parse

DOCS = Path(__file__).parents[3] / "docs"
OF_FRAMEWORKS = (DOCS / "findings.md").read_text().partition("## Pretrained models")[0]
LISTED = sorted(set(re.findall(r"\((findings/\w+\.py)\)", OF_FRAMEWORKS)))


REPORTED_AGAIN = re.findall(r"\((findings/\w+\.py)\), reported again", OF_FRAMEWORKS)


@pytest.mark.parametrize("script", LISTED)
def test_what_the_page_lists_is_known_unless_it_says_that_it_is_reported_again(script: str) -> None:
    known = any(f"docs/{script}" in one.see.split(", ") for one in shipped())
    assert known is (script not in REPORTED_AGAIN)


def test_a_pattern_has_every_word_of_a_signature_and_of_a_crash_the_error() -> None:
    """With all its words given, no * reaches from one into the next."""
    for one in shipped():
        symptom, frame = parse(one.signature).symptom, parse(one.signature).frame
        assert symptom != "*" and ("@" in frame and not frame.startswith("*@") if symptom == "crash" else frame == "-")


def test_what_is_known_can_be_read_up() -> None:
    for one in shipped():
        for place in one.see.split(", "):
            path, _, heading = place.partition("#")
            assert (DOCS.parent / path).is_file()
            assert f"\n## {heading.capitalize()}\n" in OF_FRAMEWORKS or not heading


def test_a_known_finding_is_of_one_library_and_says_in_which_phase_and_how_it_shows() -> None:
    for one in shipped():
        backend, phase = one.signature.split()[:2]
        assert backend.removesuffix("*") in LOWERINGS and phase in ("predict", "gradient", "train", "*")
        assert len(one.signature.replace("*", "")) > 20


@pytest.mark.parametrize(
    ("signature", "known"),
    [
        ("onnxruntime-plain predict values hardshrink - float64 -", True),
        ("onnxruntime predict values hardshrink - float32 -", False),
        ("paddle train crash instance_norm - float32 ValueError@tensor_patch_methods.py:backward", True),
        ("torch-aot predict crash avg_pool ceil=True,padding>0 float32 RuntimeError@_ops.py:__call__", True),
        ("torch predict crash avg_pool ceil=True float32 RuntimeError@_ops.py:__call__", False),
        ("paddle gradient gradient count_nonzero+cast keepdims=True,to=float32 float32 -", True),
        ("paddle gradient gradient celu - float32 -", False),
        ("paddle gradient gradient max keepdims=True float32 -", False),
        ("torch gradient gradient clip - float32 -", False),
        ("tensorflow-eager predict crash conv groups>1 float32 SIGSEGV@the_target", False),
        ("openvino predict crash scatter - float32 SIGSEGV@the_target", False),
        ("torch predict crash local_response_norm - float64 RuntimeError@_ops.py:__call__", True),
        ("openvino predict crash repeat_interleave - int64 SIGFPE@thread.py:_worker", True),
        ("openvino predict type elu+conv after>0,before>0,dilations>1,strides>1 float32 -", True),
        ("openvino predict type elu+conv after>0,before>0 float32 -", False),
        ("openvino predict values sum keepdims=True float32 -", False),
        ("onnxruntime predict values sum keepdims=True int64 -", True),
        ("onnxruntime predict values sum keepdims=True int32 -", False),
        ("torch predict nonfinite gelu - float64 -", False),
        ("onnxruntime predict crash pad mode=wrap float32 Fail@onnxruntime_inference_collection.py:run", True),
    ],
)
def test_no_more_is_known_than_what_was_seen(signature: str, known: bool) -> None:
    assert (known_as(parse(signature), shipped()) is not None) is known
