"""Every edit by name."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.edits.edit import Edit, Inapplicable, Random
from jostle.frameworks.edits.parameters import PARAMETERS
from jostle.frameworks.edits.structure import STRUCTURE
from jostle.frameworks.edits.values import INPUTS, WEIGHTS
from jostle.frameworks.graph import Graph, Invalid

EDITS: Mapping[str, Edit] = {edit.name: edit for edit in (*STRUCTURE, *WEIGHTS, *PARAMETERS, *INPUTS)}
TRIES = 8


def edited(graph: Graph, name: str, rng: Random) -> Graph | None:
    """The graph after an edit; None if it has nothing for this edit, or nothing valid came of it in a few tries."""
    for _ in range(TRIES):
        try:
            return EDITS[name].apply(graph, rng)
        except Invalid:
            continue
        except Inapplicable:
            return None
    return None
