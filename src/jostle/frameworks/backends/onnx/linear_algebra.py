"""How ONNX computes products, and what is known of a matrix."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.onnx.nodes import Sketch, Sketcher, native
from jostle.frameworks.backends.program import Unsupported


def _gemm(s: Sketch) -> str:
    of = s.attributes
    return s.add(
        "Gemm", s[0], s[1], s[2], alpha=of["alpha"], beta=of["beta"], transA=of["trans_a"], transB=of["trans_b"]
    )


def _einsum(s: Sketch) -> str:
    a, b, result = s.attributes["equation"].split("_")
    return s.add("Einsum", s[0], s[1], equation=f"{a},{b}->{result}")


def _outer(s: Sketch) -> str:
    column = s.add("Unsqueeze", s[0], s.constant("last", [1]))
    return s.add("Mul", column, s[1])


def _baddbmm(s: Sketch) -> str:
    alpha, beta = (s.constant(name, s.attributes[name], s.x.dtype) for name in ("alpha", "beta"))
    return s.add("Add", s.add("Mul", alpha, s.add("MatMul", s[0], s[1])), s.add("Mul", beta, s[2]))


def _matrix_norm(s: Sketch) -> str:
    kind = s.attributes["kind"]
    if kind == "frobenius":
        return s.add("ReduceL2", s[0], s.constant("axes", [s.x.rank - 2, s.x.rank - 1]), keepdims=0)
    if kind.startswith("least"):
        raise Unsupported("has no norm by the smallest sum")
    of_columns = kind == "column"
    sums = s.add("ReduceL1", s[0], s.constant("axes", [s.x.rank - (2 if of_columns else 1)]), keepdims=0)
    return s.add("ReduceMax", sums, s.constant("last", [s.x.rank - 2]), keepdims=0)


LINEAR_ALGEBRA: Mapping[str, Sketcher] = {
    "gemm": _gemm,
    "baddbmm": _baddbmm,
    "outer": _outer,
    "dot": native("MatMul"),
    "matvec": native("MatMul"),
    "einsum": _einsum,
    "det": native("Det"),
    "matrix_norm": _matrix_norm,
}
