"""normalize divides by max(norm, epsilon), but its gradient is that of another function."""

import numpy as np
import paddle
import paddle.nn.functional as F

x = paddle.to_tensor([[1.0, 2.0]], dtype="float64", stop_gradient=False)
y = F.normalize(x, axis=0, epsilon=0.1)  # every norm is |x|, above epsilon: y is 1 whatever x is
y.sum().backward()
print("y", y.numpy(), "gradient", x.grad.numpy(), "expected 0")
np.testing.assert_allclose(x.grad.numpy(), 0, atol=1e-9)
