"""max_pool2d of float64 is never less than the lowest float32."""

import numpy as np
import paddle
import paddle.nn.functional as F

x = paddle.to_tensor(np.full((1, 1, 2, 2), -1e40))
seen = {"max_pool2d": F.max_pool2d(x, 2).item(), "adaptive_max_pool2d": F.adaptive_max_pool2d(x, 1).item()}
print(seen, "expected -1e+40")
assert set(seen.values()) == {-1e40}, "all elements are -1e40"
