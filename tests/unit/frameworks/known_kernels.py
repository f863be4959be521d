"""What torch, numpy and scipy have for every operator, to compare the reference with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.special
import torch
import torch.nn.functional as F
from known_function_kernels import FUNCTION_KERNELS
from known_layer_kernels import LAYER_KERNELS
from torch import Tensor

from jostle.frameworks.backends.program import Call
from jostle.frameworks.operators.dropout import share_of_zeros

Kernel = Callable[..., Tensor]


class NotThere(Exception):
    """The library refuses what the operator is defined on."""


def assume(holds: bool) -> None:
    if not holds:
        raise NotThere


def numpy_kernel(function: Callable[..., Any]) -> Kernel:
    return lambda call, *inputs: torch.from_numpy(np.asarray(function(*(one.numpy() for one in inputs))))


def torch_kernel(function: Callable[..., Tensor], *names: str, **renamed: str) -> Kernel:
    """With some attributes in their order, and some by other names."""

    def kernel(call: Call, *inputs: Tensor) -> Tensor:
        named = {theirs: call.attributes[ours] for theirs, ours in renamed.items()}
        return function(*inputs, *(call.attributes[name] for name in names), **named)

    return kernel


def reduction(function: Callable[..., Tensor], **renamed: str) -> Kernel:
    return torch_kernel(function, dim="axes", keepdim="keepdims", **renamed)


def numpy_reduction(function: Callable[..., Any]) -> Kernel:
    def kernel(call: Call, x: Tensor) -> Tensor:
        axes, keepdims = tuple(call.attributes["axes"]), call.attributes["keepdims"]
        return torch.from_numpy(np.asarray(function(x.numpy(), axis=axes, keepdims=keepdims)))

    return kernel


def cumsum(call: Call, x: Tensor) -> Tensor:
    axis = call.attributes["axis"]
    x = x.flip(axis) if call.attributes["reverse"] else x
    sums = torch.cumsum(x, axis, dtype=x.dtype)
    sums = sums - x if call.attributes["exclusive"] else sums
    return sums.flip(axis) if call.attributes["reverse"] else sums


def slices(call: Call, x: Tensor) -> Tensor:
    keys = []
    for start, size, step in zip(*(call.attributes[name] for name in ("starts", "sizes", "steps")), strict=True):
        keys.append([start + step * number for number in range(size)])
    return torch.from_numpy(x.numpy()[np.ix_(*(np.array(key, np.int64) for key in keys))])


def pad(call: Call, x: Tensor) -> Tensor:
    widths = list(zip(call.attributes["before"], call.attributes["after"], strict=True))
    cut = tuple(slice(max(-low, 0), size - max(-high, 0)) for size, (low, high) in zip(x.shape, widths, strict=True))
    added = [(max(low, 0), max(high, 0)) for low, high in widths]
    mode = {"replicate": "edge", "circular": "wrap"}.get(call.attributes["mode"], call.attributes["mode"])
    more = {"constant_values": call.attributes["value"]} if mode == "constant" else {}
    return torch.from_numpy(np.pad(x.numpy()[cut], added, mode, **more))


def scatter(call: Call, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    out, places = x.numpy().copy(), list(np.indices(indices.shape))
    places[call.attributes["axis"]] = indices.numpy()
    by = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}[call.attributes["reduction"]]
    by.at(out, tuple(places), updates.numpy())
    return torch.from_numpy(out)


def depth_to_space(call: Call, x: Tensor) -> Tensor:
    block = call.attributes["block"]
    if call.attributes["mode"] == "dcr":
        x = x.reshape(x.shape[0], block**2, x.shape[1] // block**2, *x.shape[2:]).transpose(1, 2).reshape(x.shape)
    return F.pixel_shuffle(x, block)


def space_to_depth(call: Call, x: Tensor) -> Tensor:
    block, (batch, channels) = call.attributes["block"], x.shape[:2]
    shape = call.type.shape
    return F.pixel_unshuffle(x, block).reshape(batch, channels, block**2, *shape[2:]).transpose(1, 2).reshape(shape)


def topk(call: Call, x: Tensor) -> tuple[Tensor, Tensor]:
    values, indices = torch.topk(x, call.attributes["k"], call.attributes["axis"], call.attributes["largest"])
    return values, indices


def by_rank(functions: tuple[Callable[..., Tensor], ...]) -> Callable[[Tensor], Callable[..., Tensor]]:
    return lambda x: functions[x.dim() - 3]


def conv(call: Call, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    of, both = call.attributes, zip(call.attributes["before"], call.attributes["after"], strict=True)
    padded = F.pad(x, [amount for pair in reversed(list(both)) for amount in pair])
    function = by_rank((F.conv1d, F.conv2d, F.conv3d))(x)
    return function(padded, weight, bias, of["strides"], 0, of["dilations"], of["groups"])


def conv_transpose(call: Call, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    of = call.attributes
    function = by_rank((F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d))(x)
    return function(x, weight, bias, of["strides"], of["padding"], of["output_padding"], of["groups"], of["dilations"])


def max_pool(call: Call, x: Tensor) -> Tensor:
    of, function = call.attributes, by_rank((F.max_pool1d, F.max_pool2d, F.max_pool3d))(x)
    return function(x, of["kernel"], of["strides"], of["padding"], of["dilations"], of["ceil"])


def avg_pool(call: Call, x: Tensor) -> Tensor:
    of, function = call.attributes, by_rank((F.avg_pool1d, F.avg_pool2d, F.avg_pool3d))(x)
    if x.dim() == 5:
        # avg_pool3d refuses an axis that is smaller than the window, padded or not; avg_pool2d takes it
        assume(all(size >= kernel for size, kernel in zip(x.shape[2:], of["kernel"], strict=True)))
    return function(x, of["kernel"], of["strides"], of["padding"], of["ceil"], of["include_pad"])


def lp_pool(call: Call, x: Tensor) -> Tensor:
    of, function = call.attributes, by_rank((F.lp_pool1d, F.lp_pool2d, F.lp_pool3d))(x)
    kernel, strides = (of[name] if x.dim() > 3 else of[name][0] for name in ("kernel", "strides"))
    return function(x.abs(), float(of["p"]), kernel, strides)  # torch takes no |x| of odd powers


def adaptive(*functions: Callable[..., Tensor]) -> Kernel:
    return lambda call, x: by_rank(functions)(x)(x, call.attributes["size"])


def batch_norm(call: Call, x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, var: Tensor) -> Tensor:
    return F.batch_norm(x, mean, var, scale, bias, False, 0.0, call.attributes["epsilon"])


def group_norm(groups: Callable[[Call, Tensor], int]) -> Kernel:
    def kernel(call: Call, x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
        assume(x.numel() > x.shape[0] * groups(call, x) or x.shape[0] > 1)  # it refuses a single value per group
        return F.group_norm(x, groups(call, x), scale, bias, call.attributes["epsilon"])

    return kernel


def batch_norm_training(call: Call, x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    # torch refuses a single value per channel in its own
    rows = x.transpose(0, 1).reshape(x.shape[1], -1)
    normal = F.layer_norm(rows, rows.shape[1:], eps=call.attributes["epsilon"])
    normal = normal * scale.unsqueeze(1) + bias.unsqueeze(1)
    return normal.reshape(x.shape[1], x.shape[0], *x.shape[2:]).transpose(0, 1)


def local_response_norm(call: Call, x: Tensor) -> Tensor:
    of = call.attributes
    return F.local_response_norm(x, of["size"], of["alpha"], of["beta"], of["k"])


def resize(call: Call, x: Tensor) -> Tensor:
    mode = call.attributes["mode"]
    if mode.startswith("nearest"):
        return F.interpolate(x, call.attributes["size"], mode=mode.replace("_", "-"))
    name = ("linear", "bilinear", "trilinear")[x.dim() - 3] if mode.startswith("linear") else "bicubic"
    return F.interpolate(x, call.attributes["size"], mode=name, align_corners=mode.endswith("align_corners"))


def attention(call: Call, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    mask = torch.ones(query.shape[1], key.shape[1], dtype=torch.bool).tril() if call.attributes["causal"] else None
    return F.scaled_dot_product_attention(query, key, value, mask)


def recurrent(layer: Callable[[int, int], torch.nn.RNNBase]) -> Kernel:
    def kernel(call: Call, x: Tensor, *weights: Tensor) -> Tensor:
        module = layer(x.shape[2], weights[1].shape[1]).double()
        with torch.no_grad():
            for name, weight in zip(("weight_ih", "weight_hh", "bias_ih", "bias_hh"), weights, strict=True):
                getattr(module, f"{name}_l0").copy_(weight)
        return module(x)[0]

    return kernel


def cast(call: Call, x: Tensor) -> Tensor:
    return torch.from_numpy(x.numpy().astype(call.attributes["to"]))


SAME_IN_NUMPY = (
    *("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "expm1", "log", "log1p", "log2", "sqrt", "reciprocal"),
    *("floor", "ceil", "trunc", "sign", "isnan", "isinf", "logical_not", "abs", "square", "add", "maximum", "minimum"),
    *("floor_divide", "remainder", "fmod", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
    *("logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "left_shift"),
    *("right_shift", "where"),
)
IN_NUMPY: Mapping[str, Kernel] = {
    **{name: numpy_kernel(getattr(np, name)) for name in SAME_IN_NUMPY},
    **{name: numpy_kernel(getattr(np, f"arc{name[1:]}")) for name in ("asin", "acos", "atan")},
    **{name: numpy_kernel(getattr(np, f"arc{name[1:]}")) for name in ("asinh", "acosh", "atanh")},
    "neg": numpy_kernel(np.negative),
    "sub": numpy_kernel(np.subtract),
    "mul": numpy_kernel(np.multiply),
    "div": numpy_kernel(np.divide),
    "pow": numpy_kernel(np.power),
    "atan2": numpy_kernel(np.arctan2),
    "round": numpy_kernel(np.round),
    "bitwise_not": numpy_kernel(np.invert),
    "erf": numpy_kernel(scipy.special.erf),
    "prod": lambda call, x: numpy_reduction(lambda x, **more: np.prod(x, dtype=x.dtype, **more))(call, x),
    "all": numpy_reduction(np.all),
    "any": numpy_reduction(np.any),
    "max": numpy_reduction(np.max),
    "min": numpy_reduction(np.min),
    "cast": cast,
    "slice": slices,
    "pad": pad,
    "scatter": scatter,
    "roll": lambda call, x: torch.from_numpy(np.roll(x.numpy(), call.attributes["shift"], call.attributes["axis"])),
    "take": lambda call, x, i: torch.from_numpy(np.take(x.numpy(), i.numpy(), call.attributes["axis"])),
    "tile": lambda call, x: torch.from_numpy(np.tile(x.numpy(), call.attributes["repeats"])),
}
ACTIVATIONS: Mapping[str, Kernel] = {
    **{name: torch_kernel(getattr(F, name)) for name in ("relu", "relu6", "selu", "softsign", "silu", "mish")},
    **{name: torch_kernel(getattr(F, name)) for name in ("hardsigmoid", "hardswish", "prelu")},
    "leaky_relu": torch_kernel(F.leaky_relu, "alpha"),
    "elu": torch_kernel(F.elu, "alpha"),
    "celu": torch_kernel(F.celu, "alpha"),
    "gelu": torch_kernel(F.gelu),
    "gelu_tanh": lambda call, x: F.gelu(x, approximate="tanh"),
    "sigmoid": torch_kernel(torch.sigmoid),
    "log_sigmoid": torch_kernel(F.logsigmoid),
    "softplus": numpy_kernel(lambda x: np.logaddexp(0, x)),  # torch's is cut to the identity above a threshold
    "hardshrink": torch_kernel(F.hardshrink, "threshold"),
    "softshrink": torch_kernel(F.softshrink, "threshold"),
    "rsqrt": torch_kernel(torch.rsqrt),
    "clip": torch_kernel(torch.clamp, "low", "high"),
    "glu": torch_kernel(F.glu, "axis"),
    "dropout": lambda call, x, mask: x * mask / (1 - call.attributes["rate"]),
}
IN_TORCH: Mapping[str, Kernel] = {
    "sum": lambda call, x: torch.sum(x, call.attributes["axes"], call.attributes["keepdims"], dtype=x.dtype),
    "mean": reduction(torch.mean),
    "l1_norm": lambda call, x: torch.linalg.vector_norm(x, 1, call.attributes["axes"], call.attributes["keepdims"]),
    "l2_norm": lambda call, x: torch.linalg.vector_norm(x, 2, call.attributes["axes"], call.attributes["keepdims"]),
    "logsumexp": reduction(torch.logsumexp),
    "var": reduction(torch.var, correction="correction"),
    "std": reduction(torch.std, correction="correction"),
    "count_nonzero": lambda call, x: torch.count_nonzero(x, call.attributes["axes"]).reshape(call.type.shape),
    "argmax": torch_kernel(torch.argmax, dim="axis", keepdim="keepdims"),
    "argmin": torch_kernel(torch.argmin, dim="axis", keepdim="keepdims"),
    "cumsum": cumsum,
    "cumprod": lambda call, x: torch.cumprod(x, call.attributes["axis"], dtype=x.dtype),
    "cummax": lambda call, x: torch.cummax(x, call.attributes["axis"]).values,
    "logcumsumexp": torch_kernel(torch.logcumsumexp, "axis"),
    "softmax": torch_kernel(torch.softmax, "axis"),
    "log_softmax": torch_kernel(torch.log_softmax, "axis"),
    "reshape": torch_kernel(torch.reshape, "shape"),
    "transpose": torch_kernel(torch.permute, "permutation"),
    "squeeze": lambda call, x: torch.squeeze(x, tuple(call.attributes["axes"])),
    "unsqueeze": lambda call, x: torch.from_numpy(np.expand_dims(x.numpy(), tuple(call.attributes["axes"]))),
    "expand": torch_kernel(torch.broadcast_to, "shape"),
    "concat": lambda call, *inputs: torch.from_numpy(np.concatenate(inputs, call.attributes["axis"])),
    "stack": lambda call, *inputs: torch.from_numpy(np.stack(inputs, call.attributes["axis"])),
    "flip": torch_kernel(torch.flip, "axes"),
    "gather": lambda call, x, indices: torch.gather(x, call.attributes["axis"], indices),
    "one_hot": lambda call, x: torch.from_numpy(
        np.where(x[..., None] == np.arange(call.attributes["depth"]), 1.0, 0.0)
    ),
    "tril": torch_kernel(torch.tril, "diagonal"),
    "triu": torch_kernel(torch.triu, "diagonal"),
    "depth_to_space": depth_to_space,
    "space_to_depth": space_to_depth,
    "sort": lambda call, x: torch.sort(x, call.attributes["axis"], call.attributes["descending"]).values,
    "topk_values": lambda call, x: topk(call, x)[0],
    "topk_indices": lambda call, x: topk(call, x)[1],
    "matmul": torch_kernel(torch.matmul),
    "linear": torch_kernel(F.linear),
    "conv": conv,
    "conv_transpose": conv_transpose,
    "max_pool": max_pool,
    "avg_pool": avg_pool,
    "lp_pool": lp_pool,
    "adaptive_avg_pool": adaptive(F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d),
    "adaptive_max_pool": adaptive(F.adaptive_max_pool1d, F.adaptive_max_pool2d, F.adaptive_max_pool3d),
    "batch_norm": batch_norm,
    "batch_norm_training": batch_norm_training,
    "instance_norm": group_norm(lambda call, x: x.shape[1]),
    "group_norm": group_norm(lambda call, x: call.attributes["groups"]),
    "layer_norm": lambda call, x, scale, bias: F.layer_norm(x, scale.shape, scale, bias, call.attributes["epsilon"]),
    "rms_norm": lambda call, x, scale: F.rms_norm(x, scale.shape, scale, call.attributes["epsilon"]),
    "l2_normalize": lambda call, x: F.normalize(x, 2.0, call.attributes["axis"], call.attributes["epsilon"]),
    "local_response_norm": local_response_norm,
    "resize": resize,
    "grid_sample": torch_kernel(F.grid_sample, "mode", "padding", "align_corners"),
    "attention": attention,
    "rnn": recurrent(torch.nn.RNN),
    "lstm": recurrent(torch.nn.LSTM),
    "gru": recurrent(torch.nn.GRU),
}


def dropout_distance(call: Call, x: Tensor) -> Tensor:
    """Where x is finite: torch multiplies infinity by 0."""
    rate = call.attributes["rate"]
    finite = torch.where(x.isfinite(), x, 0.0)
    return torch.where(x.isfinite(), (F.dropout(finite, rate) - finite / (2 - 2 * rate)).square(), x * x)


def dropout_share(call: Call, x: Tensor) -> Tensor:
    share = share_of_zeros(call.types[0], call.attributes)
    zeros = F.dropout(torch.ones(share.shape), call.attributes["rate"]).flatten() == 0
    if call.attributes["of"] != "elements":
        zeros = zeros[::2] & zeros[1::2]
    return (zeros.double().mean() - share.expected).abs() < 1.5 * share.bound


DROPOUT: Mapping[str, Kernel] = {
    "dropout_identity": lambda call, x: F.dropout(x, call.attributes["rate"], call.attributes["training"]),
    "dropout_all": lambda call, x: F.dropout(x, 1.0),
    "dropout_downscaled": lambda call, x: x - x * call.attributes["rate"],
    "dropout_distance": dropout_distance,
    "dropout_share": dropout_share,
}
KERNELS: Mapping[str, Kernel] = {
    **IN_NUMPY,
    **ACTIVATIONS,
    **IN_TORCH,
    **FUNCTION_KERNELS,
    **LAYER_KERNELS,
    **DROPOUT,
}
