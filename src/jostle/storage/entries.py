"""Corpus entries as safetensors: inputs and lineage."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import safetensors.numpy
import torch
from torch import Tensor

from jostle.digests import digest_of
from jostle.inputs.geometry import Border, are_moved, border_of, placed, unmoved
from jostle.lineage import Lineage, Mutation, Untouched
from jostle.mutations import Mutations
from jostle.records import Candidates, Seeds
from jostle.untrusted.json_text import parsed_json
from jostle.untrusted.tensor_files import opened_tensors


def encode_entries(kept: Candidates) -> bytes:
    arrays = {name: tensor.contiguous().numpy() for name, tensor in _tensors(kept).items()}
    # An array, because safetensors writes texts in any order, and the same entries shall give the same file.
    arrays["border"] = np.frombuffer(border_of(kept.lineage).value.encode(), np.uint8)
    return safetensors.numpy.save(arrays, {"steps": _mutations(kept)})  # four times as fast as for tensors


def _tensors(kept: Candidates) -> dict[str, Tensor]:
    """What a file holds of entries besides their mutations; every file has placements, also of what is no image."""
    placements = unmoved(len(kept)) if isinstance(kept.lineage, Untouched) else kept.lineage.rows
    return {"inputs": kept.inputs, "parents": kept.parents, "roots": kept.roots, "placements": placements}


def _mutations(kept: Candidates) -> str:
    return json.dumps(kept.mutations.texts)


def decode_entries(path: Path, seeds: Seeds) -> Candidates:
    """The entries in a file; what does not fit together or to the seeds raises ValueError."""
    with opened_tensors(path) as file:
        inputs, parents, roots, placements = (
            file.get_tensor(name) for name in ("inputs", "parents", "roots", "placements")
        )
        texts = tuple(map(str, parsed_json((file.metadata() or {})["steps"])))
        written = bytes(file.get_tensor("border").tolist()).decode() if "border" in set(file.keys()) else None
    shapes = {
        "inputs": (inputs, inputs.dtype, (len(texts), *seeds.inputs.shape[1:])),
        "parents": (parents, torch.int64, (len(texts),)),
        "roots": (roots, torch.int64, (len(texts),)),
        "placements": (placements, torch.float32, (len(texts), 2, 3)),
    }
    for name, (array, dtype, shape) in shapes.items():
        if array.dtype != dtype or array.shape != shape:
            raise ValueError(f"{path.name} has {name} of {array.dtype} {list(array.shape)}")
    if len(texts) and not 0 <= int(roots.min()) <= int(roots.max()) < len(seeds):
        raise ValueError(f"{path.name} names seeds that do not exist")
    mutations = Mutations.of(map(Mutation.parsed, texts))
    border = Border(written or Border.DARK)  # files without it are of before the choice
    return Candidates(inputs, seeds, parents, roots, mutations, _lineage(seeds, placements, border))


def _lineage(seeds: Seeds, placements: Tensor, border: Border) -> Lineage:
    """Rows of which none was moved say nothing of how the others of their campaign are moved."""
    return placed(seeds.domain, placements, border) if are_moved(placements).any() else Untouched(len(placements))


def digest_of_entries(kept: Candidates) -> str:
    """Equal for equal entries with equal lineage."""
    mutations = torch.frombuffer(bytearray(_mutations(kept), "ascii"), dtype=torch.uint8)
    return digest_of(*_tensors(kept).values(), mutations)
