"""How ONNX convolves."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.onnx.nodes import Sketch, Sketcher


def _conv(s: Sketch) -> str:
    return s.add(
        "Conv",
        *s.call.node.inputs,
        strides=s.attributes["strides"],
        pads=s.attributes["before"] + s.attributes["after"],
        dilations=s.attributes["dilations"],
        group=s.attributes["groups"],
    )


def _conv_transpose(s: Sketch) -> str:
    return s.add(
        "ConvTranspose",
        *s.call.node.inputs,
        strides=s.attributes["strides"],
        pads=s.attributes["padding"] * 2,
        output_padding=s.attributes["output_padding"],
        dilations=s.attributes["dilations"],
        group=s.attributes["groups"],
    )


CONVOLUTIONS: Mapping[str, Sketcher] = {
    "conv": _conv,
    "conv_transpose": _conv_transpose,
}
