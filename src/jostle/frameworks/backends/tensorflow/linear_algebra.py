"""How TensorFlow computes products, and what is known of a matrix."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression, Unsupported
from jostle.frameworks.backends.templates import equation, fill, templates


def _gemm(call: Call) -> str:
    product = "tf.matmul({0}, {1}, transpose_a={trans_a}, transpose_b={trans_b})"
    return fill(f"{{alpha}} * {product} + {{beta}} * {{2}}", call)


def _norm(apart: str, over: str) -> Expression:
    def expression(call: Call) -> str:
        order = "np.inf" if call.attributes["p"] == float("inf") else call.literal("p")
        return fill(f"tf.norm({apart}, ord={order}{over})", call)

    return expression


def _matrix_norm(call: Call) -> str:
    """tf.norm documents the largest sums of matrices, and no smallest."""
    kinds = {"frobenius": '"fro"', "column": "1", "row": "np.inf"}
    if call.attributes["kind"] not in kinds:
        raise Unsupported("has no norm by the smallest sum")
    return f"tf.norm({call[0]}, ord={kinds[call.attributes['kind']]}, axis=[-2, -1])"


def _cholesky(call: Call) -> str:
    rows = call.type.shape[-1]
    return fill(
        f"tf.linalg.cholesky(tf.matmul({{0}}, {{0}}, transpose_b=True) + tf.eye({rows}, dtype=tf.{{dtype}}))", call
    )


def _triangular_solve(call: Call) -> str:
    if call.attributes["unit"]:
        raise Unsupported("reads the diagonal of every triangle")
    return f"tf.linalg.triangular_solve({call[0]}, {call[1]}, lower={not call.attributes['upper']})"


def _cross(call: Call) -> str:
    if call.attributes["axis"] != call.type.rank - 1:
        raise Unsupported("has vector products along the last axis")
    return f"tf.linalg.cross({call[0]}, {call[1]})"


LINEAR_ALGEBRA: Mapping[str, Expression] = {
    **templates(
        {
            "baddbmm": "{alpha} * tf.matmul({0}, {1}) + {beta} * {2}",
            "outer": "tf.experimental.numpy.outer({0}, {1})",
            "inner": "tf.experimental.numpy.inner({0}, {1})",
            "dot": "tf.tensordot({0}, {1}, 1)",
            "kron": "tf.experimental.numpy.kron({0}, {1})",
            "tensordot": "tf.tensordot({0}, {1}, {n})",
            "matvec": "tf.linalg.matvec({0}, {1})",
            "bilinear": 'tf.einsum("ni,oij,nj->no", {0}, {2}, {1}) + {3}',
            "trace": "tf.linalg.trace({0})",
            "det": "tf.linalg.det({0})",
            "log_abs_det": "tf.linalg.slogdet({0})[1]",
            "inverse": "tf.linalg.inv({0})",
            "matrix_exp": "tf.linalg.expm({0})",
            "symmetric_eigenvalues": "tf.linalg.eigvalsh(({0} + tf.linalg.matrix_transpose({0})) / 2)",
            "singular_values": "tf.linalg.svd({0}, compute_uv=False)",
            "solve": "tf.linalg.solve({0}, {1})",
        }
    ),
    "gemm": _gemm,
    "einsum": lambda call: f"tf.einsum({equation(call)}, {call[0]}, {call[1]})",
    "cross": _cross,
    "cdist": _norm("{0}[..., :, None, :] - {1}[..., None, :, :]", ", axis=-1"),
    "dist": _norm("{0} - {1}", ""),
    "pairwise_distance": _norm("{0} - {1} + {epsilon}", ", axis=1"),
    "matrix_norm": _matrix_norm,
    "cholesky_of_gram": _cholesky,
    "triangular_solve": _triangular_solve,
}
