"""reciprocal of float64 is computed in float32 if a fused graph runs in Python (linker py)."""

import numpy as np
import pytensor
import pytensor.tensor as pt

pytensor.config.linker = "py"
x = pt.vector("x", dtype="float64")
y = pytensor.function([x], pt.minimum(x, pt.reciprocal(x)))(np.array([3.0]))
print(repr(y[0]), "expected", 1 / 3)
assert abs(y[0] * 3 - 1) < 1e-14, "the result is only accurate to float32"
