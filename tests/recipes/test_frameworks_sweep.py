"""The sweep of single operators finds defects that ONNX Runtime really has sooner than edits of models do."""

from __future__ import annotations

from pathlib import Path

import pytest

from jostle.frameworks.campaign.options import FRAMEWORKS, settled
from jostle.session import assemble_frameworks

# Of which ONNX Runtime computes the first two in float32 where float64 is asked for.
OPERATORS = (
    "hardshrink",
    "softshrink",
    "add",
    "relu",
    "tanh",
    "linear",
    "matmul",
    "sum",
    "mul",
    "reshape",
    "transpose",
)
MOST = 200  # models


def models_until_found(folder: Path, sweep: float | str, seed: int) -> int:
    """How many models run until the first finding."""
    options = {
        "models": ["mlp"],
        "operators": list(OPERATORS),
        "backends": ["onnxruntime"],
        "report_known": True,
        "sweep": sweep,
        "seed": seed,
        "executions": MOST,
        "findings": 1,
        "out": str(folder / f"{sweep}-{seed}"),
    }
    session = assemble_frameworks.assemble(settled(FRAMEWORKS.parsed(options)))
    try:
        return session.search().executions
    finally:
        session.release()


@pytest.mark.slow
def test_the_sweep_finds_a_real_defect_sooner_than_edits(tmp_path: Path) -> None:
    seeds = range(3)
    swept = [models_until_found(tmp_path, "auto", seed) for seed in seeds]
    edited = [models_until_found(tmp_path, 0.0, seed) for seed in seeds]
    assert max(swept) < MOST
    assert sum(swept) < sum(edited) / 2, (swept, edited)
