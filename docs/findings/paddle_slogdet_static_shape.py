"""slogdet in a static program says that it has a vector for one matrix, so no gradient of it can be built."""

import numpy as np
import paddle

eager = paddle.linalg.slogdet(paddle.to_tensor(np.eye(4)))[1].shape
paddle.enable_static()
with paddle.static.program_guard(paddle.static.Program()):
    static = paddle.linalg.slogdet(paddle.static.data("x", [4, 4], "float64"))[1].shape
print(static, "expected", eager)
assert list(static) == list(eager) == []
