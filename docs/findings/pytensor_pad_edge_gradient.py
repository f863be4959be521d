"""The gradient of pad in mode edge counts one copy of the edge where there are two, or raises (linker cvm or py)."""

import numpy as np
import pytensor
import pytensor.tensor as pt

x = pt.vector("x", dtype="float64")
y = pt.pad(x, (2, 1), mode="edge")
gradient = pytensor.function([x], pytensor.grad(y.sum(), x))(np.array([1.0, 2.0, 3.0, 4.0]))
print(gradient, "expected [3. 1. 1. 2.]")  # the first element stands there 3 times, the last one twice
assert (gradient == [3, 1, 1, 2]).all()
