"""How PyTensor computes products, and what is known of a matrix."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression, Unsupported
from jostle.frameworks.backends.pytensor.filling import all_filled_in, filled_in
from jostle.frameworks.backends.templates import equation, turned


def _gemm(call: Call) -> str:
    a, b = turned(call, 0, "trans_a"), turned(call, 1, "trans_b")
    return filled_in(f"{{alpha}} * pt.dot({a}, {b}) + {{beta}} * {{2}}")(call)


def _cholesky(call: Call) -> str:
    rows = call.type.shape[-1]
    gram = "pt.matmul({0}, pt.matrix_transpose({0}))"
    return filled_in(f"pt.linalg.cholesky({gram} + np.eye({rows}, dtype={call.type.dtype!r}))")(call)


def _triangular_solve(call: Call) -> str:
    lower, unit = not call.attributes["upper"], call.literal("unit")
    return f"pt.linalg.solve_triangular({call[0]}, {call[1]}, lower={lower}, unit_diagonal={unit}, b_ndim=2)"


def _of_matrices(text: str) -> Expression:
    """PyTensor documents matrices here, and no batches of them."""

    def expression(call: Call) -> str:
        if call.types[0].rank != 2:
            raise Unsupported(f"has {call.node.operator} of one matrix")
        return filled_in(text)(call)

    return expression


def _kron(call: Call) -> str:
    if call.type.rank < 2:
        raise Unsupported("has kron of matrices")
    return f"pt.linalg.kron({call[0]}, {call[1]})"


LINEAR_ALGEBRA: Mapping[str, Expression] = {
    **all_filled_in(
        {
            "baddbmm": "{alpha} * pt.matmul({0}, {1}) + {beta} * {2}",
            "outer": "pt.outer({0}, {1})",
            "dot": "pt.dot({0}, {1})",
            "tensordot": "pt.tensordot({0}, {1}, axes={n})",
            "matvec": "pt.matvec({0}, {1})",
            "det": "pt.linalg.det({0})",
            "inverse": "pt.linalg.inv({0})",
            "solve": "pt.linalg.solve({0}, {1}, b_ndim=2)",
        }
    ),
    "kron": _kron,
    "gemm": _gemm,
    "einsum": lambda call: f"pt.einsum({equation(call)}, {call[0]}, {call[1]})",
    "trace": _of_matrices("pt.linalg.trace({0})"),
    "log_abs_det": _of_matrices("pt.linalg.slogdet({0})[1]"),
    "matrix_exp": _of_matrices("pt.linalg.expm({0})"),
    "matrix_power": _of_matrices("pt.linalg.matrix_power({0}, {n})"),
    "singular_values": _of_matrices("pt.linalg.svd({0}, compute_uv=False)"),
    "cholesky_of_gram": _cholesky,
    "triangular_solve": _triangular_solve,
}
