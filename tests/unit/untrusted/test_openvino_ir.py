"""A stranger's OpenVINO model is XML that stands for itself, and its constants lie in the .bin beside it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from jostle.untrusted.openvino_ir import checked_openvino
from security.damage import refusals
from security.model_payloads import IR, OPENVINO_PAYLOADS, SECRET


def written(folder: Path, text: str = IR, weights: bytes | None = SECRET.tobytes()) -> Path:
    path = folder / "m.xml"
    path.write_text(text)
    if weights is not None:
        path.with_suffix(".bin").write_bytes(weights)
    return path


def test_a_small_model_passes_and_tells_where_its_weights_are(tmp_path: Path) -> None:
    assert checked_openvino(written(tmp_path)) == tmp_path / "m.bin"


@pytest.mark.slow
def test_what_openvino_saves_passes(tmp_path: Path) -> None:
    ov = pytest.importorskip("openvino")
    torch = pytest.importorskip("torch")
    nn = torch.nn
    layers = [nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.GELU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3)]
    model = ov.convert_model(nn.Sequential(*layers).eval(), example_input=torch.zeros(1, 3, 8, 8))
    for half in (True, False):
        ov.save_model(model, tmp_path / "m.xml", compress_to_fp16=half)
        assert checked_openvino(tmp_path / "m.xml") == tmp_path / "m.bin"
    again = ov.Core().read_model(written(tmp_path))
    answer = ov.compile_model(again, "CPU")({0: np.zeros(2, np.float32)})
    assert np.array_equal(answer[0], SECRET)


def test_a_loop_with_constants_inside_is_looked_into(tmp_path: Path) -> None:
    body = IR[IR.index("<layers>") : IR.index("</net>")].replace('offset="0"', 'offset="8"')
    loop = f'<layer id="9" name="l" type="Loop" version="opset5"><body>{body}</body></layer></layers>\n<edges>'
    text = IR.replace("</layers>\n<edges>", loop)
    checked_openvino(written(tmp_path, text, bytes(16)))
    with pytest.raises(ValueError, match="'w' ends at byte 16"):
        checked_openvino(written(tmp_path, text, bytes(15)))


@pytest.mark.parametrize("name", OPENVINO_PAYLOADS)
def test_what_reaches_out_of_the_model_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"entities|names the file|constant 'w'|needs a library|other files"):
        checked_openvino(OPENVINO_PAYLOADS[name](tmp_path))


def test_missing_weights_are_named_with_the_fix(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"'m.bin' are missing: put them beside the model"):
        checked_openvino(written(tmp_path, weights=None))


def test_a_model_without_constants_needs_no_weights(tmp_path: Path) -> None:
    text = IR.replace('size="8"', 'size="0"')
    assert checked_openvino(written(tmp_path, text, weights=None)) is None


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"<html><body/></html>", "XML of 'html'"),
        (b"<net/>", "no layers"),
        (b"<net>" * 1000, "nested over 100 deep"),
        (IR.encode("utf-16"), "not XML in UTF-8"),
        (IR.replace('version="1.0"', 'version="1.0" encoding="latin-1"').encode(), "not XML in UTF-8"),
        (b"\x08\x07onnx", "not XML, or is damaged"),
        (IR.replace("</net>", "").encode(), "not XML, or is damaged"),
    ],
)
def test_what_is_no_model_is_refused(content: bytes, reason: str, tmp_path: Path) -> None:
    path = written(tmp_path)
    path.write_bytes(content)
    with pytest.raises(ValueError, match=reason):
        checked_openvino(path)


def test_a_damaged_model_is_refused_or_passes(tmp_path: Path) -> None:
    path = written(tmp_path)
    assert 100 < refusals(path, path.read_bytes(), 900, checked_openvino) < 900
