"""softmax of 12 float32 numbers, one of them NaN, is finite. Documented: exp(x) / sum(exp(x)), which is NaN."""

import numpy as np
import paddle
import paddle.nn.functional as F

x = np.zeros(12, np.float32)
x[1] = np.nan
seen = {dtype: F.softmax(paddle.to_tensor(x.astype(dtype)), axis=0).numpy() for dtype in ("float32", "float64")}
print(seen["float32"], "expected", seen["float64"])
assert np.isnan(seen["float32"]).all(), "a sum with NaN is NaN"
