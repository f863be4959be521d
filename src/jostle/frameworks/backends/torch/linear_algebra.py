"""How torch computes products, and what is known of a matrix."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression
from jostle.frameworks.backends.templates import equation, fill, templates, turned

MATRIX_NORMS = {
    "frobenius": "'fro'",
    "column": "1",
    "row": "float('inf')",
    "least_column": "-1",
    "least_row": "-float('inf')",
}


def _gemm(call: Call) -> str:
    a, b = turned(call, 0, "trans_a"), turned(call, 1, "trans_b")
    return fill(f"torch.addmm({{2}}, {a}, {b}, beta={{beta}}, alpha={{alpha}})", call)


def _matrix_norm(call: Call) -> str:
    return f"torch.linalg.matrix_norm({call[0]}, {MATRIX_NORMS[call.attributes['kind']]})"


def _cholesky(call: Call) -> str:
    rows = call.type.shape[-1]
    return fill(f"torch.linalg.cholesky({{0}} @ {{0}}.mT + torch.eye({rows}, dtype=torch.{{dtype}}))", call)


LINEAR_ALGEBRA: Mapping[str, Expression] = {
    **templates(
        {
            "baddbmm": "torch.baddbmm({2}, {0}, {1}, beta={beta}, alpha={alpha})",
            "outer": "torch.outer({0}, {1})",
            "inner": "torch.inner({0}, {1})",
            "dot": "torch.dot({0}, {1})",
            "kron": "torch.kron({0}, {1})",
            "tensordot": "torch.tensordot({0}, {1}, {n})",
            "matvec": "torch.mv({0}, {1})",
            "bilinear": "F.bilinear({0}, {1}, {2}, {3})",
            "cross": "torch.linalg.cross({0}, {1}, dim={axis})",
            "cdist": "torch.cdist({0}, {1}, p={p})",
            "dist": "torch.dist({0}, {1}, p={p})",
            "cosine_similarity": "F.cosine_similarity({0}, {1}, dim={axis}, eps={epsilon})",
            "pairwise_distance": "F.pairwise_distance({0}, {1}, p={p}, eps={epsilon})",
            "trace": "torch.diagonal({0}, dim1=-2, dim2=-1).sum(-1)",
            "det": "torch.linalg.det({0})",
            "log_abs_det": "torch.linalg.slogdet({0})[1]",
            "inverse": "torch.linalg.inv({0})",
            "matrix_exp": "torch.linalg.matrix_exp({0})",
            "symmetric_eigenvalues": "torch.linalg.eigvalsh(({0} + {0}.mT) / 2)",
            "singular_values": "torch.linalg.svdvals({0})",
            "matrix_power": "torch.linalg.matrix_power({0}, {n})",
            "solve": "torch.linalg.solve({0}, {1})",
            "triangular_solve": "torch.linalg.solve_triangular({0}, {1}, upper={upper}, unitriangular={unit})",
        }
    ),
    "gemm": _gemm,
    "einsum": lambda call: f"torch.einsum({equation(call)}, {call[0]}, {call[1]})",
    "matrix_norm": _matrix_norm,
    "cholesky_of_gram": _cholesky,
}
