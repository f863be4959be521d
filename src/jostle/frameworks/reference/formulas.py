"""The formula of every operator."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.reference.activations import ACTIVATIONS
from jostle.frameworks.reference.arithmetic import ARITHMETIC
from jostle.frameworks.reference.convolutions import CONVOLUTIONS
from jostle.frameworks.reference.dropout import DROPOUT
from jostle.frameworks.reference.elementwise import ELEMENTWISE
from jostle.frameworks.reference.indexing import INDEXING
from jostle.frameworks.reference.layers import LAYERS
from jostle.frameworks.reference.linear_algebra import LINEAR_ALGEBRA
from jostle.frameworks.reference.normalisation import NORMALISATION
from jostle.frameworks.reference.numbers import Formula
from jostle.frameworks.reference.plain_normalisation import PLAIN_NORMALISATION
from jostle.frameworks.reference.pooling import POOLING
from jostle.frameworks.reference.quantization import QUANTIZATION
from jostle.frameworks.reference.recurrent import RECURRENT
from jostle.frameworks.reference.reductions import REDUCTIONS
from jostle.frameworks.reference.sampling import SAMPLING
from jostle.frameworks.reference.selection import SELECTION
from jostle.frameworks.reference.shaping import SHAPING
from jostle.frameworks.reference.special_functions import SPECIAL_FUNCTIONS
from jostle.frameworks.reference.statistics import STATISTICS
from jostle.frameworks.reference.windows import WINDOWS

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
    **SPECIAL_FUNCTIONS,
    **ARITHMETIC,
    **ACTIVATIONS,
    **QUANTIZATION,
    **STATISTICS,
    **LINEAR_ALGEBRA,
    **SELECTION,
    **PLAIN_NORMALISATION,
    **WINDOWS,
    **RECURRENT,
}
