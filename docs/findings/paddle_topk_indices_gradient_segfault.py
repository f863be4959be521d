"""A gradient that reaches topk through its indices alone ends the process with SIGSEGV."""

# Fails with: SIGSEGV

import paddle

x = paddle.to_tensor([1.0, 3.0, 2.0], stop_gradient=False)
indices = paddle.topk(x, k=1)[1]
indices.cast("float32").sum().backward()
print(x.grad)
assert x.grad is None or not x.grad.any(), "indices do not depend smoothly on x, so the gradient is 0"
