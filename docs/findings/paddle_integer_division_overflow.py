"""remainder and floor_divide of the least whole number by -1 end the process with SIGFPE."""

# Fails with: SIGFPE

import numpy as np
import paddle

least = np.array([np.iinfo(np.int64).min])
seen = paddle.remainder(paddle.to_tensor(least), paddle.to_tensor(np.array([-1]))).numpy()
print(seen, "expected", np.remainder(least, -1))
assert seen == 0, "a remainder of a division by -1 is 0"
