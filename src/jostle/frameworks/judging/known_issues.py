"""Known findings, which are not reported again: a TOML file of signature patterns, each with a reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jostle.errors import UsageError
from jostle.frameworks.backends.program import GRADIENT, TRAIN
from jostle.frameworks.graph import Graph
from jostle.frameworks.judging.disagreement import Disagreement, Symptom
from jostle.frameworks.judging.signature import class_of, frame_of
from jostle.frameworks.operators.all_operators import types_of
from jostle.graph_signature import Signature
from jostle.untrusted.toml_text import read_toml

SHIPPED = Path(__file__).with_name("known.toml")
NEEDED, KEYS = ("reason", "signature"), {"signature", "reason", "see"}
ANOTHER_ERROR = "another-error"


@dataclass(frozen=True)
class KnownIssue:
    """A pattern of signatures in which * stands for anything, why they are not reported, and where more is said."""

    signature: str
    reason: str
    see: str = ""

    def __str__(self) -> str:
        return f"{self.reason}, see {self.see}" if self.see else self.reason

    def matches(self, signature: Signature) -> bool:
        pattern = ".*".join(map(re.escape, " ".join(self.signature.split()).split("*")))
        return re.fullmatch(pattern, signature.text) is not None

    def names_error_of(self, signature: Signature) -> bool:
        """Whether it matches for the error, not only for what failed: then the operator that it names is guilty."""
        return self.matches(signature) and not self.matches(replace(signature, frame=ANOTHER_ERROR))


def shipped() -> list[KnownIssue]:
    """What docs/findings.md lists, as far as models show it."""
    return known_in(SHIPPED)


def known_in(path: Path) -> list[KnownIssue]:
    """What a file lists; UsageError if it is not such a file."""
    try:
        content = read_toml(path)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: no list of known findings ({str(error).splitlines()[0]})") from error
    if content.keys() - {"known"} or not isinstance(content.get("known", []), list):
        raise UsageError(f"{path}: known findings are listed under [[known]], with signature and reason")
    return [_entry(path, number, one) for number, one in enumerate(content.get("known", []), 1)]


def _entry(path: Path, number: int, entry: Any) -> KnownIssue:
    where = f"{path}: known finding {number}"
    if not isinstance(entry, Mapping):
        raise UsageError(f"{where} is no table: write [[known]] above its signature and reason")
    for key in entry.keys() - KEYS:
        raise UsageError(f"{where} has {key!r}, which means nothing here: give signature, reason and see")
    if not isinstance(entry.get("see", ""), str):
        raise UsageError(f"{where} says where to see more in something else than a text")
    for key in NEEDED:
        if not isinstance(entry.get(key), str) or not entry[key].strip():
            raise UsageError(
                f"{where} has no {key}: say " + ("why it is known" if key == "reason" else "what it matches")
            )
    return KnownIssue(entry["signature"], entry["reason"], entry.get("see", ""))


def known_as(signature: Signature, known: Sequence[KnownIssue]) -> KnownIssue | None:
    """As what a finding is known, if it is."""
    return next((one for one in known if one.matches(signature)), None)


def known_before_location(graph: Graph, found: Disagreement, known: Sequence[KnownIssue]) -> KnownIssue | None:
    """As what a crash is known by its error alone, with an operator of the graph for the guilty one."""
    if found.symptom is not Symptom.CRASH:
        return None
    candidates = list(_signatures(graph, found))
    return next((one for one in known if any(one.names_error_of(signature) for signature in candidates)), None)


def _signatures(graph: Graph, found: Disagreement) -> Iterator[Signature]:
    """Those that the crash has if one node is guilty."""
    types = types_of(graph)
    for node in graph.nodes:
        for phase in [GRADIENT, TRAIN] if found.phase == TRAIN else [found.phase]:
            dtype = types[node.inputs[0]].dtype
            where = (found.backend, phase, str(found.symptom), node.operator)
            yield Signature(*where, class_of([node]), dtype, frame_of(found.crash))
