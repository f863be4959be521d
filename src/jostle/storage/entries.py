"""Corpus entries as safetensors: inputs and lineage."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

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
    # Texts but one are arrays: safetensors writes texts in any order, and the same entries shall give the same file.
    arrays = {name: tensor.contiguous().numpy() for name, tensor in entry_arrays(kept).items()}
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
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no mapping
        texts = tuple(map(str, parsed_json((file.metadata() or {})["steps"])))
    return entries_of(arrays, texts, seeds, path.name)


def entry_arrays(kept: Candidates) -> dict[str, Tensor]:
    """What tells all of entries, besides the texts of their mutations."""
    border = torch.frombuffer(bytearray(border_of(kept.lineage).value.encode()), dtype=torch.uint8)
    return {**_tensors(kept), "border": border}


def entries_of(arrays: Mapping[str, Tensor], texts: Sequence[str], seeds: Seeds, source: str) -> Candidates:
    """The inverse of `entry_arrays`; what does not fit together or to the seeds raises ValueError."""
    inputs, parents, roots, placements = (arrays[name] for name in ("inputs", "parents", "roots", "placements"))
    written = bytes(arrays["border"].tolist()).decode() if "border" in arrays else None
    shapes = {
        "inputs": (inputs, inputs.dtype, (len(texts), *seeds.inputs.shape[1:])),
        "parents": (parents, torch.int64, (len(texts),)),
        "roots": (roots, torch.int64, (len(texts),)),
        "placements": (placements, torch.float32, (len(texts), 2, 3)),
    }
    for name, (array, dtype, shape) in shapes.items():
        if array.dtype != dtype or array.shape != shape:
            raise ValueError(f"{source} has {name} of {array.dtype} {list(array.shape)}")
    if len(texts) and not 0 <= int(roots.min()) <= int(roots.max()) < len(seeds):
        raise ValueError(f"{source} names seeds that do not exist")
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
