"""Which disagreements are the same defect."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from jostle.foreign import Crash
from jostle.frameworks.graph import Attributes, Graph, Node
from jostle.frameworks.judging.disagreement import Disagreement
from jostle.frameworks.judging.locate import Located
from jostle.frameworks.operators.all_operators import types_of
from jostle.frameworks.operators.operator import NEUTRAL
from jostle.graph_signature import NOTHING, TOGETHER, Signature

OF_TRAINING = ("loss.", "penalty.", "optimiser.")  # the guilty part is no operator


@dataclass(frozen=True)
class Identity:
    """What tells a defect from the others of its kind, as a number and as a text."""

    number: int
    fingerprint: str


def identity_of(kind: str, signature: Signature) -> Identity:
    """Both hold every word of the signature: equal numbers of one kind are equal fingerprints, and the other way round.

    The words that say most stand first in the fingerprint, because folders are named after its beginning.
    """
    where = (signature.backend, signature.operator, signature.symptom, signature.phase)
    details = (signature.dtype, signature.attributes, signature.frame)
    digest = hashlib.sha256(signature.text.encode()).digest()
    return Identity(int.from_bytes(digest[:7], "big"), f"{kind}:{' '.join((*where, *details))}")


def signature_of(located: Located, found: Disagreement) -> Signature:
    """The signature of a disagreement that was located."""
    return Signature(
        found.backend,
        located.disagreement.phase,
        str(located.disagreement.symptom),
        located.operator,
        attribute_class(located),
        dtype_of(located.graph),
        frame_of(located.disagreement.crash),
    )


def attribute_class(located: Located) -> str:
    """Which attributes of the guilty nodes are not the plain ones, without numbers."""
    return NOTHING if located.operator.startswith(OF_TRAINING) else class_of(located.graph.nodes)


def class_of(nodes: Iterable[Node]) -> str:
    """The same of some nodes."""
    classes = [one for node in nodes for one in _classes(node.attributes)]
    return ",".join(dict.fromkeys(classes)) or NOTHING


def holds(graph: Graph, signature: Signature) -> bool:
    """Whether the graph has all operators on that dtype, or that part of a training, that a signature names."""
    part, _, name = signature.operator.partition(".")
    if name:
        return graph.training is not None and getattr(graph.training, part) == name
    left = Counter(signature.operator.split(TOGETHER))
    types = types_of(graph)
    guilty = [node for node in graph.nodes if node.operator in left]
    dtypes = {types[node.inputs[0]].dtype for node in guilty}
    return signature.dtype in dtypes and not left - Counter(node.operator for node in guilty)


def _classes(attributes: Attributes) -> Iterator[str]:
    for name, value in sorted(attributes.items()):
        if isinstance(value, bool | str):
            if value is not False:
                yield f"{name}={value}"
        elif name in NEUTRAL:
            yield from _against(name, value, NEUTRAL[name])


def _against(name: str, value: Any, neutral: int) -> Iterator[str]:
    values = value if isinstance(value, list) else [value]
    if any(one < neutral for one in values):
        yield f"{name}<{neutral}"
    if any(one > neutral for one in values):
        yield f"{name}>{neutral}"


def dtype_of(graph: Graph) -> str:
    """The dtype of what the guilty part reads first."""
    types = types_of(graph)
    return types[graph.nodes[0].inputs[0]].dtype if graph.nodes else NOTHING


def frame_of(crash: Crash | None) -> str:
    """The error and where it arose, without numbers and addresses, which change from run to run."""
    if crash is None:
        return NOTHING
    return re.sub(r"\s+", "_", without_numbers(f"{crash.error}@{crash.where or crash.message}"))[:120] or NOTHING


def without_numbers(text: str) -> str:
    return re.sub(r"0x[0-9a-fA-F]+|\d+", "#", text)
