"""hardshrink keeps values equal to the threshold; its documentation and the other frameworks make them 0."""

import paddle
import paddle.nn.functional as F

y = F.hardshrink(paddle.to_tensor([0.5, -0.5]), threshold=0.5).numpy()
print(y)
assert not y.any(), "documented: x if x > threshold or x < -threshold, else 0"
