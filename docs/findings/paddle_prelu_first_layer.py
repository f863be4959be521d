"""prelu of an input that needs no gradient cannot be trained: backward ends the process with SIGSEGV."""

# Fails with: SIGSEGV

import paddle
import paddle.nn.functional as F

x = paddle.to_tensor([[-1.0, 2.0, -3.0]])
weight = paddle.to_tensor([0.25], stop_gradient=False)
F.prelu(x, weight).sum().backward()
print(weight.grad)
assert weight.grad.item() == -4, "the sum of all negative numbers"
