"""lp_pool1d and lp_pool2d of float64 compute in float32."""

import math

import paddle
import paddle.nn.functional as F

x = [1.3, 2.1]
seen = {
    "lp_pool1d": F.lp_pool1d(paddle.to_tensor([[x]], dtype="float64"), 2.0, kernel_size=2).item(),
    "lp_pool2d": F.lp_pool2d(paddle.to_tensor([[[x]]], dtype="float64"), 2.0, kernel_size=[1, 2]).item(),
}
print(seen, "expected", math.hypot(*x))
wrong = [name for name, value in seen.items() if abs(value - math.hypot(*x)) > 1e-11]
assert not wrong, f"{', '.join(wrong)}: only accurate to float32"
