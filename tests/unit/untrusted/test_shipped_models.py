"""Models that people ship in packages pass the checks, as far as these packages are installed."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from jostle.untrusted.keras_archive import check_keras
from jostle.untrusted.litert_model import checked_litert
from jostle.untrusted.onnx_model import checked_onnx, unknown_domains
from jostle.untrusted.saved_model import check_saved_model


def onnx_without_custom_operators(path: Path) -> None:
    pytest.importorskip("onnx")
    assert unknown_domains(checked_onnx(path, 20)) == ()


MODELS: tuple[tuple[str, str, Callable[[Path], object]], ...] = (
    ("magika", "models/*/model.onnx", onnx_without_custom_operators),
    ("ddddocr", "*.onnx", onnx_without_custom_operators),
    ("rapidocr_onnxruntime", "models/*.onnx", onnx_without_custom_operators),
    ("silero_vad", "data/*.onnx", onnx_without_custom_operators),
    ("basic_pitch", "saved_models/*/nmp.onnx", onnx_without_custom_operators),
    ("basic_pitch", "saved_models/*/nmp.tflite", checked_litert),
    ("basic_pitch", "saved_models/*/nmp", check_saved_model),
    ("fer", "data/*.hdf5", check_keras),
    ("fer", "data/*.tflite", checked_litert),
)


@pytest.mark.parametrize(("package", "pattern", "check"), MODELS, ids=lambda one: one if isinstance(one, str) else "")
def test_a_model_that_is_shipped_passes(package: str, pattern: str, check: Callable[[Path], object]) -> None:
    found = find_spec(package)
    if found is None or found.origin is None:
        pytest.skip(f"{package} is not installed")
    models = sorted(Path(found.origin).parent.glob(pattern))
    assert models
    for path in models:
        check(path)
