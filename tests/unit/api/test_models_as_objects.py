"""Models of other libraries as objects: a session of ONNX Runtime, a Keras model, a subject."""

from __future__ import annotations

from pathlib import Path

import onnxruntime
import pytest

import jostle
from jostle.errors import UsageError
from jostle.subjects.registry import load
from jostle.zoo import lenet1, mnist_sample
from model_files import as_keras, write_onnx

IMAGES, LABELS = (values[:40] for values in mnist_sample())
QUICK = {"recipe": "deephunter", "ranges": "paper", "executions": 600, "confirm": False, "quiet": True}


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> onnxruntime.InferenceSession:
    path = tmp_path_factory.mktemp("net") / "lenet1.onnx"
    write_onnx(lenet1(), IMAGES[:2], path)
    return onnxruntime.InferenceSession(path)


@pytest.mark.slow
def test_a_session_of_onnx_runtime_stands_for_its_file(session: onnxruntime.InferenceSession) -> None:
    result = jostle.fuzz(session, IMAGES, LABELS, **QUICK)
    assert result.summary.executions == 600 and result.defects


def test_coverage_of_a_model_file_is_that_of_its_model_in_a_process_of_its_own(
    session: onnxruntime.InferenceSession,
) -> None:
    path, how = Path(session._model_path), {"criteria": ["nc", "kmnc"], "profile": IMAGES}
    file = jostle.coverage(path, IMAGES, **how)
    assert file == jostle.coverage(session, IMAGES, **how) == jostle.coverage(load(str(path)), IMAGES, **how)
    assert file["nc"]["covered"] > 0 and file["kmnc"]["covered"] > 0


def test_coverage_refuses_what_a_model_file_does_not_take_in_one_line(session: onnxruntime.InferenceSession) -> None:
    with pytest.raises(UsageError, match="do not fit what the model takes") as caught:
        jostle.coverage(session, IMAGES[:, :, :20], "nc")
    assert "\n" not in str(caught.value)
    with pytest.raises(UsageError, match=r"nothing\.onnx does not exist"):
        jostle.coverage("nothing.onnx", IMAGES)


def test_a_session_made_from_bytes_is_refused(session: onnxruntime.InferenceSession) -> None:
    content = Path(session._model_path).read_bytes()
    with pytest.raises(UsageError, match=r"made from bytes: give the \.onnx file"):
        jostle.fuzz(onnxruntime.InferenceSession(content), IMAGES, LABELS, **QUICK)


@pytest.mark.slow
def test_a_keras_model_is_fuzzed_in_this_process() -> None:
    result = jostle.fuzz(as_keras(lenet1()), IMAGES.movedim(1, -1), LABELS, layout="nhwc", **QUICK)
    assert result.summary.executions == 600 and result.defects


def test_a_subject_is_a_model_too() -> None:
    result = jostle.fuzz(load("jostle.zoo:lenet1"), IMAGES, LABELS, **QUICK)
    assert result.summary.executions == 600
