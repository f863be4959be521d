"""celu, hardsigmoid and softshrink of float64 use attributes rounded to float32."""

import paddle
import paddle.nn.functional as F

x = paddle.to_tensor([0.5, -5.0], dtype="float64")
seen = {
    "softshrink": (F.softshrink(x, 0.3).numpy()[0], 0.2),
    "celu": (F.celu(x, 0.2).numpy()[1], -0.2),
    "hardsigmoid": (F.hardsigmoid(x).numpy()[0], 0.5 / 6 + 0.5),
}
for name, (value, expected) in seen.items():
    print(name, value, "expected", expected)
for name, (value, expected) in seen.items():
    assert abs(value - expected) < 1e-11, f"{name} is only accurate to float32"
