"""How JAX looks between pixels."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression, Unsupported

RESIZE_METHODS = {"nearest_exact": "nearest", "linear": "linear", "cubic": "cubic-pytorch"}
ALIGNED_METHODS = {"linear_align_corners": "linear", "cubic_align_corners": "cubic-pytorch"}
# map_coordinates reads its modes as scipy documents them.
COORDINATE_MODES = {
    ("zeros", False): "constant",
    ("zeros", True): "constant",
    ("border", False): "nearest",
    ("border", True): "nearest",
    ("reflection", False): "reflect",
    ("reflection", True): "mirror",
}


def _resize(call: Call) -> str:
    mode, shape = call.attributes["mode"], call.type.shape
    if mode in RESIZE_METHODS:
        return f"jax.image.resize({call[0]}, {shape}, {RESIZE_METHODS[mode]!r}, antialias=False)"
    if mode not in ALIGNED_METHODS:
        raise Unsupported(f"has no resize in mode {mode}")
    scales = [_aligned_scale(old, new) for old, new in zip(call.types[0].shape[2:], shape[2:], strict=True)]
    scale, shift = (f"jnp.array([{', '.join(part)}])" for part in zip(*scales, strict=True))
    axes = tuple(range(2, call.type.rank))
    return (
        f"jax.image.scale_and_translate({call[0]}, {shape}, {axes}, {scale}, {shift}, "
        f"{ALIGNED_METHODS[mode]!r}, antialias=False)"
    )


def _aligned_scale(old: int, new: int) -> tuple[str, str]:
    """Scale and translation by which corners stay corners, as scale_and_translate documents them."""
    if old == 1 or new == 1:  # a lone pixel is the first one, or all there is
        return f"{float(new if old == 1 else 1)}", "0.0"
    return f"{new - 1} / {old - 1}", f"0.5 * (1 - {new - 1} / {old - 1})"


def _grid_sample(call: Call) -> str:
    mode, padding, aligned = (call.attributes[name] for name in ("mode", "padding", "align_corners"))
    if mode != "bilinear":
        raise Unsupported(f"has no {mode} sampling that rounds as torch does")
    height, width = call.types[0].shape[2:]
    across, down = (_places(f"{call[1]}[..., {at}]", size, aligned) for at, size in ((0, width), (1, height)))
    return f"sample({call[0]}, {down}, {across}, {COORDINATE_MODES[padding, aligned]!r})"


def _places(coordinates: str, size: int, aligned: bool) -> str:
    return f"({coordinates} + 1) / 2 * {size - 1}" if aligned else f"(({coordinates} + 1) * {size} - 1) / 2"


SAMPLING: Mapping[str, Expression] = {
    "resize": _resize,
    "resize_antialias": lambda call: f"jax.image.resize({call[0]}, {call.type.shape}, {call.literal('mode')})",
    "grid_sample": _grid_sample,
}
