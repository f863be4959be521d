"""How JAX computes products, and what is known of a matrix."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression, literal
from jostle.frameworks.backends.templates import equation, fill, templates, turned

MATRIX_NORMS = {"frobenius": "'fro'", "column": "1", "row": "jnp.inf", "least_column": "-1", "least_row": "-jnp.inf"}


def _gemm(call: Call) -> str:
    a, b = turned(call, 0, "trans_a"), turned(call, 1, "trans_b")
    return fill(f"{{alpha}} * jnp.matmul({a}, {b}) + {{beta}} * {{2}}", call)


def _norm(apart: str, over: str) -> Expression:
    return lambda call: fill(f"jnp.linalg.vector_norm({apart}, ord={literal(call.attributes['p'])}{over})", call)


def _matrix_norm(call: Call) -> str:
    return f"jnp.linalg.matrix_norm({call[0]}, ord={MATRIX_NORMS[call.attributes['kind']]})"


def _cholesky(call: Call) -> str:
    rows = call.type.shape[-1]
    return fill(f'jnp.linalg.cholesky(jnp.matmul({{0}}, {{0}}.mT) + jnp.eye({rows}, dtype="{{dtype}}"))', call)


def _triangular_solve(call: Call) -> str:
    lower, unit = not call.attributes["upper"], call.literal("unit")
    return f"jax.scipy.linalg.solve_triangular({call[0]}, {call[1]}, lower={lower}, unit_diagonal={unit})"


def _cosine_similarity(call: Call) -> str:
    lengths = [f"jnp.maximum(jnp.linalg.norm({{{at}}}, axis={{axis}}), {{epsilon}})" for at in (0, 1)]
    return fill(f"jnp.sum({{0}} * {{1}}, axis={{axis}}) / ({lengths[0]} * {lengths[1]})", call)


LINEAR_ALGEBRA: Mapping[str, Expression] = {
    **templates(
        {
            "baddbmm": "{alpha} * jnp.matmul({0}, {1}) + {beta} * {2}",
            "outer": "jnp.outer({0}, {1})",
            "inner": "jnp.inner({0}, {1})",
            "dot": "jnp.dot({0}, {1})",
            "kron": "jnp.kron({0}, {1})",
            "tensordot": "jnp.tensordot({0}, {1}, axes={n})",
            "matvec": "jnp.matvec({0}, {1})",
            "bilinear": 'jnp.einsum("ni,oij,nj->no", {0}, {2}, {1}) + {3}',
            "cross": "jnp.cross({0}, {1}, axis={axis})",
            "trace": "jnp.trace({0}, axis1=-2, axis2=-1)",
            "det": "jnp.linalg.det({0})",
            "log_abs_det": "jnp.linalg.slogdet({0})[1]",
            "inverse": "jnp.linalg.inv({0})",
            "matrix_exp": "jax.scipy.linalg.expm({0})",
            "symmetric_eigenvalues": "jnp.linalg.eigvalsh(({0} + {0}.mT) / 2)",
            "singular_values": "jnp.linalg.svdvals({0})",
            "matrix_power": "jnp.linalg.matrix_power({0}, {n})",
            "solve": "jnp.linalg.solve({0}, {1})",
        }
    ),
    "gemm": _gemm,
    "einsum": lambda call: f"jnp.einsum({equation(call)}, {call[0]}, {call[1]})",
    "cdist": _norm("{0}[..., :, None, :] - {1}[..., None, :, :]", ", axis=-1"),
    "dist": _norm("{0} - {1}", ""),
    "pairwise_distance": _norm("{0} - {1} + {epsilon}", ", axis=1"),
    "cosine_similarity": _cosine_similarity,
    "matrix_norm": _matrix_norm,
    "cholesky_of_gram": _cholesky,
    "triangular_solve": _triangular_solve,
}
