"""invert of booleans is always True if a fused graph runs in Python (linker py)."""

import numpy as np
import pytensor
import pytensor.tensor as pt

pytensor.config.linker = "py"
x = pt.vector("x", dtype="bool")
y = pytensor.function([x], pt.cast(pt.invert(x), "float32"))(np.array([True, False]))
print(y, "expected [0. 1.]")
assert (y == [0, 1]).all()
