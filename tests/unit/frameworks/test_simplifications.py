"""Reduced graphs get plain names and stay the same graphs."""

from __future__ import annotations

import numpy as np
import pytest

from jostle.frameworks.models import MODELS
from jostle.frameworks.names import is_usable
from jostle.frameworks.operators.all_operators import types_of
from jostle.frameworks.reduction.simplifications import plainly_named
from jostle.frameworks.reference.run import evaluate


@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_graph_with_plain_names_computes_the_same(name: str) -> None:
    graph = MODELS[name](np.random.default_rng(0))
    plain = plainly_named(graph)
    assert all(is_usable(one) for one in types_of(plain))
    for old, new in zip(graph.outputs, plain.outputs, strict=True):
        np.testing.assert_array_equal(evaluate(graph)[old], evaluate(plain)[new])
    assert plain.nodes[-1].name.startswith("y") and all(one[0] in "xwc" for one in plain.leaves)
