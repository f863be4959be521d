"""What a backend got wrong."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from jostle.foreign import Crash


class Symptom(StrEnum):
    """How a backend shows that it is wrong, from the plainest to the subtlest."""

    CRASH = "crash"
    HANG = "hang"
    TYPE = "type"  # another shape or dtype
    NONFINITE = "nonfinite"  # NaN or infinities elsewhere
    VALUES = "values"
    GRADIENT = "gradient"
    TRAINING = "training"


@dataclass(frozen=True)
class Disagreement:
    """One backend against the reference and its peers."""

    backend: str
    phase: str
    symptom: Symptom
    tensor: str = ""  # of the result
    index: tuple[int, ...] = ()  # its most different element
    seen: str = ""
    expected: str = ""
    excess: float = 0.0  # how many times what is granted
    crash: Crash | None = None


@dataclass(frozen=True)
class GraphJudgement:
    """What is wrong with a graph, and the disagreements in which the reference stands alone: counted, not reported."""

    found: tuple[Disagreement, ...] = ()
    doubted: tuple[Disagreement, ...] = ()


# Backends of one family share their kernels, so they are one voice.
FAMILY = {"onnxruntime": "onnx"}


def family_of(backend: str) -> str:
    stem = backend.partition("@")[0].split("-")[0]  # in whatever interpreter, compiled or not
    return FAMILY.get(stem, stem)
