"""topk of a tensor without elements runs eagerly, but in a static program its result has no shape."""

# Fails with: negative dimensions are not allowed

import numpy as np
import paddle

x = np.zeros((0, 3), np.float32)
print(paddle.topk(paddle.to_tensor(x), k=2)[0].shape, "eagerly")
paddle.enable_static()
program = paddle.static.Program()
with paddle.static.program_guard(program):
    values, _ = paddle.topk(paddle.static.data("x", x.shape), k=2)
(seen,) = paddle.static.Executor(paddle.CPUPlace()).run(program, feed={"x": x}, fetch_list=[values])
assert seen.shape == (0, 2)
