"""Formulas of products, and of what is known of a matrix."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from jostle.frameworks.backends.program import Call
from jostle.frameworks.reference.elementwise import not_below
from jostle.frameworks.reference.numbers import Formula, plain, root
from jostle.frameworks.reference.reductions import largest, smallest, summed
from jostle.frameworks.reference.undefined import undefined_where

WORST_CONDITION = 1e4
LARGEST_EXPONENT = 40.0  # of a matrix: e to the power of it is still far below the largest float32


def _turned(x: Tensor, turn: bool) -> Tensor:
    return x.mT if turn else x


def gemm(call: Call, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    of = call.attributes
    return _weighed(call, torch.matmul(_turned(a, of["trans_a"]), _turned(b, of["trans_b"])), c)


def _weighed(call: Call, product: Tensor, added: Tensor) -> Tensor:
    alpha: float = call.attributes["alpha"]
    beta: float = call.attributes["beta"]
    return alpha * product + beta * added


def baddbmm(call: Call, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    return _weighed(call, torch.matmul(a, b), c)


def inner(a: Tensor, b: Tensor) -> Tensor:
    rows = torch.matmul(a.reshape(-1, a.shape[-1]), b.reshape(-1, b.shape[-1]).T)
    return rows.reshape((*a.shape[:-1], *b.shape[:-1]))


def kron(call: Call, a: Tensor, b: Tensor) -> Tensor:
    for axis in range(call.type.rank):
        a, b = a.unsqueeze(2 * axis + 1), b.unsqueeze(2 * axis)
    return (a * b).reshape(call.type.shape)


def tensordot(call: Call, a: Tensor, b: Tensor) -> Tensor:
    count = call.attributes["n"]
    width = math.prod(b.shape[:count])
    return torch.matmul(a.reshape(-1, width), b.reshape(width, -1)).reshape(call.type.shape)


def einsum(call: Call, a: Tensor, b: Tensor) -> Tensor:
    """All axes beside each other, multiplied, and summed up where the result has none."""
    first, second, result = call.attributes["equation"].split("_")
    letters = result + "".join(sorted({*first, *second} - {*result}))
    product = _spread(a, first, letters) * _spread(b, second, letters)
    return product.sum(list(range(len(result), len(letters)))) if len(letters) > len(result) else product


def _spread(x: Tensor, axes: str, letters: str) -> Tensor:
    ordered = x.permute([axes.index(letter) for letter in letters if letter in axes])
    sizes = dict(zip(axes, x.shape, strict=True))
    return ordered.reshape([sizes.get(letter, 1) for letter in letters])


def bilinear(a: Tensor, b: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    pairs = a.unsqueeze(-1) * b.unsqueeze(-2)
    return (pairs.unsqueeze(1) * weight).sum((-2, -1)) + bias


def cross(call: Call, a: Tensor, b: Tensor) -> Tensor:
    axis = call.attributes["axis"]
    (a0, a1, a2), (b0, b1, b2) = a.unbind(axis), b.unbind(axis)
    return torch.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], axis)


def norm(x: Tensor, axis: int, p: float) -> Tensor:
    """Along one axis, which goes."""
    if p == 2:
        return root(summed(torch.square(x), [axis])).squeeze(axis)
    return (largest if math.isinf(p) else summed)(x.abs(), [axis]).squeeze(axis)


def cosine_similarity(call: Call, a: Tensor, b: Tensor) -> Tensor:
    axis, epsilon = call.attributes["axis"], call.attributes["epsilon"]
    lengths = [not_below(norm(x, axis, 2.0), epsilon) for x in (a, b)]
    return (a * b).sum(axis) / (lengths[0] * lengths[1])


def pairwise_distance(call: Call, a: Tensor, b: Tensor) -> Tensor:
    return norm(a - b + call.attributes["epsilon"], 1, call.attributes["p"])


def finite(formula: Callable[[Tensor], Tensor]) -> Formula:
    """Frameworks raise, or return anything, where a matrix that they factor is not finite."""

    def checked(call: Call, x: Tensor) -> Tensor:
        undefined_where(~x.isfinite(), f"{call.node.operator} of what is not finite")
        return formula(x.contiguous())  # torch views some matrices, which it cannot where they are transposed

    return checked


def _invertible(x: Tensor) -> Tensor:
    """Frameworks lose as many digits as the condition has, whatever single elements would allow."""
    sizes = torch.linalg.svdvals(x.detach())
    undefined_where(~(sizes[..., 0] < WORST_CONDITION * sizes[..., -1]), "a matrix that is nearly without an inverse")
    return x


def matrix_exp(x: Tensor) -> Tensor:
    undefined_where(summed(x.abs(), [-1]) > LARGEST_EXPONENT, "e to the power of a large matrix")
    found: Tensor = torch.linalg.matrix_exp(x)
    return found


def cholesky_of_gram(x: Tensor) -> Tensor:
    undefined_where(summed(torch.square(x), [-2, -1]) > WORST_CONDITION, "a factor of a matrix of bad condition")
    factor: Tensor = torch.linalg.cholesky(torch.matmul(x, x.mT) + torch.eye(x.shape[-2], dtype=x.dtype))
    return factor


def symmetric_eigenvalues(x: Tensor) -> Tensor:
    sums = x + x.mT
    undefined_where(~sums.isfinite(), "eigenvalues of a matrix whose sums are infinite")
    eigenvalues: Tensor = torch.linalg.eigvalsh(sums / 2)
    return eigenvalues


def matrix_power(call: Call, x: Tensor) -> Tensor:
    found = torch.eye(x.shape[-1], dtype=x.dtype).expand(x.shape)
    for time in range(call.attributes["n"]):
        found = x if time == 0 else torch.matmul(found, x)
    return found


def matrix_norm(call: Call, x: Tensor) -> Tensor:
    kind = call.attributes["kind"]
    if kind == "frobenius":
        return root(summed(torch.square(x), [-2, -1])).reshape(call.type.shape)
    of_lines = summed(x.abs(), [-2 if kind.endswith("column") else -1])
    return (smallest if kind.startswith("least") else largest)(of_lines, [-2, -1]).reshape(call.type.shape)


def solve(call: Call, a: Tensor, b: Tensor) -> Tensor:
    undefined_where(~a.isfinite(), "a solution for a matrix that is not finite")
    undefined_where(~b.isfinite(), "a solution for what is not finite")
    solution: Tensor = torch.linalg.solve(_invertible(a), b)
    return solution


def triangular_solve(call: Call, a: Tensor, b: Tensor) -> Tensor:
    """Row by row, from the one that has a single unknown."""
    undefined_where(~a.isfinite(), "a solution for a matrix that is not finite")
    undefined_where(~b.isfinite(), "a solution for what is not finite")
    upper, unit, size = call.attributes["upper"], call.attributes["unit"], a.shape[-1]
    triangle = a.detach().triu() if upper else a.detach().tril()
    if unit:
        triangle = triangle - torch.diag_embed(triangle.diagonal(dim1=-2, dim2=-1) - 1)
    _invertible(triangle)
    found: dict[int, Tensor] = {}
    for row in reversed(range(size)) if upper else range(size):
        rest = b[..., row, :]
        for other, values in found.items():
            rest = rest - a[..., row, other, None] * values
        found[row] = rest if unit else rest / a[..., row, row, None]
    return torch.stack([found[row] for row in range(size)], -2)


LINEAR_ALGEBRA: Mapping[str, Formula] = {
    "gemm": gemm,
    "baddbmm": baddbmm,
    "outer": plain(lambda a, b: a.unsqueeze(1) * b),
    "inner": plain(inner),
    "dot": plain(lambda a, b: (a * b).sum()),
    "kron": kron,
    "tensordot": tensordot,
    "einsum": einsum,
    "matvec": plain(lambda a, b: (a * b).sum(1)),
    "bilinear": plain(bilinear),
    "cross": cross,
    "cdist": lambda call, a, b: norm(a.unsqueeze(-2) - b.unsqueeze(-3), -1, call.attributes["p"]),
    "dist": lambda call, a, b: norm((a - b).flatten(), 0, call.attributes["p"]),
    "cosine_similarity": cosine_similarity,
    "pairwise_distance": pairwise_distance,
    "trace": plain(lambda x: x.diagonal(dim1=-2, dim2=-1).sum(-1)),
    "det": finite(lambda x: torch.linalg.det(_invertible(x))),
    "log_abs_det": finite(lambda x: torch.linalg.slogdet(_invertible(x)).logabsdet),
    "inverse": finite(lambda x: torch.linalg.inv(_invertible(x))),
    "matrix_exp": finite(matrix_exp),
    "cholesky_of_gram": finite(cholesky_of_gram),
    "symmetric_eigenvalues": finite(symmetric_eigenvalues),
    "singular_values": finite(torch.linalg.svdvals),
    "matrix_power": matrix_power,
    "matrix_norm": matrix_norm,
    "solve": solve,
    "triangular_solve": triangular_solve,
}
