"""How far each neuron ranges on data the model knows: what the range criteria measure against."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from jostle.errors import UsageError
from jostle.known_traces import KnownTraces, TraceSample
from jostle.records import Trace
from jostle.untrusted.json_text import parsed_json
from jostle.untrusted.tensor_files import opened_named_tensors, opened_tensors

NAMED = 8  # layers
NARROWEST = 1e-30  # a range that can still be divided in float32
UNREADABLE = (OSError, SafetensorError, KeyError, ValueError, TypeError, OverflowError, RecursionError)
POINTS, PREDICTED = "points", "predicted"  # of known traces, in the file
Layers = tuple[tuple[str, int], ...]  # name and number of neurons of each, in the order they run


def layers_in(trace: Trace) -> Layers:
    return tuple((name, value.shape[1]) for name, value in trace.activations.items())


def counted_text(layers: Layers) -> str:
    """How many neurons of which layers: `258 neurons of 7 layers: relu1, pool1, …`."""
    names = [name for name, _ in layers]
    listed = ", ".join(names[:NAMED]) + (", …" if len(names) > NAMED else "")
    neurons, many = sum(size for _, size in layers), "layer" if len(names) == 1 else "layers"
    return f"{neurons:,} neurons of {len(names)} {many}: {listed}"


def neurons_in(activations: Mapping[str, Tensor], layers: Layers, batch: int) -> Tensor:
    """The activations of all layers side by side [batch, neurons]; a layer that did not run is 0."""
    parts = [activations.get(name, torch.zeros(1, 1).expand(batch, size)) for name, size in layers]
    return torch.cat([part.float() for part in parts], 1) if parts else torch.zeros(batch, 0)


@dataclass(frozen=True)
class Profile:
    """The lowest and highest finite activation of every neuron, and what it was taken from."""

    layers: Layers
    low: Tensor  # [neurons]
    high: Tensor  # [neurons]
    inputs: int
    known: KnownTraces | None = None  # what surprise is measured against, where it was taken

    @property
    def constant(self) -> Tensor:
        """[neurons] bool: neurons that never changed, dead ones among them, which have no range to divide."""
        width = self.high - self.low
        return ~((width > NARROWEST) & width.isfinite())

    def explained(self) -> str:
        excluded = int(self.constant.sum())
        left_out = f", {excluded:,} of them constant and left out" if excluded else ""
        return f"{len(self.low):,} neurons in {len(self.layers)} layers profiled on {self.inputs:,} inputs{left_out}"


def profiled(traces: Iterable[Trace], surprise_layers: Sequence[str] = ()) -> Profile:
    """The profile of all traces, looked at one after another; there must be one at least.

    Of the layers that surprise is measured in, activations are kept too.
    """
    layers: Layers = ()
    known = TraceSample(surprise_layers)
    low = high = torch.empty(0)
    inputs = 0
    for trace in traces:
        if not layers:
            layers = layers_in(trace)
            size = sum(neurons for _, neurons in layers)
            low, high = torch.full((size,), torch.inf), torch.full((size,), -torch.inf)
        values = neurons_in(trace.activations, layers, len(trace.outcome))
        finite = values.isfinite()
        low = torch.minimum(low, values.where(finite, torch.inf).amin(0))
        high = torch.maximum(high, values.where(finite, -torch.inf).amax(0))
        inputs += len(values)
        known.add(trace)
    return Profile(layers, low, high, inputs, known.taken())


def encode_profile(profile: Profile, belongs_to: Mapping[str, Any]) -> bytes:
    """A safetensors file that says which model the profile belongs to."""
    content = {"layers": profile.layers, "inputs": profile.inputs, "belongs to": dict(belongs_to)}
    arrays = {"low": profile.low.contiguous(), "high": profile.high.contiguous()}
    if profile.known is not None:
        content["known layers"] = profile.known.layers
        arrays |= {POINTS: profile.known.points.contiguous(), PREDICTED: profile.known.predicted.contiguous()}
    content["digest"] = _digest(*arrays.values())
    return safetensors.torch.save(arrays, {"profile": json.dumps(content)})


def _digest(*arrays: Tensor) -> str:
    return hashlib.sha256(b"".join(array.numpy().tobytes() for array in arrays)).hexdigest()[:16]


def is_profile(path: Path) -> bool:
    try:
        with opened_named_tensors(path) as file:
            return "profile" in (file.metadata() or {})
    except (OSError, ValueError, SafetensorError):
        return False


def load_profile(path: Path, belongs_to: Mapping[str, Any], kept: bool = False) -> Profile:
    """The profile in this file, if it is of the same model, watched and fed in the same way.

    One that a campaign's folder keeps is no link.
    """
    try:
        with (opened_tensors if kept else opened_named_tensors)(path) as file:
            content = parsed_json((file.metadata() or {})["profile"])
            low, high = file.get_tensor("low"), file.get_tensor("high")
            traces = [file.get_tensor(name) for name in (POINTS, PREDICTED)] if POINTS in file.keys() else []  # noqa: SIM118
        layers = tuple((str(name), int(size)) for name, size in content["layers"])
        known = KnownTraces(tuple(map(str, content["known layers"])), *traces) if traces else None
        profile = Profile(layers, low, high, int(content["inputs"]), known)
        owner = dict(content["belongs to"])
    except UNREADABLE as error:
        raise UsageError(f"--profile {path} is no saved profile: make one with jostle profile ({error})") from error
    shaped = low.shape == high.shape == (sum(size for _, size in layers),)
    shaped = shaped and (not traces or (traces[0].ndim == 2 and traces[1].shape == traces[0].shape[:1]))
    digest = _digest(low, high, *traces)
    if not shaped or content.get("digest", digest) != digest:
        raise UsageError(f"--profile {path} is damaged: make it again with jostle profile")
    different = [name for name, value in belongs_to.items() if owner.get(name) != json.loads(json.dumps(value))]
    if different:
        raise UsageError(
            f"--profile {path} is of another model or setting (different: {', '.join(different)}): "
            f"make one of this model with jostle profile"
        )
    return profile
