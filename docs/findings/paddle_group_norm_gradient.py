"""The gradient of group_norm is wrong without weight and bias, and right with a weight of 1 and a bias of 0."""

import numpy as np
import paddle
import paddle.nn.functional as F

images, cotangent = np.random.default_rng(0).standard_normal((2, 4, 3, 3))


def gradient(**affine):
    x = paddle.to_tensor(images[None], stop_gradient=False)
    (F.group_norm(x, 2, **affine) * paddle.to_tensor(cotangent[None])).sum().backward()
    return x.grad.numpy()


neutral = {"weight": paddle.ones([4], "float64"), "bias": paddle.zeros([4], "float64")}
seen, expected = gradient(), gradient(**neutral)
print(seen.ravel()[:4], "expected", expected.ravel()[:4])
assert np.allclose(seen, expected)
