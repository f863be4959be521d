"""How JAX pools."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.jax.convolutions import Padding
from jostle.frameworks.backends.program import Call, Expression, Unsupported
from jostle.frameworks.graph import TensorType


def _window_padding(call: Call) -> Padding:
    """Before and after each axis; after it as much more as windows reach beyond the end."""
    given = call.attributes
    axes = len(given["kernel"])
    pads, dilations = given.get("padding", [0] * axes), given.get("dilations", [1] * axes)
    padding = []
    for place, (kernel, stride) in enumerate(zip(given["kernel"], given["strides"], strict=True)):
        reach = (kernel - 1) * dilations[place] + 1
        last = (call.type.shape[2 + place] - 1) * stride + reach
        padding.append((pads[place], max(pads[place], last - call.types[0].shape[2 + place] - pads[place])))
    return padding


def _windowed(call: Call, array: str, start: str, reduction: str, padding: Padding) -> str:
    given = call.attributes
    window, strides = (1, 1, *given["kernel"]), (1, 1, *given["strides"])
    full = [(0, 0), (0, 0), *padding]
    dilation = f", window_dilation={(1, 1, *given['dilations'])}" if "dilations" in given else ""
    return f"lax.reduce_window({array}, {start}, {reduction}, {window}, {strides}, {full}{dilation})"


def _max_pool(call: Call) -> str:
    return _windowed(call, call[0], "-jnp.inf", "lax.max", _window_padding(call))


def _avg_pool(call: Call) -> str:
    given, padding = call.attributes, _window_padding(call)
    summed = _windowed(call, call[0], "0.0", "lax.add", padding)
    if given["include_pad"]:
        return f"{summed} / {_padded_count(call, padding)}"
    return f"{summed} / {_windowed(call, f'jnp.ones_like({call[0]})', '0.0', 'lax.add', padding)}"


def _padded_count(call: Call, padding: Padding) -> str:
    """How many elements a window has with the padding, but without what it reaches beyond that."""
    pads = call.attributes["padding"]
    beyond = [(0, high - pad) for (_, high), pad in zip(padding, pads, strict=True)]
    if not any(high for _, high in beyond):
        return str(TensorType(tuple(call.attributes["kernel"]), "bool").size)
    sizes = [size + 2 * pad for size, pad in zip(call.types[0].shape[2:], pads, strict=True)]
    return _windowed(call, f"jnp.ones({(1, 1, *sizes)}, {call.type.dtype!r})", "0.0", "lax.add", beyond)


def _lp_pool(call: Call) -> str:
    power = call.attributes["p"]
    summed = _windowed(call, f"jnp.abs({call[0]}) ** {power}", "0.0", "lax.add", _window_padding(call))
    return f"{summed} ** (1 / {power})"


def _adaptive_window(call: Call) -> tuple[tuple[int, ...], Padding]:
    sizes, wanted = call.types[0].shape[2:], call.attributes["size"]
    if any(size % count for size, count in zip(sizes, wanted, strict=True)):
        raise Unsupported("has no adaptive pooling to sizes that do not divide the image's")
    window = tuple(size // count for size, count in zip(sizes, wanted, strict=True))
    return (1, 1, *window), [(0, 0)] * call.type.rank


def _adaptive_avg_pool(call: Call) -> str:
    window, padding = _adaptive_window(call)
    count = TensorType(window, "bool").size
    return f"lax.reduce_window({call[0]}, 0.0, lax.add, {window}, {window}, {padding}) / {count}"


def _adaptive_max_pool(call: Call) -> str:
    window, padding = _adaptive_window(call)
    return f"lax.reduce_window({call[0]}, -jnp.inf, lax.max, {window}, {window}, {padding})"


POOLING: Mapping[str, Expression] = {
    "max_pool": _max_pool,
    "avg_pool": _avg_pool,
    "lp_pool": _lp_pool,
    "adaptive_avg_pool": _adaptive_avg_pool,
    "adaptive_max_pool": _adaptive_max_pool,
}
