"""What torch, numpy and onnx's own reference have for selections, windows, plain normalisation and recurrent layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from known_function_kernels import of_arrays, of_call
from onnx.reference import ReferenceEvaluator
from torch import Tensor

from jostle.frameworks.backends.program import Call

Array = np.ndarray
Kernel = Callable[..., Tensor]


def added(of: Mapping[str, Any], x: Array, indices: Array, updates: Array) -> Array:
    out, places = x.copy(), (slice(None),) * of["axis"] + (indices,)
    np.add.at(out, places, updates)
    return out


def scatter_mean(call: Call, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    return torch.scatter_reduce(x, call.attributes["axis"], indices, updates, "mean")


def scatter_nd_add(x: Array, indices: Array, updates: Array) -> Array:
    out = x.copy()
    np.add.at(out, tuple(indices.T), updates)
    return out


def segment_sum(of: Mapping[str, Any], x: Array, segments: Array) -> Array:
    out = np.zeros((of["segments"], *x.shape[1:]), x.dtype)
    np.add.at(out, segments, x)
    return out


def reverse_sequence(x: Array, lengths: Array) -> Array:
    out = x.copy()
    for row, length in enumerate(lengths):
        out[row, :length] = x[row, :length][::-1]
    return out


SELECTION: Mapping[str, Kernel] = {
    "masked_fill": lambda call, x, mask: torch.masked_fill(x, mask, call.attributes["value"]),
    "index_add": of_call(added),
    "scatter_mean": scatter_mean,
    "gather_nd": of_arrays(lambda x, indices: x[tuple(indices.T)]),
    "scatter_nd_add": of_arrays(scatter_nd_add),
    "segment_sum": of_call(segment_sum),
    "embedding_bag": lambda call, table, bags: F.embedding_bag(bags, table, mode=call.attributes["mode"]),
    "reverse_sequence": of_arrays(reverse_sequence),
    "diagonal": of_call(lambda of, x: np.diagonal(x, of["offset"], -2, -1).copy()),
    "diag_embed": lambda call, x: torch.diag_embed(x, call.attributes["offset"]),
    "repeat_interleave": of_call(lambda of, x: np.repeat(x, of["times"], of["axis"])),
    "rot90": of_call(lambda of, x: np.rot90(x, of["times"]).copy()),
    "movedim": of_call(lambda of, x: np.moveaxis(x, of["source"], of["target"]).copy()),
    "roll_all": of_call(lambda of, x: np.roll(x, of["shifts"], tuple(range(x.ndim)))),
}


def standardized(of: Mapping[str, Any], x: Array, axes: tuple[int, ...]) -> Array:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + of["epsilon"])


def grouped(of: Mapping[str, Any], x: Array) -> Array:
    return standardized(of, x.reshape(x.shape[0], of["groups"], -1), (2,)).reshape(x.shape)


def response(of: Mapping[str, Any], x: Array) -> Array:
    out, size = np.empty_like(x), of["size"]
    for channel in range(x.shape[1]):
        near = x[:, max(0, channel - (size - 1) // 2) : channel + size // 2 + 1]
        out[:, channel] = x[:, channel] / (of["k"] + of["alpha"] / size * np.sum(near**2, 1)) ** of["beta"]
    return out


PLAIN_NORMALISATION: Mapping[str, Kernel] = {
    "plain_layer_norm": of_call(lambda of, x: standardized(of, x, tuple(range(of["axis"], x.ndim)))),
    "plain_group_norm": of_call(grouped),
    "plain_instance_norm": of_call(lambda of, x: standardized(of, x, tuple(range(2, x.ndim)))),
    "standardize": of_call(lambda of, x: standardized(of, x, tuple(of["axes"]))),
    "local_response_norm_after": of_call(response),
}


def im2col(call: Call, x: Tensor) -> Tensor:
    of = call.attributes
    return F.unfold(x, of["kernel"], of["dilations"], of["padding"], of["strides"])


def sum_pool(call: Call, x: Tensor) -> Tensor:
    of, function = call.attributes, (F.avg_pool2d, F.avg_pool3d)[x.dim() - 4]
    padded = F.pad(x, [pad for pad in reversed(of["padding"]) for _ in range(2)])
    return function(padded, of["kernel"], of["strides"], divisor_override=of["divisor"])


def max_pool_indices(call: Call, x: Tensor) -> Tensor:
    of, function = call.attributes, (F.max_pool1d, F.max_pool2d, F.max_pool3d)[x.dim() - 3]
    rows = function(x, of["kernel"], of["strides"], of["padding"], return_indices=True)[1].numpy()
    if not of["by_columns"]:
        return torch.from_numpy(rows)
    places = np.unravel_index(rows, tuple(x.shape[2:]))
    return torch.from_numpy(np.ravel_multi_index(places, tuple(x.shape[2:]), order="F"))


def max_unpool(call: Call, x: Tensor) -> Tensor:
    sizes, kernel = call.type.shape[2:], call.attributes["kernel"]
    pool = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[x.dim() - 3]
    unpool = (F.max_unpool1d, F.max_unpool2d, F.max_unpool3d)[x.dim() - 3]
    image = x[(..., *(slice(size) for size in sizes))]
    return unpool(*pool(image, kernel, return_indices=True), kernel)


def sliding_window(of: Mapping[str, Any], x: Array) -> Array:
    every = np.lib.stride_tricks.sliding_window_view(x, of["size"], of["axis"])
    return np.take(every, range(0, every.shape[of["axis"]], of["step"]), of["axis"])


WINDOWS: Mapping[str, Kernel] = {
    "sliding_window": of_call(sliding_window),
    "im2col": im2col,
    "sum_pool": sum_pool,
    "max_pool_indices": max_pool_indices,
    "max_unpool": max_unpool,
}


def resize_antialias(call: Call, x: Tensor) -> Tensor:
    """One axis after the other: torch 2.13 makes every row the first one where there is only one column."""
    mode = {"linear": "bilinear", "cubic": "bicubic"}[call.attributes["mode"]]
    height, width = call.attributes["size"]
    return _rows_resized(_rows_resized(x, height, mode).mT, width, mode).mT


def _rows_resized(x: Tensor, rows: int, mode: str) -> Tensor:
    columns = x.shape[3]
    several = x.contiguous() if columns > 1 else x.repeat(1, 1, 1, 2)
    return F.interpolate(several, (rows, several.shape[3]), mode=mode, antialias=True)[..., :columns]


def affine_grid(call: Call, theta: Tensor) -> Tensor:
    batch, height, width, _ = call.type.shape
    return F.affine_grid(theta, [batch, 1, height, width], align_corners=call.attributes["align_corners"])


SAMPLING: Mapping[str, Kernel] = {"resize_antialias": resize_antialias, "affine_grid": affine_grid}


def in_onnx(call: Call, kind: str, gates: list[int], inputs: Mapping[str, Array], **attributes: Any) -> Tensor:
    """One recurrent node as onnx itself computes it in numpy, backwards by turning its times around."""
    hidden, names = call.type.shape[2], ["x", "w", "r", "b", "", "h", "c", "p"]
    given = {name: inputs[name] for name in names if name in inputs}
    for name in ("w", "r"):
        given[name] = by_gates(given[name], gates, hidden)[None]
    given["x"] = given["x"][::-1].copy() if call.attributes["reverse"] else given["x"]
    used = [name if name in given else "" for name in names]
    node = onnx.helper.make_node(kind, used, ["y"], hidden_size=hidden, **attributes)
    infos = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.DOUBLE, None) for name in given]
    result = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.DOUBLE, None)
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "graph", infos, [result]))
    states = ReferenceEvaluator(model).run(None, given)[0][:, 0]
    return torch.from_numpy(states[::-1].copy() if call.attributes["reverse"] else states)


def by_gates(array: Array, gates: list[int], hidden: int) -> Array:
    return np.concatenate([array[gate * hidden : (gate + 1) * hidden] for gate in gates])


LSTM_GATES = [0, 3, 1, 2]


def rnn_from(call: Call, x: Tensor, w: Tensor, u: Tensor, b: Tensor, h: Tensor) -> Tensor:
    module = torch.nn.RNN(x.shape[2], u.shape[1], nonlinearity=call.attributes["activation"]).double()
    return in_torch(call, module, x, (w, u, b, torch.zeros_like(b)), h[None])


def in_torch(call: Call, module: Any, x: Tensor, weights: tuple[Tensor, ...], state: Any) -> Tensor:
    with torch.no_grad():
        for name, weight in zip(("weight_ih", "weight_hh", "bias_ih", "bias_hh"), weights, strict=True):
            getattr(module, f"{name}_l0").copy_(weight)
    turned = x.flip(0) if call.attributes["reverse"] else x
    found = module(turned, state)[0]
    return found.flip(0) if call.attributes["reverse"] else found


def lstm_from(call: Call, x: Tensor, w: Tensor, u: Tensor, b: Tensor, h: Tensor, c: Tensor) -> Tensor:
    """onnx's own reference clips nothing, so clipped gates are compared with a loop in numpy."""
    clip, hidden, states = call.attributes["clip"] or np.inf, u.shape[1], []
    state, cell = h.numpy(), c.numpy()
    for given in x.numpy()[::-1] if call.attributes["reverse"] else x.numpy():
        gates = np.clip(given @ w.numpy().T + b.numpy() + state @ u.numpy().T, -clip, clip)
        i, f, g, o = (gates[:, at * hidden : (at + 1) * hidden] for at in range(4))
        cell = cell / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
        state = np.tanh(cell) / (1 + np.exp(-o))
        states.append(state)
    return torch.from_numpy(np.array(states[::-1] if call.attributes["reverse"] else states))


def gru_from(call: Call, x: Tensor, w: Tensor, u: Tensor, b: Tensor, h: Tensor) -> Tensor:
    """The reset state is what torch's own layer has not, so that is compared with a loop in numpy."""
    if call.attributes["reset_after"]:
        own, other = b.chunk(2)
        return in_torch(call, torch.nn.GRU(x.shape[2], u.shape[1]).double(), x, (w, u, own, other), h[None])
    (w_r, w_z, w_n), (u_r, u_z, u_n) = (np.split(one.numpy(), 3) for one in (w, u))
    b_r, b_z, b_n, c_r, c_z, c_n = np.split(b.numpy(), 6)
    state, states = h.numpy(), []
    for given in x.numpy()[::-1] if call.attributes["reverse"] else x.numpy():
        r = 1 / (1 + np.exp(-(given @ w_r.T + b_r + state @ u_r.T + c_r)))
        z = 1 / (1 + np.exp(-(given @ w_z.T + b_z + state @ u_z.T + c_z)))
        state = (1 - z) * np.tanh(given @ w_n.T + b_n + (r * state) @ u_n.T + c_n) + z * state
        states.append(state)
    return torch.from_numpy(np.array(states[::-1] if call.attributes["reverse"] else states))


def lstm_peephole(call: Call, x: Tensor, w: Tensor, u: Tensor, b: Tensor, p: Tensor) -> Tensor:
    hidden, bias = u.shape[1], by_gates(b.numpy(), LSTM_GATES, u.shape[1])
    zeros = np.zeros((1, x.shape[1], hidden))
    inputs = {"x": x.numpy(), "w": w.numpy(), "r": u.numpy(), "b": np.concatenate([bias, 0 * bias])[None]}
    return in_onnx(call, "LSTM", LSTM_GATES, {**inputs, "h": zeros, "c": zeros, "p": p.numpy()[None]})


RECURRENT: Mapping[str, Kernel] = {
    "rnn_from": rnn_from,
    "lstm_from": lstm_from,
    "gru_from": gru_from,
    "lstm_peephole": lstm_peephole,
}
LAYER_KERNELS: Mapping[str, Kernel] = {
    **SELECTION,
    **PLAIN_NORMALISATION,
    **WINDOWS,
    **SAMPLING,
    **RECURRENT,
}
