"""trapezoid of a tensor without elements has another shape in a static program."""

import numpy as np
import paddle

x = np.zeros((5, 100, 0, 9), np.float32)
paddle.enable_static()
program = paddle.static.Program()
with paddle.static.program_guard(program):
    y = paddle.trapezoid(paddle.static.data("x", x.shape), axis=3)
(seen,) = paddle.static.Executor(paddle.CPUPlace()).run(program, feed={"x": x}, fetch_list=[y])
print(seen.shape, "expected", (5, 100, 0))
assert seen.shape == (5, 100, 0)
