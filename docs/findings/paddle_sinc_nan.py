"""sinc of NaN and of infinity is 1. Documented: sin(πx) / (πx), which is NaN."""

import numpy as np
import paddle

seen = paddle.sinc(paddle.to_tensor([np.nan, np.inf])).numpy()
print(seen, "expected NaN")
assert np.isnan(seen).all(), "only at 0 it is 1"
