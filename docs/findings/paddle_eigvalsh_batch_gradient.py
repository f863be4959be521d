"""The gradient of eigvalsh is wrong for batches of matrices, and right for each matrix alone."""

import numpy as np
import paddle


def gradient(matrices, weights):
    x = paddle.to_tensor(matrices, stop_gradient=False)
    (paddle.linalg.eigvalsh(x) * paddle.to_tensor(weights)).sum().backward()
    return x.grad.numpy()


matrices = np.array([[[2.0, 1.0], [1.0, 3.0]], [[1.0, 0.5], [0.5, -1.0]]])
weights = np.array([[1.0, 2.0], [3.0, -4.0]])
seen = gradient(matrices, weights)
expected = np.stack([gradient(*each) for each in zip(matrices, weights, strict=True)])
print(seen, "expected", expected)
assert np.allclose(seen, expected), "matrices of a batch do not depend on each other"
