"""How JAX convolves."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.numpy_like import per_channel
from jostle.frameworks.backends.program import Call, Expression

Padding = list[tuple[int, int]]


def _conv(call: Call) -> str:
    given = call.attributes
    padding = list(zip(given["before"], given["after"], strict=True))
    return (
        f"lax.conv_general_dilated({call[0]}, {call[1]}, {given['strides']}, {padding}, "
        f"rhs_dilation={given['dilations']}, feature_group_count={given['groups']})"
        f" + {per_channel(call[2], call.type.rank)}"
    )


def _conv_transpose(call: Call) -> str:
    given, bias = call.attributes, per_channel(call[2], call.type.rank)
    kernel = call.types[1].shape[2:]
    padding = [
        (dilation * (size - 1) - pad, dilation * (size - 1) - pad + more)
        for size, dilation, pad, more in zip(
            kernel, given["dilations"], given["padding"], given["output_padding"], strict=True
        )
    ]
    if given["groups"] > 1:
        return f"{_grouped_transpose(call, padding)} + {bias}"
    layout = "NC" + "DHW"[-len(kernel) :]
    dimensions = (layout, layout.replace("NC", "OI"), layout)
    return (
        f"lax.conv_transpose({call[0]}, {call[1]}, {given['strides']}, {padding}, rhs_dilation={given['dilations']}, "
        f"dimension_numbers={dimensions}, transpose_kernel=True) + {bias}"
    )


def _grouped_transpose(call: Call, padding: Padding) -> str:
    """lax.conv_transpose knows no groups; the convolution that it stands for does."""
    (channels, each, *kernel), groups = call.types[1].shape, call.attributes["groups"]
    split = (groups, channels // groups, each, *kernel)
    joined = (groups * each, channels // groups, *kernel)
    axes = tuple(range(2, 2 + len(kernel)))
    weights = f"jnp.flip(jnp.swapaxes({call[1]}.reshape({split}), 1, 2).reshape({joined}), {axes})"
    return (
        f"lax.conv_general_dilated({call[0]}, {weights}, {[1] * len(kernel)}, {padding}, "
        f"lhs_dilation={call.attributes['strides']}, rhs_dilation={call.attributes['dilations']}, "
        f"feature_group_count={groups})"
    )


CONVOLUTIONS: Mapping[str, Expression] = {
    "conv": _conv,
    "conv_transpose": _conv_transpose,
}
