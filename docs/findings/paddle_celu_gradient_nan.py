"""celu's gradient at x > 0 is NaN where exp(x / alpha) overflows; there celu is x and its gradient 1."""

import paddle
import paddle.nn.functional as F

x = paddle.to_tensor([2.0], stop_gradient=False)
y = F.celu(x, alpha=0.01)
y.sum().backward()
print("celu", y.numpy(), "gradient", x.grad.numpy())
assert x.grad.numpy()[0] == 1
