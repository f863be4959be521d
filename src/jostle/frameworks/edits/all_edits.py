"""Every edit by name."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.edits.edit import Edit, Inapplicable, Random, Vocabulary
from jostle.frameworks.edits.neurons import NEURONS
from jostle.frameworks.edits.parameters import parameters
from jostle.frameworks.edits.structure import structure
from jostle.frameworks.edits.values import INPUTS, WEIGHTS
from jostle.frameworks.graph import Graph, Invalid

TRIES = 8


def edits_with(vocabulary: Vocabulary) -> Mapping[str, Edit]:
    """Edits by name, whose new layers are of these operators."""
    return {edit.name: edit for edit in (*structure(vocabulary), *WEIGHTS, *NEURONS, *parameters(vocabulary), *INPUTS)}


def edited(graph: Graph, edit: Edit, rng: Random) -> Graph | None:
    """The graph after an edit; None if it has nothing for this edit, or nothing valid came of it in a few tries."""
    for _ in range(TRIES):
        try:
            return edit.apply(graph, rng)
        except Invalid:
            continue
        except Inapplicable:
            return None
    return None
