"""celu, elu, selu, hardsigmoid, softshrink and instance_norm of float64 use attributes rounded to float32."""

import math

import paddle
import paddle.nn.functional as F

x = paddle.to_tensor([0.5, -5.0], dtype="float64")
seen = {
    "softshrink": (F.softshrink(x, 0.3).numpy()[0], 0.2),
    "celu": (F.celu(x, 0.2).numpy()[1], -0.2),
    "elu": (F.elu(x, 0.1).numpy()[1], 0.1 * math.expm1(-5)),
    "selu": (F.selu(x).numpy()[0], 0.5 * 1.0507009873554804934),
    "instance_norm": (F.instance_norm(x.reshape([1, 1, 2]), eps=0.1).numpy()[0, 0, 0], 2.75 / math.sqrt(2.75**2 + 0.1)),
    "hardsigmoid": (F.hardsigmoid(x).numpy()[0], 0.5 / 6 + 0.5),
}
for name, (value, expected) in seen.items():
    print(name, value, "expected", expected)
wrong = [name for name, (value, expected) in seen.items() if abs(value - expected) > 1e-11]
assert not wrong, f"{', '.join(wrong)}: only accurate to float32"
