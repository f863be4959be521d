"""avg_pool2d divides by a part of divisor_override where a window lies in the padding. Documented: by it."""

import numpy as np
import paddle
import paddle.nn.functional as F

x = paddle.to_tensor(np.array([[[[1.0], [2.0], [3.0]]]]))
settings = {"kernel_size": [3, 1], "stride": [3, 1], "padding": [1, 0], "divisor_override": 2}
seen = {exclusive: F.avg_pool2d(x, exclusive=exclusive, **settings).numpy().ravel()[0] for exclusive in (True, False)}
print(seen, "expected", (0 + 1 + 2) / 2)
assert seen[True] == seen[False] == 1.5
