"""The gradient of average pooling in float64 uses a scale rounded to float32."""

import paddle
import paddle.nn.functional as F

for pool in (F.avg_pool2d, F.adaptive_avg_pool2d):
    x = paddle.ones([1, 1, 3, 3], dtype="float64")
    x.stop_gradient = False
    pool(x, 3 if pool is F.avg_pool2d else 1).sum().backward()
    print(pool.__name__, x.grad.numpy()[0, 0, 0, 0], "expected", 1 / 9)
    assert abs(x.grad.numpy()[0, 0, 0, 0] * 9 - 1) < 1e-14, "the gradient is only accurate to float32"
