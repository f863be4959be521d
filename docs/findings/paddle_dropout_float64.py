"""dropout of float64 scales by a factor rounded to float32, in training and where it is evaluated."""

import paddle
import paddle.nn.functional as F

x = paddle.ones([10, 100], dtype="float64")
seen = {
    "training": (F.dropout(x, 0.1).max().item(), 1 / 0.9),
    "evaluation": (F.dropout(x, 0.1, training=False, mode="downscale_in_infer").max().item(), 0.9),
}
for name, (value, expected) in seen.items():
    print(name, value, "expected", expected)
wrong = [name for name, (value, expected) in seen.items() if abs(value - expected) > 1e-12]
assert not wrong, f"{', '.join(wrong)}: only accurate to float32"
