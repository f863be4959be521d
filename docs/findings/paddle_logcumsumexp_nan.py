"""logcumsumexp leaves out NaN. Documented: the logarithm of a sum of exponentials, which is NaN."""

import numpy as np
import paddle

seen = paddle.logcumsumexp(paddle.to_tensor([1.0, np.nan, 1.0]), axis=0).numpy()
print(seen, "expected [1, NaN, NaN]")
assert np.isnan(seen[1:]).all(), "exp(NaN) is NaN"
