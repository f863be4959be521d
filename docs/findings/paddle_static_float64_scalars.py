"""Numbers of Python that a static program of float64 computes with are rounded to float32."""

import numpy as np
import paddle

x = np.array([1.0, 2.0, 3.0])
functions = {
    "x * 0.1": lambda x: x * 0.1,
    "x + 0.1": lambda x: x + 0.1,
    "x / 0.3": lambda x: x / 0.3,
    "x**0.1": lambda x: x**0.1,
    "clip": lambda x: paddle.clip(x, 1.1, 2.1),
    "sinc": paddle.sinc,
    "quantile": lambda x: paddle.quantile(x, 0.3),
}
eager = {name: function(paddle.to_tensor(x)).numpy() for name, function in functions.items()}
paddle.enable_static()
with paddle.static.program_guard(paddle.static.Program()):
    given = paddle.static.data("x", x.shape, "float64")
    computed = [function(given) for function in functions.values()]
    static = paddle.static.Executor(paddle.CPUPlace()).run(feed={"x": x}, fetch_list=computed)
errors = {name: np.abs(one - eager[name]).max() for name, one in zip(functions, static, strict=True)}
print(errors)
wrong = [name for name, error in errors.items() if error > 1e-12]
assert not wrong, f"{', '.join(wrong)}: only accurate to float32, unlike eagerly"
