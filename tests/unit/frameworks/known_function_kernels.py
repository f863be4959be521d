"""What torch, numpy and scipy have for functions of every element, and for what describes and multiplies tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.linalg
import scipy.spatial
import scipy.special
import torch
import torch.nn.functional as F
from torch import Tensor

from jostle.frameworks.backends.program import Call

Kernel = Callable[..., Tensor]


def of_arrays(function: Callable[..., Any], **renamed: str) -> Kernel:
    """A function of numpy's arrays, with some attributes by its own names."""

    def kernel(call: Call, *inputs: Tensor) -> Tensor:
        named = {theirs: call.attributes[ours] for theirs, ours in renamed.items()}
        with np.errstate(all="ignore"):
            return torch.from_numpy(np.asarray(function(*(one.numpy() for one in inputs), **named)))

    return kernel


def of_call(function: Callable[..., Any]) -> Kernel:
    """A function of the attributes and of numpy's arrays."""

    def kernel(call: Call, *inputs: Tensor) -> Tensor:
        with np.errstate(all="ignore"):
            return torch.from_numpy(np.asarray(function(call.attributes, *(one.numpy() for one in inputs))))

    return kernel


def over_axes(function: Callable[..., Any]) -> Kernel:
    def kernel(call: Call, x: Tensor) -> Tensor:
        axes, keepdims = tuple(call.attributes["axes"]), call.attributes["keepdims"]
        return torch.from_numpy(np.asarray(function(x.numpy(), axis=axes, keepdims=keepdims)))

    return kernel


SPECIAL_FUNCTIONS: Mapping[str, Kernel] = {
    **{
        name: of_arrays(getattr(scipy.special, name))
        for name in (
            *("exp2", "erfc", "erfinv", "digamma", "i0", "i0e", "i1", "i1e", "ndtr", "ndtri", "log_ndtr", "logit"),
            *("entr", "xlogy", "xlog1py"),
        )
    },
    **{name: of_arrays(getattr(np, name)) for name in ("log10", "sinc", "logaddexp", "logaddexp2", "hypot")},
    "lgamma": of_arrays(scipy.special.gammaln),
}


def with_scalar(function: Callable[..., Any]) -> Kernel:
    return of_call(lambda of, x: function(x, np.asarray(of["scalar"], x.dtype)))


def div(rounding: str) -> Kernel:
    return lambda call, a, b: torch.div(a, b, rounding_mode=rounding)


ARITHMETIC: Mapping[str, Kernel] = {
    **{
        name: of_arrays(getattr(np, name))
        for name in (
            *("isfinite", "isposinf", "isneginf", "signbit", "deg2rad", "rad2deg", "copysign", "fmax", "fmin"),
            *("heaviside", "gcd", "lcm", "ldexp"),
        )
    },
    "add_scalar": with_scalar(np.add),
    "mul_scalar": with_scalar(np.multiply),
    "rsub_scalar": with_scalar(lambda x, scalar: np.subtract(scalar, x)),
    "div_scalar": with_scalar(np.divide),
    "rdiv_scalar": with_scalar(lambda x, scalar: np.divide(scalar, x)),
    "pow_scalar": with_scalar(np.power),
    "rpow_scalar": with_scalar(lambda x, scalar: np.power(scalar, x)),
    "remainder_scalar": with_scalar(np.remainder),
    "floor_divide_scalar": with_scalar(np.floor_divide),
    "nan_to_num": of_arrays(np.nan_to_num, nan="nan", posinf="positive", neginf="negative"),
    "frac": lambda call, x: torch.frac(x),
    "round_decimals": of_arrays(np.round, decimals="decimals"),
    "squared_difference": of_arrays(lambda a, b: (a - b) ** 2),
    "div_floor": div("floor"),
    "div_trunc": div("trunc"),
    "isclose": of_arrays(np.isclose, rtol="relative", atol="absolute", equal_nan="equal_nan"),
    "lerp": lambda call, a, b, c: torch.lerp(a, b, c),
    "addcmul": lambda call, a, b, c: torch.addcmul(a, b, c, value=call.attributes["value"]),
    "addcdiv": lambda call, a, b, c: torch.addcdiv(a, b, c, value=call.attributes["value"]),
    "clip_between": of_arrays(np.clip),
}


def halves(call: Call, x: Tensor) -> tuple[Tensor, Tensor]:
    a, b = x.chunk(2, dim=call.attributes["axis"])
    return a, b


ACTIVATIONS: Mapping[str, Kernel] = {
    "threshold": lambda call, x: F.threshold(x, call.attributes["threshold"], call.attributes["value"]),
    "thresholded_relu": lambda call, x: F.threshold(x, call.attributes["alpha"], 0.0),
    "hardtanh": lambda call, x: F.hardtanh(x, call.attributes["low"], call.attributes["high"]),
    "hardsigmoid_slope": of_call(lambda of, x: np.clip(of["slope"] * x + 0.5, 0, 1)),
    "tanhshrink": lambda call, x: F.tanhshrink(x),
    "quick_gelu": of_arrays(lambda x: x * scipy.special.expit(1.702 * x)),
    "swish": of_call(lambda of, x: x * scipy.special.expit(of["beta"] * x)),
    "squared_relu": of_arrays(lambda x: np.maximum(x, 0) ** 2),
    "squareplus": of_call(lambda of, x: (x + np.sqrt(x**2 + of["beta"])) / 2),
    "sparse_plus": of_arrays(
        lambda x: np.piecewise(x, [x <= -1, x >= 1], [0, lambda x: x, lambda x: (x + 1) ** 2 / 4])
    ),
    "scaled_tanh": of_call(lambda of, x: of["alpha"] * np.tanh(of["beta"] * x)),
    "softplus_beta": of_call(lambda of, x: np.logaddexp(0, of["beta"] * x) / of["beta"]),
    "softmin": lambda call, x: F.softmin(x, dim=call.attributes["axis"]),
    "swiglu": lambda call, x: F.silu(halves(call, x)[0]) * halves(call, x)[1],
    "geglu": lambda call, x: halves(call, x)[0] * F.gelu(halves(call, x)[1]),
    "reglu": lambda call, x: halves(call, x)[0] * F.relu(halves(call, x)[1]),
    "crelu": of_call(lambda of, x: np.concatenate([np.maximum(x, 0), np.maximum(-x, 0)], of["axis"])),
}


def quantized(of: Mapping[str, Any], x: np.ndarray, dtype: str) -> np.ndarray:
    limits = np.iinfo(dtype)
    return np.clip(np.rint(x / of["scale"]) + of["zero_point"], limits.min, limits.max).astype(dtype)


def dequantized(of: Mapping[str, Any], x: np.ndarray) -> np.ndarray:
    return (x.astype(np.float64) - of["zero_point"]) * of["scale"]


QUANTIZATION: Mapping[str, Kernel] = {
    "quantize": of_call(lambda of, x: quantized(of, x, of["to"])),
    "dequantize": of_call(dequantized),
    "fake_quantize": lambda call, x: torch.fake_quantize_per_tensor_affine(
        x.float(), call.attributes["scale"], call.attributes["zero_point"], -128, 127
    ),
    "matmul_integer": of_arrays(lambda a, b: np.matmul(a.astype(np.int32), b.astype(np.int32))),
}


def over_axis(function: Callable[..., Any], **renamed: str) -> Kernel:
    return of_arrays(function, axis="axis", keepdims="keepdims", **renamed)


def kth(of: Mapping[str, Any], x: np.ndarray, place: int) -> np.ndarray:
    found = np.take(np.sort(x, of["axis"]), [place], of["axis"])
    return found if of["keepdims"] else np.squeeze(found, of["axis"])


def argsort(of: Mapping[str, Any], x: np.ndarray) -> np.ndarray:
    return np.argsort(-x if of["descending"] else x, of["axis"], kind="stable")


STATISTICS: Mapping[str, Kernel] = {
    "nansum": over_axes(np.nansum),
    "nanmean": over_axes(np.nanmean),
    "sum_square": over_axes(lambda x, **over: np.sum(x * x, dtype=x.dtype, **over)),
    "log_sum": over_axes(lambda x, **over: np.log(np.sum(x, **over))),
    "lp_norm": lambda call, x: torch.linalg.vector_norm(
        x, call.attributes["p"], call.attributes["axes"], call.attributes["keepdims"]
    ),
    "reduce_no_axes": of_call(lambda of, x: getattr(np, of["kind"])(x, axis=())),
    "median": over_axis(np.median),
    "nanmedian": over_axis(np.nanmedian),
    "lower_median": of_call(lambda of, x: kth(of, x, (x.shape[of["axis"]] - 1) // 2)),
    "quantile": over_axis(np.quantile, q="q"),
    "kth_value": of_call(lambda of, x: kth(of, x, of["k"] - 1)),
    "cummin": of_call(lambda of, x: np.minimum.accumulate(x, of["axis"])),
    "argsort": of_call(argsort),
    "diff": of_arrays(np.diff, n="n", axis="axis"),
    "trapezoid": of_arrays(np.trapezoid, dx="dx", axis="axis"),
    "covariance": of_arrays(np.cov, ddof="correction"),
    "correlation": of_arrays(np.corrcoef),
    "bin_counts": of_call(lambda of, x: np.histogram(x, of["bins"], (of["low"], of["high"]))[0]),
    "bucketize": of_call(lambda of, x: np.searchsorted(of["boundaries"], x, "right" if of["right"] else "left")),
}


def gemm(of: Mapping[str, Any], a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    return of["alpha"] * (a.T if of["trans_a"] else a) @ (b.T if of["trans_b"] else b) + of["beta"] * c


def einsum(of: Mapping[str, Any], a: np.ndarray, b: np.ndarray) -> np.ndarray:
    first, second, result = of["equation"].split("_")
    return np.einsum(f"{first},{second}->{result}", a, b)


def matrix_norm(of: Mapping[str, Any], x: np.ndarray) -> np.ndarray:
    orders = {"frobenius": "fro", "column": 1, "row": np.inf, "least_column": -1, "least_row": -np.inf}
    return np.linalg.norm(x, orders[of["kind"]], axis=(-2, -1))


def triangular_solve(of: Mapping[str, Any], a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return scipy.linalg.solve_triangular(a, b, lower=not of["upper"], unit_diagonal=of["unit"])


def gram(x: np.ndarray) -> np.ndarray:
    return x @ np.swapaxes(x, -1, -2) + np.eye(x.shape[-2])


LINEAR_ALGEBRA: Mapping[str, Kernel] = {
    "gemm": of_call(gemm),
    "baddbmm": lambda call, a, b, c: torch.baddbmm(
        c, a, b, alpha=call.attributes["alpha"], beta=call.attributes["beta"]
    ),
    **{name: of_arrays(getattr(np, name)) for name in ("outer", "inner", "dot", "kron", "trace")},
    "tensordot": of_arrays(np.tensordot, axes="n"),
    "einsum": of_call(einsum),
    "matvec": of_arrays(np.matmul),
    "bilinear": lambda call, *inputs: F.bilinear(*inputs),
    "cross": of_arrays(np.cross, axis="axis"),
    "cdist": lambda call, a, b: torch.cdist(a, b, call.attributes["p"]),
    "dist": lambda call, a, b: torch.dist(a, b, call.attributes["p"]),
    "cosine_similarity": lambda call, a, b: F.cosine_similarity(
        a, b, call.attributes["axis"], call.attributes["epsilon"]
    ),
    "pairwise_distance": lambda call, a, b: F.pairwise_distance(a, b, call.attributes["p"], call.attributes["epsilon"]),
    "trace": of_arrays(lambda x: np.trace(x, axis1=-2, axis2=-1)),
    "det": of_arrays(np.linalg.det),
    "log_abs_det": of_arrays(lambda x: np.linalg.slogdet(x)[1]),
    "inverse": of_arrays(np.linalg.inv),
    "matrix_exp": of_arrays(scipy.linalg.expm),
    "cholesky_of_gram": of_arrays(lambda x: np.linalg.cholesky(gram(x))),
    "symmetric_eigenvalues": of_arrays(lambda x: np.linalg.eigvalsh((x + np.swapaxes(x, -1, -2)) / 2)),
    "singular_values": of_arrays(lambda x: np.linalg.svd(x, compute_uv=False)),
    "matrix_power": of_arrays(np.linalg.matrix_power, n="n"),
    "matrix_norm": of_call(matrix_norm),
    "solve": of_arrays(np.linalg.solve),
    "triangular_solve": of_call(triangular_solve),
}
FUNCTION_KERNELS: Mapping[str, Kernel] = {
    **SPECIAL_FUNCTIONS,
    **ARITHMETIC,
    **ACTIVATIONS,
    **QUANTIZATION,
    **STATISTICS,
    **LINEAR_ALGEBRA,
}
