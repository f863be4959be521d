"""diag_embed has no gradient, and does not say so: what it returns is marked as needing none."""

import paddle

x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
y = paddle.diag_embed(x)
print("stop_gradient", y.stop_gradient, "expected False")
assert not y.stop_gradient, "y moves with x"
