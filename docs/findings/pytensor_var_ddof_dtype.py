"""var and std of float32 are float32, but float64 with ddof=1, though floatX is float32."""

import pytensor
import pytensor.tensor as pt

pytensor.config.floatX = "float32"
x = pt.matrix("x", dtype="float32")
dtypes = [pt.var(x, axis=1, ddof=ddof).dtype for ddof in (0, 1)]
print(dtypes)
assert dtypes == ["float32", "float32"]
