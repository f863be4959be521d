"""The gradient of triangular_solve with unitriangular=True is not 0 on the diagonal, which is not read."""

import numpy as np
import paddle

matrix, right = np.array([[2.0, 0.0], [3.0, 5.0]]), np.array([[1.0], [1.0]])
x, b = paddle.to_tensor(matrix, stop_gradient=False), paddle.to_tensor(right, stop_gradient=False)
solution = paddle.linalg.triangular_solve(x, b, upper=False, unitriangular=True)
solution.sum().backward()
print(solution.numpy(), x.grad.numpy(), "expected [[0, 0], [-1, 0]]")
assert np.allclose(solution.numpy(), [[1.0], [-2.0]]), "the diagonal is taken for 1"
assert np.allclose(x.grad.numpy(), [[0.0, 0.0], [-1.0, 0.0]])
