"""The formula of every operator."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.reference.convolutions import CONVOLUTIONS
from jostle.frameworks.reference.dropout import DROPOUT
from jostle.frameworks.reference.elementwise import ELEMENTWISE
from jostle.frameworks.reference.indexing import INDEXING
from jostle.frameworks.reference.layers import LAYERS
from jostle.frameworks.reference.normalisation import NORMALISATION
from jostle.frameworks.reference.numbers import Formula
from jostle.frameworks.reference.pooling import POOLING
from jostle.frameworks.reference.reductions import REDUCTIONS
from jostle.frameworks.reference.sampling import SAMPLING
from jostle.frameworks.reference.shaping import SHAPING

FORMULAS: Mapping[str, Formula] = {
    **ELEMENTWISE,
    **REDUCTIONS,
    **SHAPING,
    **INDEXING,
    **CONVOLUTIONS,
    **POOLING,
    **NORMALISATION,
    **SAMPLING,
    **LAYERS,
    **DROPOUT,
}
