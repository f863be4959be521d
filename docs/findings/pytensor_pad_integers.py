"""pad makes floats of integers and booleans; numpy.pad, which it follows, keeps the dtype."""

import numpy as np
import pytensor
import pytensor.tensor as pt

x = pt.vector("x", dtype="int64")
y = pytensor.function([x], pt.pad(x, (1, 1), mode="constant", constant_values=0))(np.array([2**53 + 1]))
print(y, y.dtype, "expected", np.pad(np.array([2**53 + 1]), (1, 1)))
assert y.dtype == "int64"
