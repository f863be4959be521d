"""The gradient of max, min, amax and amin over 2 to 4 of 5 axes is memory that nobody has written."""

import numpy as np
import paddle

x = paddle.to_tensor(np.arange(32, dtype="float32").reshape(2, 2, 2, 2, 2), stop_gradient=False)
y = paddle.max(x, axis=[0, 1, 2, 3])
y.sum().backward()
gradient = x.grad.numpy()
print("y", y.numpy(), "gradient", gradient.ravel())
expected = np.zeros((2, 2, 2, 2, 2), "float32")
expected[1, 1, 1, 1] = 1  # the two largest elements, 30 and 31
assert np.array_equal(gradient, expected), "the gradient is not 1 at the maxima and 0 elsewhere"
