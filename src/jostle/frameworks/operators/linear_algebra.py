"""Products of vectors, matrices and tensors, and what is known of a matrix: determinant, inverse, factors, norms."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jostle.frameworks.graph import Attributes, TensorType
from jostle.frameworks.operators.kinds import Random, floats, weights
from jostle.frameworks.operators.operator import (
    AXIS,
    FLAG,
    Accepts,
    Choice,
    Extras,
    Infer,
    OperandDomain,
    Operator,
    Real,
    Rounding,
    Types,
    Wanted,
    Whole,
    broadcast,
    require,
    require_axis,
)

MOST_POWERS = 16


def of_rank(*ranks: int) -> Accepts:
    return lambda first: first.is_float and first.rank in ranks and first.size > 0


def _size(rng: Random) -> int:
    return int(rng.integers(1, 7))


def values(shape: Sequence[int], first: TensorType) -> Wanted:
    return Wanted(tuple(shape), first.dtype, "values")


def _product(
    name: str, meaning: str, infer: Infer, accepts: Accepts, extras: Extras, **domains: OperandDomain
) -> Operator:
    return Operator(name, meaning, infer, accepts, domains, extras)


def _turned(shape: tuple[int, ...], turn: bool) -> tuple[int, ...]:
    return (shape[1], shape[0]) if turn else shape


def _gemm(types: Types, attributes: Attributes) -> TensorType:
    dtype = floats(types, 3)
    require(types[0].rank == types[1].rank == 2, "is defined on matrices")
    a, b = _turned(types[0].shape, attributes["trans_a"]), _turned(types[1].shape, attributes["trans_b"])
    require(a[1] == b[0] > 0, "the matrices cannot be multiplied")
    require(broadcast(types[2].shape, (a[0], b[1])) == (a[0], b[1]), "what is added does not fit")
    return TensorType((a[0], b[1]), dtype)


def _gemm_extras(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    (rows, inner), columns = _turned(first.shape, attributes["trans_a"]), _size(rng)
    added = [(rows, columns), (columns,), (rows, 1), (1, columns)][rng.integers(4)]
    return weights(_turned((inner, columns), attributes["trans_b"]), first), weights(added, first)


def _baddbmm(types: Types, attributes: Attributes) -> TensorType:
    dtype = floats(types, 3)
    a, b, added = types
    require(a.rank == b.rank == 3 and a.shape[0] == b.shape[0], "is defined on as many matrices")
    require(a.shape[2] == b.shape[1] > 0, "the matrices cannot be multiplied")
    shape = (a.shape[0], a.shape[1], b.shape[2])
    require(added.shape == shape, "what is added does not fit")
    return TensorType(shape, dtype)


def _baddbmm_extras(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    batch, rows, inner = first.shape
    columns = _size(rng)
    return weights((batch, inner, columns), first), values((batch, rows, columns), first)


def _outer(types: Types, attributes: Attributes) -> TensorType:
    dtype = floats(types, 2)
    require(types[0].rank == types[1].rank == 1, "is defined on vectors")
    return TensorType((types[0].size, types[1].size), dtype)


def _inner(types: Types, attributes: Attributes) -> TensorType:
    dtype = floats(types, 2)
    a, b = types
    require(a.rank > 0 and b.rank > 0 and a.shape[-1] == b.shape[-1] > 0, "the last axes do not fit")
    return TensorType((*a.shape[:-1], *b.shape[:-1]), dtype)


def _inner_extras(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    before = [_size(rng) for _ in range(int(rng.integers(0, 3)))]
    return (values((*before, first.shape[-1]), first),)


def _dot(types: Types, attributes: Attributes) -> TensorType:
    dtype = floats(types, 2)
    require(types[0].rank == 1 and types[0].shape == types[1].shape and types[0].size > 0, "is defined on vectors")
    return TensorType((), dtype)


def _same_again(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    return (values(first.shape, first),)


def _kron(types: Types, attributes: Attributes) -> TensorType:
    dtype = floats(types, 2)
    require(types[0].rank == types[1].rank > 0, "ranks differ")
    return TensorType(tuple(a * b for a, b in zip(types[0].shape, types[1].shape, strict=True)), dtype)


def _kron_extras(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    return (values([int(size) for size in rng.integers(1, 4, first.rank)], first),)


def _tensordot(types: Types, attributes: Attributes) -> TensorType:
    dtype = floats(types, 2)
    (a, b), count = types, attributes["n"]
    require(0 <= count <= min(a.rank, b.rank), "there are fewer axes")
    kept = a.rank - count
    require(a.shape[kept:] == b.shape[:count] and a.size > 0 and b.size > 0, "the axes do not fit")
    return TensorType((*a.shape[:kept], *b.shape[count:]), dtype)


def _tensordot_extras(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    count = attributes["n"]
    require(count <= first.rank, "there are fewer axes")
    return (values((*first.shape[first.rank - count :], _size(rng)), first),)


# Letters of the axes of both inputs and of the result, between underscores.
EQUATIONS = (
    *("ij_jk_ik", "ij_kj_ik", "ij_ij_ij", "ij_ij_i", "ij_ij_", "i_j_ji", "ij_j_i"),
    *("bij_bjk_bik", "bij_bkj_bik", "bij_bj_bi", "bijk_bilk_bijl", "bijk_bjl_bikl"),
)


def _letters(equation: str) -> tuple[str, str, str]:
    a, b, result = equation.split("_")
    return a, b, result


def _sizes(letters: str, one: TensorType, sizes: dict[str, int]) -> None:
    require(len(letters) == one.rank, f"{letters} does not fit {one}")
    for letter, size in zip(letters, one.shape, strict=True):
        require(sizes.setdefault(letter, size) == size, f"{letter} has two sizes")


def _einsum(types: Types, attributes: Attributes) -> TensorType:
    dtype = floats(types, 2)
    (a, b, result), sizes = _letters(attributes["equation"]), dict[str, int]()
    _sizes(a, types[0], sizes)
    _sizes(b, types[1], sizes)
    require(min(sizes.values()) > 0, "an axis is empty")
    return TensorType(tuple(sizes[letter] for letter in result), dtype)


def _draw_equation(first: TensorType, rng: Random) -> dict[str, str]:
    fit = [one for one in EQUATIONS if len(_letters(one)[0]) == first.rank]
    require(bool(fit), "no equation fits")
    return {"equation": fit[rng.integers(len(fit))]}


def _einsum_extras(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    a, b, _ = _letters(attributes["equation"])
    sizes = dict(zip(a, first.shape, strict=True))
    return (values([sizes.get(letter) or int(rng.integers(1, 4)) for letter in b], first),)


def _matvec(types: Types, attributes: Attributes) -> TensorType:
    dtype = floats(types, 2)
    require(types[0].rank == 2 and types[1].shape == types[0].shape[1:] and types[0].size > 0, "does not fit")
    return TensorType(types[0].shape[:1], dtype)


def _bilinear(types: Types, attributes: Attributes) -> TensorType:
    dtype = floats(types, 4)
    a, b, weight, bias = types
    require(a.rank == b.rank == 2 and a.shape[0] == b.shape[0] and weight.rank == 3, "does not fit")
    require(weight.shape[1:] == (a.shape[1], b.shape[1]) and bias.shape == weight.shape[:1], "weights do not fit")
    require(a.size > 0 and weight.size > 0, "nothing is multiplied")
    return TensorType((a.shape[0], weight.shape[0]), dtype)


def _bilinear_extras(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    width, units = _size(rng), _size(rng)
    other = values((first.shape[0], width), first)
    return other, weights((units, first.shape[1], width), first), weights((units,), first)


FACTOR = Real((1.0, 0.5, 2.0, -1.5))
PRODUCTS = (
    _product(
        "gemm",
        "alpha a b + beta c, of matrices that may be transposed first",
        _gemm,
        of_rank(2),
        _gemm_extras,
        alpha=FACTOR,
        beta=FACTOR,
        trans_a=FLAG,
        trans_b=FLAG,
    ),
    _product(
        "baddbmm",
        "alpha a b + beta c of each matrix of a batch",
        _baddbmm,
        of_rank(3),
        _baddbmm_extras,
        alpha=FACTOR,
        beta=FACTOR,
    ),
    _product("outer", "a[i] b[j]", _outer, of_rank(1), lambda x, a, rng: (values((_size(rng),), x),)),
    _product("inner", "Σ a[…, k] b[…, k]", _inner, of_rank(1, 2, 3), _inner_extras),
    _product("dot", "Σ a[k] b[k]", _dot, of_rank(1), _same_again),
    _product("kron", "every element of a times all of b", _kron, of_rank(1, 2, 3), _kron_extras),
    _product(
        "tensordot",
        "sum over the last n axes of a and the first n of b",
        _tensordot,
        of_rank(1, 2, 3, 4),
        _tensordot_extras,
        n=Whole(0, 2),
    ),
    Operator(
        "einsum",
        "sum over the axes whose letters the result lacks",
        _einsum,
        of_rank(1, 2, 3, 4),
        {"equation": Choice(EQUATIONS)},
        _einsum_extras,
        together=_draw_equation,
    ),
    _product("matvec", "Σ a[i, k] b[k]", _matvec, of_rank(2), lambda x, a, rng: (values(x.shape[1:], x),)),
    Operator(
        "bilinear",
        "Σ a[n, i] w[o, i, j] b[n, j] + bias[o]",
        _bilinear,
        of_rank(2),
        {},
        _bilinear_extras,
        unspecified="No documentation says in which order the three are multiplied, so what infinities cancel",
    ),
)


def _same(types: Types, attributes: Attributes) -> TensorType:
    dtype = floats(types, 2)
    require(types[0].shape == types[1].shape and types[0].size > 0, "shapes differ")
    return TensorType(types[0].shape, dtype)


def _cross(types: Types, attributes: Attributes) -> TensorType:
    found = _same(types, attributes)
    require_axis(attributes["axis"], found.rank)
    require(found.shape[attributes["axis"]] == 3, "is defined on axes of three")
    return found


def _three(first: TensorType, rng: Random) -> dict[str, int]:
    axes = [axis for axis, size in enumerate(first.shape) if size == 3]
    require(bool(axes), "no axis is of three")
    return {"axis": int(rng.choice(axes))}


def _cdist(types: Types, attributes: Attributes) -> TensorType:
    dtype = floats(types, 2)
    a, b = types
    require(a.rank == b.rank and a.rank in (2, 3) and a.shape[-1] == b.shape[-1], "points do not fit")
    require(a.shape[:-2] == b.shape[:-2] and a.size > 0 and b.size > 0, "batches do not fit")
    return TensorType((*a.shape[:-1], b.shape[-2]), dtype)


def _points(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    return (values((*first.shape[:-2], _size(rng), first.shape[-1]), first),)


def _dist(types: Types, attributes: Attributes) -> TensorType:
    return TensorType((), _same(types, attributes).dtype)


def _similarity(types: Types, attributes: Attributes) -> TensorType:
    first, axis = _same(types, attributes), attributes["axis"]
    require_axis(axis, first.rank)
    require(attributes["epsilon"] >= 0, "epsilon is below 0")
    return TensorType((*first.shape[:axis], *first.shape[axis + 1 :]), first.dtype)


def _pairwise(types: Types, attributes: Attributes) -> TensorType:
    first = _same(types, attributes)
    require(first.rank == 2, "is defined on rows")
    return TensorType(first.shape[:1], first.dtype)


DISTANCE = Choice((2.0, 1.0, float("inf")))
OF_TWO = (
    Operator(
        "cross",
        "vector product along an axis of three",
        _cross,
        lambda x: x.is_float and 3 in x.shape and x.size > 0,
        {"axis": AXIS},
        _same_again,
        together=_three,
    ),
    Operator(
        "cdist",
        "(Σ|a[i] - b[j]|ᵖ)^(1/p), the largest for p = ∞, of all pairs of rows",
        _cdist,
        of_rank(2, 3),
        {"p": DISTANCE},
        _points,
    ),
    Operator("dist", "the same norm of all of a - b", _dist, of_rank(1, 2, 3, 4), {"p": DISTANCE}, _same_again),
    Operator(
        "cosine_similarity",
        "Σab / (max(√Σa², epsilon) max(√Σb², epsilon)) along an axis",
        _similarity,
        of_rank(1, 2, 3, 4),
        {"axis": AXIS, "epsilon": Real((1e-8, 1e-3))},
        _same_again,
        rounding=Rounding.SATURATING,
        unspecified="No documentation says whether infinite lengths are multiplied before or after they divide",
    ),
    Operator(
        "pairwise_distance",
        "(Σ|a - b + epsilon|ᵖ)^(1/p) of rows, the largest for p = ∞",
        _pairwise,
        of_rank(2),
        {"p": DISTANCE, "epsilon": Real((1e-6, 1e-3))},
        _same_again,
    ),
)


def is_square(first: TensorType) -> bool:
    return first.is_float and first.rank >= 2 and first.shape[-1] == first.shape[-2] and first.size > 0


def _is_matrix(first: TensorType) -> bool:
    return first.is_float and first.rank >= 2 and first.size > 0


def _of_square(shape: Callable[[TensorType], tuple[int, ...]], accepts: Accepts = is_square) -> Infer:
    def infer(types: Types, attributes: Attributes) -> TensorType:
        dtype = floats(types, 1)
        require(accepts(types[0]), f"is not defined on {types[0]}")
        return TensorType(shape(types[0]), dtype)

    return infer


def _one_matrix(
    name: str, meaning: str, shape: Callable[[TensorType], tuple[int, ...]], accepts: Accepts = is_square
) -> Operator:
    return Operator(name, meaning, _of_square(shape, accepts), accepts, rounding=Rounding.SATURATING)


def _matrix_power(types: Types, attributes: Attributes) -> TensorType:
    require(0 <= attributes["n"] <= MOST_POWERS, f"n is from 0 to {MOST_POWERS}")
    return _of_square(lambda x: x.shape)(types, attributes)


def _solve(types: Types, attributes: Attributes) -> TensorType:
    dtype = floats(types, 2)
    a, b = types
    require(is_square(a) and b.rank == a.rank and b.shape[:-1] == a.shape[:-1] and b.size > 0, "does not fit")
    return TensorType(b.shape, dtype)


def _right_sides(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    return (values((*first.shape[:-1], int(rng.integers(1, 4))), first),)


def _matrix_norm(types: Types, attributes: Attributes) -> TensorType:
    return _of_square(lambda x: x.shape[:-2], _is_matrix)(types, attributes)


ANY = "undefined where something is not finite"
OF_ONE = (
    _one_matrix("trace", "sum of the diagonal of the last two axes", lambda x: x.shape[:-2], _is_matrix),
    _one_matrix("det", f"determinant; {ANY}, or nearly without an inverse", lambda x: x.shape[:-2]),
    _one_matrix(
        "log_abs_det",
        f"log of the size of the determinant; {ANY}, or nearly without an inverse",
        lambda x: x.shape[:-2],
    ),
    _one_matrix("inverse", f"inverse; {ANY}, or there is nearly none", lambda x: x.shape),
    _one_matrix("matrix_exp", f"Σ xⁿ / n!; {ANY}", lambda x: x.shape),
    _one_matrix(
        "cholesky_of_gram",
        f"the lower triangular factor of x xᵀ + 1; {ANY}",
        lambda x: (*x.shape[:-1], x.shape[-2]),
        _is_matrix,
    ),
    _one_matrix("symmetric_eigenvalues", f"eigenvalues of (x + xᵀ) / 2, in order; {ANY}", lambda x: x.shape[:-1]),
    _one_matrix(
        "singular_values",
        f"singular values, the largest first; {ANY}",
        lambda x: (*x.shape[:-2], min(x.shape[-2:])),
        _is_matrix,
    ),
    Operator("matrix_power", "x multiplied n times by itself", _matrix_power, is_square, {"n": Whole(0, 4)}),
    Operator(
        "matrix_norm",
        "of the last two axes: √Σx², or the largest or smallest sum of |x| of a column or a row",
        _matrix_norm,
        _is_matrix,
        {"kind": Choice(("frobenius", "column", "row", "least_column", "least_row"))},
    ),
    Operator(
        "solve",
        f"b by which a is multiplied to give the second input; {ANY}, or a has nearly no inverse",
        _solve,
        is_square,
        {},
        _right_sides,
    ),
    Operator(
        "triangular_solve",
        f"the same of a triangle of a, whose diagonal may count as 1; {ANY}, or it has nearly no inverse",
        _solve,
        is_square,
        {"upper": FLAG, "unit": FLAG},
        _right_sides,
    ),
)
LINEAR_ALGEBRA = (*PRODUCTS, *OF_TWO, *OF_ONE)
