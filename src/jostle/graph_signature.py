"""What tells defects apart that models show in frameworks, as findings are named and known by."""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields, replace

NOTHING = "-"
TOGETHER = "+"  # between operators that are guilty only together


@dataclass(frozen=True)
class Signature:
    """Equal for what is most likely the same defect."""

    backend: str
    phase: str
    symptom: str
    operator: str
    attributes: str = NOTHING  # their classes, such as ceil=True,padding>0
    dtype: str = NOTHING
    frame: str = NOTHING  # of a crash: its error and where

    @property
    def text(self) -> str:
        return " ".join(astuple(self))

    @property
    def core(self) -> Signature:
        """The same without attributes, which a smaller graph may do without."""
        return replace(self, attributes=NOTHING)

    @property
    def library(self) -> str:
        """The backend without its mode: compiled or not, one library, in the same interpreter."""
        stem, at, interpreter = self.backend.partition("@")
        return f"{stem.partition('-')[0]}{at}{interpreter}"

    def __str__(self) -> str:
        return self.text


def parse(text: str) -> Signature:
    """The signature of such a text; ValueError for any other."""
    words = text.split()
    if len(words) != len(fields(Signature)):
        raise ValueError(f"{text!r} is no signature: it has {len(words)} words, not {len(fields(Signature))}")
    return Signature(*words)
