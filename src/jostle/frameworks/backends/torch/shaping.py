"""How torch reshapes, transposes and joins tensors, and goes by rows and columns."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression, literal
from jostle.frameworks.backends.templates import fill, templates


def _unsqueeze(call: Call) -> str:
    return call[0] + "".join(f".unsqueeze({axis})" for axis in call.attributes["axes"])


def _listed(function: str) -> Expression:
    def expression(call: Call) -> str:
        return fill(f"torch.{function}([{', '.join(call.node.inputs)}], dim={{axis}})", call)

    return expression


def _depth_to_space(call: Call) -> str:
    """torch has the order of pixel shuffle; for ONNX's, the channels are put in that order first."""
    if call.attributes["mode"] == "crd":
        return fill("F.pixel_shuffle({0}, {block})", call)
    batch, channels, *image = call.types[0].shape
    block = call.attributes["block"] ** 2
    apart, whole = (batch, block, channels // block, *image), (batch, channels, *image)
    return fill(
        f"F.pixel_shuffle({{0}}.reshape({literal(apart)}).transpose(1, 2).reshape({literal(whole)}), {{block}})", call
    )


def _space_to_depth(call: Call) -> str:
    """torch puts the channels before the offsets, ONNX the offsets before the channels."""
    batch, channels, *image = call.type.shape
    block = call.attributes["block"] ** 2
    apart, whole = (batch, channels // block, block, *image), call.type.shape
    return fill(
        f"F.pixel_unshuffle({{0}}, {{block}}).reshape({literal(apart)}).transpose(1, 2).reshape({literal(whole)})",
        call,
    )


SHAPING: Mapping[str, Expression] = {
    **templates(
        {
            "reshape": "torch.reshape({0}, {shape})",
            "transpose": "torch.permute({0}, {permutation})",
            "squeeze": "torch.squeeze({0}, dim={axes})",
            "expand": "torch.broadcast_to({0}, {shape})",
            "tril": "torch.tril({0}, {diagonal})",
            "triu": "torch.triu({0}, {diagonal})",
        }
    ),
    "unsqueeze": _unsqueeze,
    "concat": _listed("cat"),
    "stack": _listed("stack"),
    "depth_to_space": _depth_to_space,
    "space_to_depth": _space_to_depth,
}
