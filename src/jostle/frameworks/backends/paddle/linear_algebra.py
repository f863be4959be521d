"""How Paddle computes products, and what is known of a matrix."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression, Unsupported
from jostle.frameworks.backends.templates import equation, fill, templates, turned

MATRIX_NORMS = {"frobenius": "'fro'", "column": "1", "row": "np.inf", "least_column": "-1", "least_row": "-np.inf"}


def _gemm(call: Call) -> str:
    a, b = turned(call, 0, "trans_a"), turned(call, 1, "trans_b")
    added = "{2}" if call.types[2].rank == 2 else "{2}.unsqueeze(0)"  # addmm documents a matrix
    return fill(f"paddle.addmm({added}, {a}, {b}, beta={{beta}}, alpha={{alpha}})", call)


def _matrix_norm(call: Call) -> str:
    return f"paddle.linalg.matrix_norm({call[0]}, p={MATRIX_NORMS[call.attributes['kind']]})"


def _cholesky(call: Call) -> str:
    rows = call.type.shape[-1]
    gram = "paddle.matmul({0}, {0}, transpose_y=True)"
    return fill(f'paddle.linalg.cholesky({gram} + paddle.eye({rows}, dtype="{{dtype}}"))', call)


def _symmetric_eigenvalues(call: Call) -> str:
    rank = call.types[0].rank
    order = [*range(rank - 2), rank - 1, rank - 2]
    return f"paddle.linalg.eigvalsh(({call[0]} + paddle.transpose({call[0]}, {order})) / 2)"


def _singular_values(call: Call) -> str:
    """Of batches with several axes, Paddle 3.3 makes one axis."""
    if call.types[0].rank > 3:
        raise Unsupported("gives a batch of several axes as one axis")
    return f"paddle.linalg.svdvals({call[0]})"


def _cosine_similarity(call: Call) -> str:
    """Paddle documents that epsilon avoids a division by 0, but not whether it limits each length or their product."""
    if call.attributes["epsilon"] > 1e-8:
        raise Unsupported("says not what its epsilon limits")
    return fill("F.cosine_similarity({0}, {1}, axis={axis}, eps={epsilon})", call)


LINEAR_ALGEBRA: Mapping[str, Expression] = {
    **templates(
        {
            "baddbmm": "paddle.baddbmm({2}, {0}, {1}, beta={beta}, alpha={alpha})",
            "outer": "paddle.outer({0}, {1})",
            "inner": "paddle.inner({0}, {1})",
            "dot": "paddle.dot({0}, {1})",
            "kron": "paddle.kron({0}, {1})",
            "tensordot": "paddle.tensordot({0}, {1}, axes={n})",
            "matvec": "paddle.mv({0}, {1})",
            "bilinear": "F.bilinear({0}, {1}, {2}, {3}.unsqueeze(0))",
            "cross": "paddle.cross({0}, {1}, axis={axis})",
            "cdist": "paddle.cdist({0}, {1}, p={p})",
            "dist": "paddle.dist({0}, {1}, p={p})",
            "pairwise_distance": "F.pairwise_distance({0}, {1}, p={p}, epsilon={epsilon})",
            "trace": "paddle.trace({0}, axis1=-2, axis2=-1)",
            "det": "paddle.linalg.det({0})",
            "log_abs_det": "paddle.linalg.slogdet({0})[1]",
            "inverse": "paddle.linalg.inv({0})",
            "matrix_exp": "paddle.linalg.matrix_exp({0})",
            "matrix_power": "paddle.linalg.matrix_power({0}, {n})",
            "solve": "paddle.linalg.solve({0}, {1})",
            "triangular_solve": "paddle.linalg.triangular_solve({0}, {1}, upper={upper}, unitriangular={unit})",
        }
    ),
    "singular_values": _singular_values,
    "gemm": _gemm,
    "cosine_similarity": _cosine_similarity,
    "einsum": lambda call: f"paddle.einsum({equation(call)}, {call[0]}, {call[1]})",
    "matrix_norm": _matrix_norm,
    "cholesky_of_gram": _cholesky,
    "symmetric_eigenvalues": _symmetric_eigenvalues,
}
