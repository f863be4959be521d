"""A window of -inf has the largest number -3.4e38 at index -1, to which backward of max_pool2d writes."""

import numpy as np
import paddle
import paddle.nn.functional as F

x = paddle.to_tensor(np.full((1, 1, 2, 2), -np.inf, np.float32))
largest, indices = F.max_pool2d(x, 2, return_mask=True)
print(largest.item(), "expected -inf, at", indices.item(), "expected 0 to 3")
assert 0 <= indices.item() < 4, "an index outside the image"
