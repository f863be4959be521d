"""Models of every kind of file work in a sandbox, and so do twins that libraries write files for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from jostle.isolation.process import Limits
from jostle.isolation.sandbox import ALL, tried
from jostle.session.isolate import isolated
from jostle.zoo import lenet1, mnist_sample
from making import options
from model_files import write_keras, write_onnx, write_openvino, write_saved_model, write_vision_transformer
from soaking import only_in_soak

DIGITS = mnist_sample()[0][:4]
LAST = DIGITS.movedim(1, -1)
Written = tuple[Path, Tensor]


def exported(folder: Path) -> Written:
    rows = torch.export.Dim("rows", min=1, max=4096)
    program = torch.export.export(lenet1(), (DIGITS,), dynamic_shapes=({0: rows},))
    torch.export.save(program, folder / "net.pt2")
    return folder / "net.pt2", DIGITS


def onnx(folder: Path) -> Written:
    return write_onnx(lenet1(), DIGITS, folder / "net.onnx"), DIGITS


def openvino(folder: Path) -> Written:
    return write_openvino(onnx(folder)[0], folder / "net.xml"), DIGITS


def keras(folder: Path) -> Written:
    return write_keras(lenet1(), folder / "net.keras"), LAST


def saved_model(folder: Path) -> Written:
    return write_saved_model(lenet1(), folder / "net"), LAST


def hugging_face(folder: Path) -> Written:
    path = write_vision_transformer(folder / "net")
    return path, torch.rand(4, 1, 28, 28)


KINDS: tuple[tuple[Callable[[Path], Written], tuple[str, ...]], ...] = (
    (exported, ()),
    (exported, ("compile",)),
    (onnx, ()),
    (onnx, ("int8",)),
    (openvino, ()),
    (keras, ()),
    (saved_model, ()),
    (hugging_face, ()),
)


def check_runs(path: Path, sample: Tensor, twin: tuple[str, ...] = ()) -> None:
    given = options(model=str(path), seeds="seeds.npy", twin=twin)
    model, service = isolated(given, sample, Limits(300, 2**40))
    try:
        assert len(model.target.predict(sample)) == len(sample)
        assert model.sandbox and not model.notes
    finally:
        service.close()


@only_in_soak
@pytest.mark.slow
@pytest.mark.skipif(tried().active != ALL, reason="this system has no full sandbox (jostle doctor)")
@pytest.mark.parametrize(("write", "twin"), KINDS, ids=["-".join([write.__name__, *twin]) for write, twin in KINDS])
def test_a_model_of_every_kind_runs_in_a_sandbox(
    write: Callable[[Path], Written], twin: tuple[str, ...], tmp_path: Path
) -> None:
    check_runs(*write(tmp_path), twin)


@only_in_soak
@pytest.mark.slow
def test_a_model_of_litert_runs_in_a_sandbox(litert_files: Path) -> None:
    check_runs(litert_files / "float.tflite", LAST)
