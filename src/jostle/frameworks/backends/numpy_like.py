"""What JAX and PyTensor write as numpy does, but for the name of the module.

Texts are as numpy has them: `np` becomes the framework's own module, and a filler puts in names and attributes as
`templates.fill` does, or in its own way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jostle.frameworks.backends.program import Call, Expression, literal
from jostle.frameworks.backends.templates import joined, named

Filler = Callable[[str], Expression]
# An array, axes and its call to the array with mean 0 and deviation 1 over these axes.
Standardised = Callable[[str, tuple[int, ...], Call], str]

SAME_NAME = (
    "tanh abs exp expm1 log log1p log2 sqrt reciprocal sin cos tan sinh cosh floor ceil trunc sign isnan isinf "
    "maximum minimum where"
)
ELEMENTWISE = {"clip": "np.clip({0}, {low}, {high})"}
OVER_AXES = {
    "mean": "np.mean({0}, {over})",
    "max": "np.max({0}, {over})",
    "min": "np.min({0}, {over})",
    "all": "np.all({0}, {over})",
    "any": "np.any({0}, {over})",
    # As numpy, both sum narrow whole numbers in wider ones unless they are given a dtype.
    "sum": "np.sum({0}, {over}, dtype={dtype})",
    "prod": "np.prod({0}, {over}, dtype={dtype})",
}
REDUCTIONS = {
    "argmax": "np.argmax({0}, axis={axis}, keepdims={keepdims})",
    "argmin": "np.argmin({0}, axis={axis}, keepdims={keepdims})",
}
SHAPING = {
    "reshape": "np.reshape({0}, {shape})",
    "transpose": "np.transpose({0}, {permutation})",
    "expand": "np.broadcast_to({0}, {shape})",
    "tril": "np.tril({0}, {diagonal})",
    "triu": "np.triu({0}, {diagonal})",
}
INDEXING = {
    "roll": "np.roll({0}, {shift}, axis={axis})",
    "tile": "np.tile({0}, {repeats})",
    "gather": "np.take_along_axis({0}, {1}, axis={axis})",
    "take": "np.take({0}, {1}, axis={axis})",
}
LAYERS = {"matmul": "np.matmul({0}, {1})", "linear": "np.matmul({0}, {1}.T) + {2}"}
PAD_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def written(texts: Mapping[str, str], module: str, filler: Filler) -> dict[str, Expression]:
    """The expressions of texts, with this module in place of numpy."""
    return {name: filler(text.replace("np.", f"{module}.")) for name, text in texts.items()}


def elementwise(module: str, filler: Filler) -> dict[str, Expression]:
    return {**named(f"{module}.", SAME_NAME), **written(ELEMENTWISE, module, filler)}


def reductions(module: str, filler: Filler) -> dict[str, Expression]:
    return {**written(OVER_AXES, module, over_axes), **written(REDUCTIONS, module, filler)}


def over_axes(text: str) -> Expression:
    """{over} are the axes and whether they stay, {dtype} is that of the result."""

    def expression(call: Call) -> str:
        over = f"axis={literal(tuple(call.attributes['axes']))}, keepdims={call.literal('keepdims')}"
        correction = call.attributes.get("correction")
        return text.format(call[0], over=over, dtype=repr(call.type.dtype), correction=correction)

    return expression


def of_axes(text: str) -> Expression:
    """{axes} are a tuple."""
    return lambda call: text.format(call[0], axes=literal(tuple(call.attributes["axes"])))


def shaping(module: str, filler: Filler) -> dict[str, Expression]:
    return {
        **written(SHAPING, module, filler),
        "concat": joined(f"{module}.concatenate"),
        "stack": joined(f"{module}.stack"),
        "depth_to_space": lambda call: _depth_to_space(call, module),
        "space_to_depth": lambda call: _space_to_depth(call, module),
    }


def _depth_to_space(call: Call, module: str) -> str:
    (batch, channels, height, width), block = call.types[0].shape, call.attributes["block"]
    left = channels // block**2
    if call.attributes["mode"] == "crd":
        return _rearranged(call, module, (batch, left, block, block, height, width), (0, 1, 4, 2, 5, 3))
    return _rearranged(call, module, (batch, block, block, left, height, width), (0, 3, 4, 1, 5, 2))


def _space_to_depth(call: Call, module: str) -> str:
    (batch, channels, height, width), block = call.types[0].shape, call.attributes["block"]
    split = (batch, channels, height // block, block, width // block, block)
    return _rearranged(call, module, split, (0, 3, 5, 1, 2, 4))


def _rearranged(call: Call, module: str, split: tuple[int, ...], order: tuple[int, ...]) -> str:
    moved = f"{module}.transpose({module}.reshape({call[0]}, {split}), {order})"
    return f"{module}.reshape({moved}, {call.type.shape})"


def indexing(module: str, filler: Filler) -> dict[str, Expression]:
    return {**written(INDEXING, module, filler), "slice": _slice}


def _slice(call: Call) -> str:
    places = zip(*(call.attributes[name] for name in ("starts", "sizes", "steps")), strict=True)
    return f"{call[0]}[{', '.join(_span(*place) for place in places)}]"


def _span(start: int, size: int, step: int) -> str:
    """A slice of so many elements, as it is written between brackets."""
    if size == 0:
        return f"{start}:{start}"
    stop = start + size * step
    return f"{start}:{'' if stop < 0 else stop}" + (f":{step}" if step != 1 else "")


def scattered_places(call: Call, module: str) -> str:
    """The places along all axes that the updates of a scatter go to, as they are written between brackets."""
    axis, shape = call.attributes["axis"], call.types[1].shape
    return ", ".join(
        call[1] if at == axis else _counting(module, size, len(shape) - 1 - at) for at, size in enumerate(shape)
    )


def _counting(module: str, size: int, axes_after: int) -> str:
    return f"{module}.arange({size})" + (f"[:{', None' * axes_after}]" if axes_after else "")


def normalisation(standardised: Standardised) -> dict[str, Expression]:
    return {
        "batch_norm_training": lambda call: affine(call, standardised(call[0], all_axes_but(call, 1), call)),
        "instance_norm": lambda call: affine(call, standardised(call[0], all_axes_but(call, 0, 1), call)),
        "layer_norm": lambda call: _layer_norm(call, standardised),
    }


def _layer_norm(call: Call, standardised: Standardised) -> str:
    axes = tuple(range(call.attributes["axis"], call.type.rank))
    return f"{standardised(call[0], axes, call)} * {call[1]} + {call[2]}"


def all_axes_but(call: Call, *kept: int) -> tuple[int, ...]:
    return tuple(axis for axis in range(call.type.rank) if axis not in kept)


def affine(call: Call, normal: str) -> str:
    """Times a scale and plus a bias, one of each for a channel."""
    rank = call.type.rank
    return f"{normal} * {per_channel(call[1], rank)} + {per_channel(call[2], rank)}"


def layers(module: str, filler: Filler) -> dict[str, Expression]:
    return written(LAYERS, module, filler)


def per_channel(name: str, rank: int) -> str:
    """An array of one number a channel, as it is broadcast to [batch, channels, …]."""
    return name if rank == 2 else f"{name}[:{', None' * (rank - 2)}]"
