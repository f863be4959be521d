"""Bilinear and bicubic interpolation of an image to one pixel give its corner, and not its middle."""

import numpy as np
import paddle
import paddle.nn.functional as F

x = np.arange(16, dtype="float32").reshape(1, 1, 4, 4)
volume = np.arange(64, dtype="float32").reshape(1, 1, 4, 4, 4)
middle = F.interpolate(paddle.to_tensor(volume), size=[1, 1, 1], mode="trilinear", data_format="NCDHW").item()
print("trilinear", middle, "expected", volume.mean())
seen = {mode: F.interpolate(paddle.to_tensor(x), size=[1, 1], mode=mode).item() for mode in ("bilinear", "bicubic")}
print(seen, "expected", x.mean())
wrong = [mode for mode, value in seen.items() if abs(value - x.mean()) > 1e-4]
assert not wrong, f"{', '.join(wrong)}: (0 + 0.5) * 4 - 0.5 is 1.5, in the middle"
