"""Twins that are files: written whole, without a word, and told from each other by name."""

from __future__ import annotations

import logging
import sys
import warnings
from pathlib import Path

import pytest
import torch

from jostle.errors import ModelRefused
from jostle.subjects.registry import KINDS, TWINS, is_file
from jostle.subjects.twin_making import WORDS, TwinMaking, made_or_refused


def making(folder: Path, seed: int = 0) -> TwinMaking:
    return TwinMaking(torch.zeros(1, 2), folder, seed)


def write_two(path: Path) -> None:
    path.write_text("graph")
    path.with_suffix(".bin").write_text("weights")


def test_a_twin_is_written_once_with_what_belongs_to_it(tmp_path: Path) -> None:
    path = making(tmp_path).written("openvino", ".xml", write_two)
    assert path.read_text() == "graph" and (tmp_path / "openvino.bin").read_text() == "weights"
    assert making(tmp_path).written("openvino", ".xml", lambda to: pytest.fail("made again")) == path
    assert sorted(one.name for one in tmp_path.iterdir()) == ["openvino.bin", "openvino.xml"]


def test_of_a_twin_that_fails_half_way_nothing_is_left(tmp_path: Path) -> None:
    def fail(path: Path) -> None:
        write_two(path)
        raise KeyError("no such operator\nand more lines")

    with pytest.raises(
        ModelRefused, match=r"^--twin openvino cannot be made \(KeyError: [^\n]*\): choose another twin$"
    ):
        making(tmp_path).written("openvino", ".xml", fail)
    assert not list(tmp_path.iterdir()) and not making(tmp_path).holds("openvino")


def test_twins_are_told_apart_by_name_and_drawn_ones_by_their_seed(tmp_path: Path) -> None:
    making(tmp_path).written("int8-static", ".onnx", write_two)
    making(tmp_path, 1).written("weights16:50%", ".onnx", write_two)
    assert making(tmp_path).holds("int8-static") and not making(tmp_path).holds("int8")
    assert making(tmp_path, 1).holds("weights16:50%") and not making(tmp_path, 2).holds("weights16:50%")


def test_what_a_converter_says_is_not_heard(capfd: pytest.CaptureFixture[str]) -> None:
    def talk() -> int:
        sys.stdout.write("converting")
        sys.stderr.write("converting")
        warnings.warn("converting", stacklevel=1)
        logging.warning("converting")
        logging.getLogger("converter").critical("converting")
        return 3

    handlers = list(logging.getLogger().handlers)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert made_or_refused("onnx", talk) == 3
    assert capfd.readouterr() == ("", "")
    assert logging.getLogger().handlers == handlers
    assert logging.getLogger("converter").isEnabledFor(logging.CRITICAL)


def test_every_twin_has_a_line_that_says_of_which_models_it_is_made() -> None:
    assert set(TWINS) <= set(WORDS)
    assert TWINS["compile"].endswith("(torch)")
    assert TWINS["int8"].count("(torch)") == 1 and TWINS["int8"].endswith("(ONNX)")
    assert TWINS["weights16"].endswith("(torch, ONNX)")
    assert all(name in TWINS for kind in KINDS for name in kind.twins)


def test_no_twin_is_taken_for_a_file() -> None:
    assert not any(map(is_file, (*WORDS, "weights16:50%")))
    assert is_file("int8-static.onnx") and is_file("models/int8")
