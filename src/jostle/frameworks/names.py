"""Names of tensors: what generated programs may call them, and names made of a stranger's."""

from __future__ import annotations

import keyword
import re
from collections.abc import Container

NAME = re.compile(r"[a-z][a-z0-9_]{0,99}")
LONGEST = 40  # characters of a stranger's name that are kept
IMPORTED = "base64 helper jax jnp lax np numpy_helper optax ort ov paddle pt pytensor tf torch"
BUILT_IN = "bool dict float len list print range staticmethod str sum zip"
ASSIGNED = """
    compiled computed constants core differentiate dtype exact executor expected first_half forward found given
    gradients graph gru inputs loss loss_of losses lstm lstm_from model name nodes objective one optimiser optimizer
    options others outputs over_time parameter parameters program pull_back result rnn rnn_from sample second_half
    session state step symbols tape target tolerance train updates value values wanted
"""
# What programs of any lowering, and the scripts made of them, mean something else by.
RESERVED = frozenset(f"{IMPORTED} {BUILT_IN} {ASSIGNED}".split())
RESERVED_PREFIXES = ("d_", "cotangent_")  # gradients, and what they are weighed with
RESERVED_SUFFIXES = ("_layer",)  # what a node calls


def is_usable(name: str) -> bool:
    """Whether a tensor of this name is no other thing in any program."""
    return (
        NAME.fullmatch(name) is not None
        and name not in RESERVED
        and not keyword.iskeyword(name)
        and not name.startswith(RESERVED_PREFIXES)
        and not name.endswith(RESERVED_SUFFIXES)
    )


def usable_name(text: str, taken: Container[str]) -> str:
    """A name that can be used and is not taken, like this text."""
    stem = re.sub(r"[^a-z0-9]+", "_", text.lower())[:LONGEST].strip("_")
    if not is_usable(stem):
        stem = f"t_{stem}".rstrip("_")
    name, number = stem, 1
    while name in taken or not is_usable(name):
        number += 1
        name = f"{stem}_{number}"
    return name
