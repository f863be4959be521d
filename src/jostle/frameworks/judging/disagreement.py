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
    COMPILED = "compiled"  # other results than the same framework's eager mode
    UNSPECIFIED = "unspecified"  # any of the above values, where documentation leaves open what NaN or infinity makes


FAILURES = (Symptom.CRASH, Symptom.HANG)  # there is no result


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
    """What is wrong with a graph, apart from what is counted only."""

    found: tuple[Disagreement, ...] = ()
    doubted: tuple[Disagreement, ...] = ()  # the reference stands alone
    unspecified: tuple[Disagreement, ...] = ()  # documentation leaves open what is right

    def alike(self, symptom: str) -> tuple[Disagreement, ...]:
        """Those among which one of this symptom is told: what is wrong, or what is unspecified, never both."""
        return self.unspecified if symptom == Symptom.UNSPECIFIED else self.found


# Backends of one family share their kernels, so they are one voice.
FAMILY = {"onnxruntime": "onnx", "torch-onnx": "onnx"}


def family_of(backend: str) -> str:
    name = backend.partition("@")[0]  # in whatever interpreter
    stem = name.split("-")[0]  # compiled or not
    return FAMILY.get(name) or FAMILY.get(stem, stem)
